//! What the agent reports of itself with each heartbeat, into the same table as the programs beside it.
//!
//! Nothing of what these reports tell is built yet: there is no tunnel and no bridge, and each says so.
//!
//! Specification: "Local HTTP API" (reports named `status.*`); `gaps-agent.md` section 2.13.

use serde::Serialize;

use super::reports::Draft;
use crate::wire::{
    grammar::ReportKey,
    json::{self, Raw},
    own_report::{Bridge, Ingress, Mesh, SiteToSite, UserAccess},
};

const CONTENT_TYPE: &str = "application/json";

/// The reports as they are to stand, each under its key.
pub fn own_reports() -> [(ReportKey, Draft); 5] {
    [
        own("status.mesh", &Mesh::default()),
        own("status.bridge", &Bridge::default()),
        own("status.user-access", &UserAccess::default()),
        own("status.ingress", &Ingress::default()),
        own("status.site-to-site", &SiteToSite::default()),
    ]
}

fn own<T: Serialize>(key: &str, report: &T) -> (ReportKey, Draft) {
    let bytes = json::encode(report);
    let payload = core::str::from_utf8(&bytes).ok().and_then(Raw::parse);
    let payload = payload.expect("an encoded report is JSON");
    let key = ReportKey::parse(key).expect("the key is within its grammar");
    (key, Draft { content_type: CONTENT_TYPE.into(), payload })
}
