//! A local endpoint: the way to it, and the secret that is shown there, on one line.

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
    pub secret: Secret,
}

/// Whether the agent knows the secret, which is not read for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The control plane lists it for this node.
    Listed,
    /// It lists others alone.
    Unlisted,
    /// This user may not ask the agent.
    Closed,
    /// The agent did not list any; the text tells why.
    Unasked(String),
}

impl Endpoint {
    pub fn finding(&self) -> Finding {
        let (state, words, mend) = self.way();
        let (worse, secret, more) = self.secret();
        let words = format!("{}: {words}; {secret}", self.section);
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
                    "correct {url}, and see to the CAs that this system trusts (ca-certificates)"
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

    fn secret(&self) -> (State, String, String) {
        let key = &self.key;
        match &self.secret {
            Secret::Listed => {
                (State::Good, format!("its secret {key} is listed for this node"), String::new())
            }
            Secret::Unlisted => (
                State::Warn,
                format!("its secret {key} is not among those of this node"),
                format!(
                    "let the control plane give this node {key}, or correct {}.local_endpoint.secret_key",
                    self.section
                ),
            ),
            Secret::Closed => (
                State::Bad,
                format!("whether its secret {key} is known cannot be told as this user"),
                ASK.into(),
            ),
            Secret::Unasked(cause) => (
                State::Good,
                format!("its secret {key} was not looked for: {cause}"),
                String::new(),
            ),
        }
    }
}
