//! How soon a node tells again what it senses: each route waits for its answer, and ever longer where that is none.
//!
//! | Answered | The endpoint | The manifest | Violations |
//! |---|---|---|---|
//! | it will not take this | the refresh interval | as a failure | 1 s, and in parts |
//! | 429 | the refresh interval | as a failure, 7 s at least | the same |
//! | anything else, and nothing | 5 s doubling to 60 s, a quarter less | 2 s doubling to 60 s | the same, a fifth less |

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{ids::CallId, time::Mono};

use super::witness::{Found, Sending};
use crate::{net::Caller, route::Route, settings::NAT_REFRESH_INTERVAL};

const WAIT_MAX: Duration = Duration::from_secs(60);
/// What something between the two asks for with 429.
const ASKED: Duration = Duration::from_secs(7);
/// How long changes of a manifest are gathered.
const CHANGE_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default)]
pub(super) struct Tries {
    nodes: Vec<BTreeMap<Route, Try>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Try {
    sent: Option<CallId>,
    /// Not before it may be sent again.
    free: Option<Mono>,
    failures: u32,
}

impl Tries {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![BTreeMap::new(); nodes] }
    }

    /// Another process begins anew, and so does another identity.
    pub(super) fn afresh(&mut self, at: usize) {
        self.nodes[at].clear();
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let route = sending.said.route();
        let (Route::Endpoint | Route::Manifest | Route::Violations) = route else { return };
        let tried = self.nodes[sending.caller.node].entry(route).or_default();
        found.unless(
            tried.sent.is_none() && tried.free.is_none_or(|free| sending.now.mono >= free),
            &format!("{route:?} is told again within its backoff"),
        );
        tried.sent = Some(sending.caller.call);
    }

    pub(super) fn heard(&mut self, caller: Caller, route: Route, status: u16, now: Mono) {
        let Some(tried) = self.nodes[caller.node].get_mut(&route) else { return };
        if tried.sent.take_if(|call| *call == caller.call).is_none() {
            return;
        }
        let wait = match (route, status) {
            (_, 200..300) => {
                tried.failures = 0;
                if route == Route::Manifest { CHANGE_WAIT } else { Duration::ZERO }
            }
            (Route::Endpoint, 400 | 401 | 413 | 429) => NAT_REFRESH_INTERVAL,
            (Route::Violations, 400 | 413 | 422) => Duration::from_secs(1),
            _ => {
                tried.failures += 1;
                let wait = tried.wait(route);
                if status == 429 { wait.max(ASKED) } else { wait }
            }
        };
        tried.free = Some(now.after(wait));
    }
}

impl Try {
    fn wait(self, route: Route) -> Duration {
        let doubled = 1 << (self.failures - 1).min(6);
        if route == Route::Endpoint {
            return WAIT_MAX.min(Duration::from_secs(5) * doubled) * 3 / 4;
        }
        let wait = WAIT_MAX.min(Duration::from_secs(2) * doubled);
        if route == Route::Manifest { wait } else { wait * 4 / 5 }
    }
}
