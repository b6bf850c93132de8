//! Programs that do what no hook should, each run by the real supervisors: whatever it does, its run ends within its limit
//! and one second, and no process of it is left.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

mod endings;
mod escapes;
mod floods;
mod peers;
mod pen;
mod supervisors;
mod surroundings;
mod tools;
