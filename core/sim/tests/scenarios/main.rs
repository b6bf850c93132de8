//! Hand-written worlds, each a fault and what must come of it; what a drawn world finds is kept here under a name.

mod clocks;
mod executions;
mod identity;
mod reports;
mod rotation;
mod senses;
mod sessions;
mod streams;
mod support;
mod voice;
