//! Whose certificates this system trusts, which every connection by TLS stands on.

use alloc::{format, string::String};

use super::Finding;

const ROOTS: &str = "ca certificates";
const MEND: &str = "install them (ca-certificates), or correct SSL_CERT_FILE and SSL_CERT_DIR, which name others in their place";

/// What was found of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// How many can be used.
    pub count: usize,
    /// The first thing that could not be read, and why.
    pub complaint: Option<String>,
    /// The variables that name them in the place of the system's, with their values.
    pub named: Option<String>,
    /// Whether nobody is asked but a control plane with a `control_plane.ca_file`, which is trusted beside them.
    pub spare: bool,
}

impl Roots {
    pub fn finding(&self) -> Finding {
        let from = self.named.as_deref().unwrap_or("this system");
        let count = match (self.count, self.spare) {
            (0, true) => {
                format!("there is none from {from}, and control_plane.ca_file is trusted alone")
            }
            (0, false) => format!("there is none from {from}, so that nobody is trusted"),
            (count, _) => format!("from {from}: {count}"),
        };
        match (&self.complaint, self.count == 0 && !self.spare) {
            (Some(complaint), false) => Finding::warn(ROOTS, format!("{count}; {complaint}"), MEND),
            (Some(complaint), true) => Finding::bad(ROOTS, format!("{count}: {complaint}"), MEND),
            (None, true) => Finding::bad(ROOTS, count, MEND),
            (None, false) => Finding::good(ROOTS, count),
        }
    }
}
