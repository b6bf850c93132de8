//! Bodies of the health route and of the routes that watch the fixture.
//!
//! Specification: "Health status" and "Fixture control routes"; `decisions.md` section 7 (`GET /test/info`).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::register::expose;
use crate::secret::Secret;

/// What `GET /v1/health` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub status: String,
    pub checks: Vec<HealthCheck>,
}

/// One check behind the overall status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    pub name: String,
    pub status: String,
    pub detail: String,
}

/// What `GET /test/bearer` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bearer {
    #[serde(serialize_with = "expose")]
    pub bearer: Secret<String>,
}

/// What `GET /test/assertions` answers: one flat object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assertions(pub BTreeMap<&'static str, u64>);

/// What `GET /test/executions` answers: one flat object of id and status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutionStatuses<'s>(pub BTreeMap<&'s str, &'static str>);

/// What `GET /test/info` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Info<'s> {
    pub addr: &'s str,
    pub tls_addr: &'s str,
    pub pid: u32,
    pub version: &'s str,
    pub started_at: &'s str,
}
