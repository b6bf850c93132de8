//! What the agent itself reports, under keys that begin with `status.`.
//!
//! Specification: "Local HTTP API" (reports named `status.*`); `gaps-agent.md` section 2.13.

use alloc::string::String;

use serde::Serialize;

/// `status.mesh`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mesh {
    pub interface: String,
    pub peer_count: u32,
    pub listen_port: u16,
}

/// `status.bridge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bridge {
    pub enabled: bool,
    pub access_interface: String,
    pub active_routes: u32,
    pub relay_enabled: bool,
    pub active_relay_sessions: u32,
    pub ingress_enabled: bool,
    pub active_ingress_rules: u32,
    pub site_to_site_enabled: bool,
    pub active_site_to_site_tunnels: u32,
}

/// `status.user-access`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UserAccess {
    pub enabled: bool,
    pub interface_name: String,
    pub peer_count: u32,
    pub listen_port: u16,
}

/// `status.ingress`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ingress {
    pub enabled: bool,
    pub rule_count: u32,
    pub connection_count: u32,
    pub acme_enabled: bool,
}

/// `status.site-to-site`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SiteToSite {
    pub enabled: bool,
    pub tunnel_count: u32,
}
