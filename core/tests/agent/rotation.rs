//! rotation
