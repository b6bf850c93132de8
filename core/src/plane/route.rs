//! Method and path to a [`Call`], or the 404 or 405 they earn.
//!
//! Each segment is decoded once; a broken escape, an encoded slash, an empty and a dot segment match nothing.
//!
//! Specification: "Endpoints"; `decisions.md` sections 5 (Unknown path, wrong method) and 7 (Percent-encoding; `HEAD`).

use alloc::{
    borrow::Cow,
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
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    let mut offers = match listener {
        Listener::Main => offers(&segments),
        Listener::Tls => tls_offers(&segments),
    };
    if offers.is_empty() {
        return Err(Miss::NotFound);
    }
    let streams = offers.iter().any(|(_, call)| matches!(call, Call::Events { .. }));
    let wanted = if method == Method::Head && !streams { Method::Get } else { method };
    match offers.iter().position(|(offered, _)| *offered == wanted) {
        Some(at) => Ok(offers.swap_remove(at).1),
        None => Err(Miss::Method { allow: allow(&offers) }),
    }
}

/// The decoded segments of a path; `None` where one of them can be in no route.
pub(super) fn segments(path: &str) -> Option<Vec<Cow<'_, str>>> {
    path.strip_prefix('/')?.split('/').map(segment).collect()
}

fn segment(raw: &str) -> Option<Cow<'_, str>> {
    let text = match raw.contains('%') {
        true => Cow::Owned(percent_decode(raw)?),
        false => Cow::Borrowed(raw),
    };
    let reachable = !text.contains('/') && !matches!(&*text, "" | "." | "..");
    reachable.then_some(text)
}

fn allow(offers: &[(Method, Call)]) -> String {
    let names: Vec<&str> = offers
        .iter()
        .flat_map(|(method, call)| match (method, call) {
            (Method::Get, Call::Events { .. }) => vec!["GET"],
            (Method::Get, _) => vec!["GET", "HEAD"],
            (Method::Head | Method::Post | Method::Put | Method::Delete | Method::Other, _) => {
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
        ["releases", tag, asset] => {
            vec![by_method(Call::Release { tag: tag.to_string(), asset: asset.to_string() })]
        }
        ["openapi.json"] => vec![by_method(Call::OpenApi)],
        ["test", "state"] => vec![(Method::Put, Call::Test(Test::ConfigureState))],
        ["test", rest @ ..] => {
            test(rest).into_iter().map(|test| by_method(Call::Test(test))).collect()
        }
        _ => Vec::new(),
    }
}

fn by_method(call: Call) -> (Method, Call) {
    (call.method(), call)
}

fn contract(segments: &[&str]) -> Vec<Call> {
    match segments {
        ["health"] => vec![Call::Health],
        ["register"] => vec![Call::Register],
        ["keys", "rotate"] => vec![Call::RotateKeys],
        ["nodes", node, rest @ ..] => node_calls(node.to_string(), rest),
        _ => Vec::new(),
    }
}

fn node_calls(node: String, segments: &[&str]) -> Vec<Call> {
    vec![match segments {
        ["heartbeat"] => Call::Heartbeat { node },
        ["capabilities"] => Call::Capabilities { node },
        ["endpoint"] => Call::Endpoint { node },
        ["state"] => Call::State { node },
        ["reachability"] => Call::Reachability { node },
        ["events"] => Call::Events { node },
        ["executions", execution] => Call::Execution { node, execution: execution.to_string() },
        ["sessions", session] => Call::Session { node, session: session.to_string() },
        ["secrets", key] => Call::Secret { node, key: key.to_string() },
        ["state", "reports", key] => return reports(node, key),
        ["integrity-violations"] => Call::IntegrityViolations { node },
        [name] => match sink(name) {
            Some(sink) => Call::Ingest { node, sink },
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    }]
}

fn reports(node: String, key: &str) -> Vec<Call> {
    let put = Call::PutReport { node: node.clone(), key: key.to_string() };
    vec![put, Call::DeleteReport { node, key: key.to_string() }]
}

fn sink(name: &str) -> Option<Sink> {
    [Sink::Metrics, Sink::Logs, Sink::Audit].into_iter().find(|sink| sink.name() == name)
}

fn test(segments: &[&str]) -> Vec<Test> {
    match segments {
        ["bearer"] => vec![Test::Bearer],
        ["assertions"] => vec![Test::Assertions],
        ["last-request", endpoint] => vec![Test::LastRequest { endpoint: endpoint.to_string() }],
        ["configure-state"] => vec![Test::ConfigureState],
        ["configure-heartbeat"] => vec![Test::ConfigureHeartbeat],
        ["configure-endpoint"] => vec![Test::ConfigureEndpoint],
        ["configure-events"] => vec![Test::ConfigureEvents],
        ["configure-secrets"] => vec![Test::ConfigureSecrets],
        ["inject-event"] => vec![Test::InjectEvent],
        ["requests"] => vec![Test::Requests, Test::ClearRequests],
        ["verify"] => vec![Test::Verify],
        ["faults"] => vec![Test::Faults, Test::AddFault, Test::ClearFaults],
        ["faults", id] => vec![Test::RemoveFault { id: id.to_string() }],
        ["executions"] => vec![Test::Executions],
        ["exec-output", execution] => vec![Test::ExecOutput { execution: execution.to_string() }],
        ["info"] => vec![Test::Info],
        ["reset"] => vec![Test::Reset],
        ["tls-cert"] => vec![Test::TlsCert],
        ["ui"] => vec![Test::Ui],
        _ => Vec::new(),
    }
}

/// The TLS listener serves the local endpoints and what watches them.
fn tls_offers(segments: &[&str]) -> Vec<(Method, Call)> {
    match segments {
        ["local", name] => {
            sink(name).map(|sink| by_method(Call::Local(sink))).into_iter().collect()
        }
        ["test", "assertions"] | ["test", "last-request", _] => offers(segments),
        _ => Vec::new(),
    }
}
