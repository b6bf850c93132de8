//! The actions that tell of this process: its configuration, its log, its host; and the one that signals it.
//!
//! Specification: "Built-in actions"; `gaps-agent.md` section 2.8.

use std::sync::{Arc, Mutex, PoisonError};

use meshward_core::agent::{
    Ending,
    builtins::{
        self, CONFIG_DUMP, Host, LOGS_SNAPSHOT, Parameters, RELOAD_CONFIG, SYSTEM_INFO, failed,
        printed,
    },
};
use rustix::process::{Signal, getpid, kill_process};

use crate::{clock, log::ring::Ring};

/// What the actions know of this process.
#[derive(Clone, Debug, Default)]
pub struct Own {
    pub config: Shown,
    pub log: Option<Ring>,
    /// Whether this process hears a SIGHUP, which would end it otherwise.
    pub hears_hangup: bool,
}

/// The merged configuration as TOML, its secrets masked; a reload puts another in its place.
#[derive(Clone, Debug, Default)]
pub struct Shown(Arc<Mutex<Option<String>>>);

impl Shown {
    pub fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    fn told(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Own {
    /// Does an action that is done at once; `None` where it is none of them.
    pub(super) fn told(&self, name: &str, given: &Parameters, max: usize) -> Option<Ending> {
        Some(match name {
            CONFIG_DUMP => match self.config.told() {
                Some(text) => printed(text.into_bytes(), max),
                None => failed("the configuration is not known"),
            },
            LOGS_SNAPSHOT => self.snapshot(given, max),
            RELOAD_CONFIG => self.reload(max),
            SYSTEM_INFO => printed(system_info(given), max),
            _ => return None,
        })
    }

    fn snapshot(&self, given: &Parameters, max: usize) -> Ending {
        let Some(log) = &self.log else { return failed("the log is not kept") };
        match builtins::snapshot(given, clock::now().wall) {
            Ok(asked) => printed(log.newest(asked, max), max),
            Err(words) => failed(words),
        }
    }

    fn reload(&self, max: usize) -> Ending {
        if !self.hears_hangup {
            return failed("this process does not hear SIGHUP");
        }
        match kill_process(getpid(), Signal::HUP) {
            Ok(()) => printed(builtins::reload_sent(std::process::id()), max),
            Err(error) => failed(&format!("SIGHUP cannot be sent: {error}")),
        }
    }
}

fn system_info(handed: &Parameters) -> Vec<u8> {
    let system = rustix::system::uname();
    let hostname = system.nodename().to_string_lossy();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    builtins::system_info(&Host { hostname: &hostname, os, arch }, handed)
}

#[cfg(test)]
mod tests {
    use meshward_core::agent::{Captured, Cause, builtins::COLLECT};
    use serde_json::Value;

    use super::*;

    const MAX: usize = 1 << 20;

    fn told(own: &Own, name: &str, pairs: &[(&str, &str)]) -> (Cause, String, String) {
        let given = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let ending = own.told(name, &given, MAX).unwrap();
        let text = |stream: Captured| String::from_utf8(stream.bytes).unwrap();
        (ending.cause, text(ending.stdout), text(ending.stderr))
    }

    #[test]
    fn what_this_process_does_not_know_is_told_in_words_and_a_signal_it_would_die_of_is_not_sent() {
        let own = Own::default();
        for (name, words) in [
            (CONFIG_DUMP, "the configuration is not known\n"),
            (LOGS_SNAPSHOT, "the log is not kept\n"),
            (RELOAD_CONFIG, "this process does not hear SIGHUP\n"),
        ] {
            let expected = (Cause::Exited(1), String::new(), words.to_owned());
            assert_eq!(told(&own, name, &[]), expected, "{name}");
        }
        assert_eq!(own.told(COLLECT, &Parameters::new(), MAX), None);
    }

    #[test]
    fn the_configuration_is_printed_as_it_is_held_up_to_the_limit() {
        let own = Own::default();
        own.config.set("[a]\nb = 1\n".to_owned());
        let dumped = (Cause::Exited(0), "[a]\nb = 1\n".to_owned(), String::new());
        assert_eq!(told(&own, CONFIG_DUMP, &[("x", "y")]), dumped);
        let short = own.told(CONFIG_DUMP, &Parameters::new(), 3).unwrap();
        assert_eq!(short.stdout, Captured { bytes: b"[a]".to_vec(), cut: true });
    }

    #[test]
    fn the_log_is_told_as_far_as_it_is_asked_for() {
        use std::io::Write as _;
        let mut ring = Ring::default();
        for line in ["one\n", "two\n", "three\n"] {
            ring.write_all(line.as_bytes()).unwrap();
        }
        let own = Own { log: Some(ring), ..Own::default() };
        let ok = |text: &str| (Cause::Exited(0), text.to_owned(), String::new());
        assert_eq!(told(&own, LOGS_SNAPSHOT, &[("lines", "2")]), ok("two\nthree\n"));
        assert_eq!(told(&own, LOGS_SNAPSHOT, &[("since", "1h")]), ok("one\ntwo\nthree\n"));
        let never = [("since", "9999-01-01T00:00:00Z")];
        assert_eq!(told(&own, LOGS_SNAPSHOT, &never), ok(""));
        let (cause, _, words) = told(&own, LOGS_SNAPSHOT, &[("since", "soon")]);
        assert_eq!(cause, Cause::Exited(1));
        assert!(words.starts_with("since must be a time such as "), "{words}");
    }

    #[test]
    fn the_host_is_told_beside_what_the_agent_has_handed_on() {
        let handed =
            [("node_id", "n"), ("mesh_ip", "10.0.0.7"), ("peer_count", "3"), ("version", "1")];
        let (cause, text, _) = told(&Own::default(), SYSTEM_INFO, &handed);
        let facts: Value = serde_json::from_str(&text).unwrap();
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!((cause, facts["hostname"].as_str()), (Cause::Exited(0), Some(hostname.trim())));
        assert_eq!(
            (&facts["os"], &facts["arch"]),
            (&"linux".into(), &std::env::consts::ARCH.into())
        );
        assert_eq!((&facts["peer_count"], &facts["mesh_ip"]), (&3.into(), &"10.0.0.7".into()));
    }
}
