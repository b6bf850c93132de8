//! pull
