//! Method and path to a [`Call`], or the 404 or 405 they earn.
//!
//! Each segment is decoded once; a broken escape, an encoded slash, an empty and a dot segment match nothing.
//!
//! Specification: "Endpoints"; `decisions.md` sections 5 (Unknown path, wrong method) and 7 (Percent-encoding; `HEAD`).

use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};

use thiserror::Error;

use super::Listener;
use crate::wire::{
    call::{Call, Sink, Test},
    http::{Method, percent_decode},
};

/// Why a request reaches no route.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Miss {
    #[error("no route has this path")]
    NotFound,
    #[error("this path takes {allow}")]
    Method {
        /// The methods that the path takes, as the `Allow` header lists them.
        allow: String,
    },
}

/// Finds the call that a request means.
pub fn route(listener: Listener, method: Method, path: &str) -> Result<Call, Miss> {
    let segments = segments(path).ok_or(Miss::NotFound)?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let offers = match listener {
        Listener::Main => offers(&segments),
        Listener::Tls => tls_offers(&segments),
    };
    if offers.is_empty() {
        return Err(Miss::NotFound);
    }
    let wanted = if method == Method::Head { Method::Get } else { method };
    let allow = allow(&offers);
    let found = offers.into_iter().find(|(offered, _)| *offered == wanted);
    found.map(|(_, call)| call).ok_or(Miss::Method { allow })
}

/// The decoded segments of a path; `None` where one of them can be in no route.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    path.strip_prefix('/')?.split('/').map(segment).collect()
}

fn segment(raw: &str) -> Option<String> {
    let text = percent_decode(raw)?;
    let reachable = !text.contains('/') && !matches!(text.as_str(), "" | "." | "..");
    reachable.then_some(text)
}

fn allow(offers: &[(Method, Call)]) -> String {
    let names: Vec<&str> = offers
        .iter()
        .flat_map(|(method, _)| match method {
            Method::Get => vec!["GET", "HEAD"],
            Method::Head | Method::Post | Method::Put | Method::Delete | Method::Other => {
                vec![method.name()]
            }
        })
        .collect();
    names.join(", ")
}

/// The calls of a path with the method of each.
fn offers(segments: &[&str]) -> Vec<(Method, Call)> {
    match segments {
        ["v1", rest @ ..] => contract(rest).into_iter().map(by_method).collect(),
        ["exec-output", execution] => {
            vec![by_method(Call::ExecOutput { execution: execution.to_string() })]
        }
        ["test", "state"] => vec![(Method::Put, Call::Test(Test::ConfigureState))],
        ["test", rest @ ..] => test(rest).map(Call::Test).into_iter().map(by_method).collect(),
        _ => Vec::new(),
    }
}

fn by_method(call: Call) -> (Method, Call) {
    (call.method(), call)
}

fn contract(segments: &[&str]) -> Option<Call> {
    Some(match segments {
        ["health"] => Call::Health,
        ["register"] => Call::Register,
        ["keys", "rotate"] => Call::RotateKeys,
        ["nodes", node, rest @ ..] => return node_call(node.to_string(), rest),
        _ => return None,
    })
}

fn node_call(node: String, segments: &[&str]) -> Option<Call> {
    Some(match segments {
        ["heartbeat"] => Call::Heartbeat { node },
        ["state"] => Call::State { node },
        ["reachability"] => Call::Reachability { node },
        ["executions", execution] => Call::Execution { node, execution: execution.to_string() },
        _ => return None,
    })
}

fn test(segments: &[&str]) -> Option<Test> {
    Some(match segments {
        ["bearer"] => Test::Bearer,
        ["assertions"] => Test::Assertions,
        ["last-request", endpoint] => Test::LastRequest { endpoint: endpoint.to_string() },
        ["configure-state"] => Test::ConfigureState,
        ["configure-heartbeat"] => Test::ConfigureHeartbeat,
        ["executions"] => Test::Executions,
        ["exec-output", execution] => Test::ExecOutput { execution: execution.to_string() },
        ["info"] => Test::Info,
        ["reset"] => Test::Reset,
        ["tls-cert"] => Test::TlsCert,
        _ => return None,
    })
}

/// The TLS listener serves the local endpoints and what watches them.
fn tls_offers(segments: &[&str]) -> Vec<(Method, Call)> {
    let call = match segments {
        ["local", "metrics"] => Some(Call::Local(Sink::Metrics)),
        ["local", "logs"] => Some(Call::Local(Sink::Logs)),
        ["local", "audit"] => Some(Call::Local(Sink::Audit)),
        ["test", "assertions"] | ["test", "last-request", _] => {
            test(&segments[1..]).map(Call::Test)
        }
        _ => None,
    };
    call.into_iter().map(by_method).collect()
}
