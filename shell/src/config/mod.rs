//! The configuration: file, environment and flags become one checked [`Config`], or the list of all that is wrong.
//!
//! Every key stands once, with its kind, default and rule, in `schema.rs`. Precedence: flag, environment, file, default.

mod build;
mod error;
mod forms;
mod layers;
mod listen;
mod nearest;
mod reader;
mod reload;
mod rules;
mod schema;
mod settings;
pub mod show;
mod value;

pub use meshward_core::duration;

pub use build::Loaded;
pub use error::{ConfigError, Fault, Place};
pub use layers::{DEFAULT_FILE, File, Sources};
pub use listen::ListenAddress;
pub use reload::Reloaded;
pub use settings::{
    Actions, Audit, Backend, Config, ControlPlane, Health, Heartbeat, Integrity, LocalApi,
    LocalEndpoint, Log, LogFormat, LogLevel, Logs, Nat, Node, Pipeline, Policy, Reconcile,
    Registration, Sessions, Tunnel,
};
