//! A local endpoint: the way to it, and how the records of the running agent fare there, on one line.

use alloc::{format, string::String};

use super::{ASK, Finding, Shake, State, Way};

const ENDPOINT: &str = "local endpoints";

/// What was met on the way to one; nothing was sent to it but what opens TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Of the configuration.
    pub section: &'static str,
    /// Absent where it did not end in time.
    pub way: Option<Way>,
    /// The name of the secret.
    pub key: String,
    pub fares: Fares,
}

/// What became of the records that the running agent had for it, by its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fares {
    Counted {
        delivered: u64,
        failed: u64,
    },
    /// This user may not ask the agent.
    Closed,
    /// No agent told any; the text tells why.
    Unasked(String),
}

impl Endpoint {
    pub fn finding(&self) -> Finding {
        let (state, words, mend) = self.way();
        let (worse, fares, more) = self.fares();
        let words = format!("{}: {words}; {fares}", self.section);
        let mend = [mend, more].into_iter().find(|mend| !mend.is_empty()).unwrap_or_default();
        match state.max(worse) {
            State::Good => Finding::good(ENDPOINT, words),
            State::Warn => Finding::warn(ENDPOINT, words, mend),
            State::Bad => Finding::bad(ENDPOINT, words, mend),
        }
    }

    fn way(&self) -> (State, String, String) {
        let section = self.section;
        let url = format!("{section}.local_endpoint.url");
        match &self.way {
            None => (
                State::Bad,
                "it is not to be seen in time".into(),
                "look what hangs on the way, and ask again".into(),
            ),
            Some(Way::Unresolved { host, cause }) => (
                State::Bad,
                format!("the name {host} is not looked up: {cause}"),
                format!("correct {url}, or see to the name servers of this node"),
            ),
            Some(Way::Unconnected { tried, cause }) => (
                State::Bad,
                format!("nobody answers at {tried}: {cause}"),
                format!("start what listens there, or correct {url}"),
            ),
            Some(Way::Unprepared { cause }) => (
                State::Bad,
                cause.clone(),
                format!(
                    "correct {url}, and see to the CAs that this system trusts (ca-certificates, SSL_CERT_FILE)"
                ),
            ),
            Some(Way::Connected { address, shake }) => self.shaken(address, shake),
        }
    }

    fn shaken(&self, address: &str, shake: &Shake) -> (State, String, String) {
        let section = self.section;
        match shake {
            Shake::Plain { .. } => {
                (State::Bad, format!("{address} is asked by plain http"), format!("use https in {section}.local_endpoint.url"))
            }
            Shake::Unverified => (
                State::Warn,
                format!("whoever answers at {address} is trusted with its records"),
                format!("take {section}.local_endpoint.tls_insecure_skip_verify out"),
            ),
            Shake::Sound => (State::Good, format!("{address} answers, and its certificate is good"), String::new()),
            Shake::Failed(fault) => (
                State::Bad,
                format!("{address} answers, and {}", fault.told().0),
                "give it a certificate that is valid now, for the host of its URL, and from a CA that the system trusts".into(),
            ),
        }
    }

    fn fares(&self) -> (State, String, String) {
        let key = &self.key;
        match &self.fares {
            Fares::Counted { delivered: 0, failed: 0 } => (
                State::Good,
                format!(
                    "it was given no record yet, and its token, the secret {key}, is asked for with the first"
                ),
                String::new(),
            ),
            Fares::Counted { delivered: 0, failed } => (
                State::Warn,
                format!("it took none of {failed} records"),
                format!(
                    "see in the log of the agent why: whether the control plane has the secret {key}, and the receiver \
                     takes it"
                ),
            ),
            Fares::Counted { delivered, failed } => (
                State::Good,
                format!(
                    "it took {delivered} records since the start of the agent, and {failed} not"
                ),
                String::new(),
            ),
            Fares::Closed => {
                (State::Bad, "how its records fare cannot be told as this user".into(), ASK.into())
            }
            Fares::Unasked(cause) => {
                (State::Good, format!("how its records fare is not known: {cause}"), String::new())
            }
        }
    }
}
