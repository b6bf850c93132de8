//! What the fixture counts, exposed by `GET /test/assertions`: the counters of the specification and six besides.
//!
//! Specification: "Process configuration", rule 5; `decisions.md` section 5 (Counters).

use alloc::{boxed::Box, vec::Vec};

use crate::wire::{control::Assertions, json};

macro_rules! counters {
    ($($counter:ident $name:literal)*) => {
        /// One count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Counter {
            $($counter,)*
        }

        impl Counter {
            /// Every counter with the name it is served under, in the order of its declaration.
            pub const TABLE: &'static [(Self, &'static str)] = &[$((Self::$counter, $name)),*];
        }

        const LEN: usize = [$($name),*].len();
    };
}

counters! {
    Registrations "registration_count"
    Heartbeats "heartbeat_count"
    States "state_count"
    Capabilities "capabilities_count"
    Metrics "metrics_count"
    Logs "logs_count"
    Audits "audit_count"
    LocalMetrics "local_metrics_count"
    LocalLogs "local_logs_count"
    LocalAudits "local_audit_count"
    EventsRequests "events_request_count"
    KeyRotations "key_rotate_count"
    Endpoints "endpoint_count"
    ExecutionCallbacks "execution_callback_count"
    ExecutionUploads "execution_upload_count"
    SessionActivities "session_activity_count"
    SessionActivitiesRejected "session_activity_rejected_count"
    Unauthorized "unauthorized_count"
    Secrets "secrets_count"
    SecretsRateLimited "secrets_rate_limited_count"
    ReportPuts "report_put_count"
    ReportDeletes "report_delete_count"
    IntegrityViolations "integrity_violation_count"
    InjectedEvents "inject_event_count"
}

/// All counts, each from zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(Box<[u64; LEN]>);

impl Counters {
    /// One more of `counter`.
    pub fn count(&mut self, counter: Counter) {
        let count = &mut self.0[counter as usize];
        *count = count.saturating_add(1);
    }

    pub fn of(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// The body of `GET /test/assertions`.
    pub fn encode(&self) -> Vec<u8> {
        let all = Counter::TABLE.iter().map(|(counter, name)| (*name, self.of(*counter)));
        json::encode(&Assertions(all.collect()))
    }
}
