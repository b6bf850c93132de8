//! heartbeat
