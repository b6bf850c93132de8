//! The byte that a corpus file begins a request with: its lower six bits name the route, the upper two a variant.
//!
//! A number keeps its route for good, so that the corpus keeps its meaning; new routes take the next free number.

use meshward_core::{
    plane::site,
    wire::call::{Call, Sink, Test},
};

const FOREIGN_NODE: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0ff";
/// The variant in which a route is asked for another node.
const FOREIGN: usize = 3;

/// The call of a byte; `None` leaves the path to be drawn raw.
pub(crate) fn decode(byte: u8) -> Option<Call> {
    let (number, variant) = (byte & 63, usize::from(byte >> 6));
    let named = |word: &str| format!("{word}{}", variant % FOREIGN);
    let node = if variant == FOREIGN { FOREIGN_NODE } else { site::NODE_ID }.to_owned();
    Some(match number {
        0 => Call::Health,
        1 => Call::Register,
        2 => Call::Heartbeat { node },
        3 => Call::RotateKeys,
        4 => Call::State { node },
        5 | 6 => Call::Execution { node, execution: named("run ") },
        7 => Call::ExecOutput { execution: named("run ") },
        19 => Call::Reachability { node },
        20 => Call::Local(SINKS[variant % FOREIGN]),
        21 => Call::Events { node },
        24 => Call::Ingest { node, sink: SINKS[variant % FOREIGN] },
        25 => Call::Capabilities { node },
        26 => Call::Endpoint { node },
        27 => Call::IntegrityViolations { node },
        29 => Call::Session { node, session: named("session-") },
        30 => Call::Secret { node, key: named("secret-") },
        31 => Call::PutReport { node, key: named("report.") },
        32 => Call::DeleteReport { node, key: named("report.") },
        41 => Call::OpenApi,
        43..=45 => Call::Release {
            tag: TAGS[usize::from(number - 43)].to_owned(),
            asset: ASSETS[variant % 3].to_owned(),
        },
        _ => Call::Test(test(number, variant)?),
    })
}

fn test(number: u8, variant: usize) -> Option<Test> {
    let named = |word: &str| format!("{word}{}", variant % FOREIGN);
    Some(match number {
        8 => Test::Bearer,
        9 => Test::Assertions,
        10 => Test::LastRequest { endpoint: ENDPOINTS[variant].to_owned() },
        11 => Test::ConfigureState,
        12 => Test::ConfigureHeartbeat,
        13 => Test::Executions,
        14 => Test::ExecOutput { execution: named("run ") },
        15 => Test::Info,
        16 => Test::Reset,
        17 => Test::TlsCert,
        22 => Test::InjectEvent,
        23 => Test::ConfigureEvents,
        28 => Test::ConfigureEndpoint,
        33 => Test::ConfigureSecrets,
        34 => Test::Requests,
        35 => Test::ClearRequests,
        36 => Test::Verify,
        37 => Test::Faults,
        38 => Test::AddFault,
        39 => Test::ClearFaults,
        42 => Test::Ui,
        40 => Test::RemoveFault { id: (variant + 1).to_string() },
        _ => return None,
    })
}

const SINKS: [Sink; 3] = [Sink::Metrics, Sink::Logs, Sink::Audit];
const ENDPOINTS: [&str; 4] = ["register", "heartbeat", "capabilities", "nothing"];
const TAGS: [&str; 3] = ["v9.9.9", "v9.9.8", "v1.0.0"];
const ASSETS: [&str; 3] =
    ["meshward-linux-amd64", "meshward-linux-amd64.sigstore.json", "checksums.txt"];
