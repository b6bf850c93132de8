//! Records that wait on the disk until the control plane has them: files of frames, appended to at the end, read from
//! the front, and removed once all of one is done with.
//!
//! | What happens | What is left |
//! |---|---|
//! | the process is killed behind an append | every record of it: it is on the disk before it is answered |
//! | within an append | the whole records of it; the torn one is passed over |
//! | behind a 202, before the place is kept | the batch is sent once more |
//! | the disk is full | the records are given back, and what was written of them is cut off |
//! | the place cannot be kept, as on a full disk | the same, and files that are done with are removed still |
//! | a file cannot be read any more | the others; it is put aside as `*.unread`, and its records are counted as damaged |
//! | more than `spool_max_bytes` waits | the oldest file is given up, and its records are counted |
//!
//! Specification: "Buffers" of the node agent; `reliability.md` section 1 (one bad record never stops the rest).

mod part;
mod segment;
mod store;
mod worker;

pub(crate) use worker::{Place as SpoolPlace, Worker};
