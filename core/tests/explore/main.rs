//! Small worlds explored whole: every state that real machines, a disk and a network can come to within named bounds.

mod dispatch;
mod reports;
mod rotation;
mod search;
mod sessions;
#[path = "../support/signed.rs"]
mod signed;
mod signing;
