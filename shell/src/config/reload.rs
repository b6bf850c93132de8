//! What of a configuration that was read again can hold at once, and what needs a restart.
//!
//! | Keys | A reload |
//! |---|---|
//! | [`AT_ONCE`] | takes them up |
//! | all others | leaves them as they are and lists those that differ |
//!
//! What comes out is checked once more by the rules that need more than one key, since it mixes what runs with what was
//! read: a pipeline that the new file turns off runs on, and the file need not hold intervals that it can run by.
//! Specification: `decisions.md` sections 4 and 8 (SIGHUP).

use super::{
    build::Loaded,
    error::ConfigError,
    layers::{Held, Merged},
    rules,
};

/// What changes while the agent runs.
pub(super) const AT_ONCE: &[&str] = &[
    "audit.batch_size",
    "audit.collect_interval",
    "audit.report_interval",
    "control_plane.sse_reprobe_interval",
    "heartbeat.interval",
    "integrity.verify_interval",
    "log.level",
    "logs.batch_size",
    "logs.collect_interval",
    "logs.file_patterns",
    "logs.filter.exclude_units",
    "logs.filter.include_units",
    "logs.filter.min_severity",
    "logs.report_interval",
    "metrics.batch_size",
    "metrics.collect_interval",
    "metrics.report_interval",
    "nat.min_report_interval",
    "nat.refresh_interval",
    "reconcile.interval",
];

/// What holds until the process is started again: whole sections, which end in a dot, and single keys.
#[cfg(test)]
const AT_RESTART: &[&str] = &[
    "actions.",
    "audit.auditd",
    "audit.enabled",
    "audit.k8s_audit_file",
    "audit.local_endpoint.",
    "audit.spool_max_bytes",
    "control_plane.ca_file",
    "control_plane.connect_timeout",
    "control_plane.header_prefix",
    "control_plane.request_timeout",
    "control_plane.sse_idle_timeout",
    "control_plane.tls_insecure_skip_verify",
    "control_plane.url",
    "health.",
    "integrity.enabled",
    "integrity.ssh_host_key_file",
    "integrity.watch_enabled",
    "local_api.",
    "log.format",
    "logs.enabled",
    "logs.journald",
    "logs.local_endpoint.",
    "logs.spool_max_bytes",
    "metrics.enabled",
    "metrics.local_endpoint.",
    "metrics.spool_max_bytes",
    "nat.enabled",
    "nat.stun_servers",
    "nat.timeout",
    "node.",
    "policy.",
    "registration.",
    "sessions.",
    "tunnel.",
];

/// What a reload came to.
#[derive(Clone, Debug)]
pub struct Reloaded {
    /// What holds from now on.
    pub loaded: Loaded,
    /// The keys whose values are others than before.
    pub changed: Vec<&'static str>,
    /// The keys that differ in what was read, and hold as before until a restart.
    pub at_restart: Vec<&'static str>,
}

impl Loaded {
    /// Takes up what can change at once; where that cannot be run by, tells why.
    pub fn reloaded(&self, read: &Self) -> Result<Reloaded, Vec<ConfigError>> {
        let mut merged = Merged::holding(self.held.clone());
        let (mut changed, mut at_restart) = (Vec::new(), Vec::new());
        // What is set of a pipeline that is off from the next start on was held to no rule.
        let is_off = |path: &str| {
            let section = path.split_once('.').map_or("", |(section, _)| section);
            rules::is_off(&read.held, section)
        };
        for (path, held) in &read.held {
            let differs = self.held.get(path).map(value) != Some(value(held));
            match (differs, AT_ONCE.contains(path)) {
                (true, false) => at_restart.push(*path),
                (false, false) => {}
                (_, true) if is_off(path) => {}
                // The same value may stand at another place by now.
                (differs, true) => {
                    changed.extend(differs.then_some(*path));
                    merged.held.insert(path, held.clone());
                }
            }
        }
        rules::check(&mut merged);
        let loaded = Self::of(merged, read.strangers.clone())?;
        Ok(Reloaded { loaded, changed, at_restart })
    }
}

const fn value(held: &Held) -> Option<&super::value::Value> {
    held.value.as_ref()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{super::schema::KEYS, *};
    use crate::config::{Config, Sources};

    fn loaded(pairs: &[(&str, &str)]) -> Loaded {
        let needed = [("node.data_dir", "/d"), ("control_plane.url", "https://plane.example")];
        let given = needed.iter().filter(|(key, _)| pairs.iter().all(|(other, _)| other != key));
        let variable = |(key, value): &(&str, &str)| {
            let name = format!("MESHWARD_{}", key.replace('.', "__").to_ascii_uppercase());
            (name, (*value).to_owned())
        };
        let environment = given.chain(pairs).map(variable).collect();
        Config::load(&Sources { environment, ..Sources::default() }).unwrap()
    }

    fn reloaded(before: &[(&str, &str)], after: &[(&str, &str)]) -> Reloaded {
        loaded(before).reloaded(&loaded(after)).unwrap()
    }

    #[test]
    fn every_key_changes_either_at_once_or_at_a_restart() {
        let at_restart = |path: &str| {
            let named =
                |one: &&&str| path == **one || (one.ends_with('.') && path.starts_with(**one));
            AT_RESTART.iter().filter(named).count()
        };
        for key in KEYS {
            let at_once = AT_ONCE.iter().filter(|one| **one == key.path).count();
            assert_eq!(at_once + at_restart(key.path), 1, "{}", key.path);
        }
        for one in AT_ONCE {
            assert!(KEYS.iter().any(|key| key.path == *one), "{one} is no key");
        }
        for one in AT_RESTART {
            assert!(KEYS.iter().any(|key| key.path.starts_with(one)), "{one} is no key");
        }
    }

    #[test]
    fn what_is_safe_holds_at_once_and_the_rest_is_listed_and_stays() {
        let after = [
            ("heartbeat.interval", "5s"),
            ("logs.filter.min_severity", "warning"),
            ("node.data_dir", "/other"),
            ("health.enabled", "false"),
        ];
        let told = reloaded(&[("heartbeat.interval", "9s")], &after);
        assert_eq!(told.changed, ["heartbeat.interval", "logs.filter.min_severity"]);
        assert_eq!(told.at_restart, ["health.enabled", "node.data_dir"]);
        let config = &told.loaded.config;
        assert_eq!(config.heartbeat.interval.as_secs(), 5);
        assert_eq!(config.logs.min_severity.as_deref(), Some("warning"));
        assert_eq!((&config.node.data_dir, config.health.enabled), (&PathBuf::from("/d"), true));
    }

    #[test]
    fn what_needs_a_restart_is_listed_again_by_each_reload_until_then() {
        let first = reloaded(&[], &[("tunnel.mtu", "1400")]);
        let second = first.loaded.reloaded(&loaded(&[("tunnel.mtu", "1400")])).unwrap();
        assert_eq!((first.at_restart, second.at_restart), (vec!["tunnel.mtu"], vec!["tunnel.mtu"]));
    }

    #[test]
    fn a_secret_that_differs_is_noticed_though_it_is_never_shown() {
        let token = |value| [("registration.token_value", value)];
        let told = reloaded(&token("canary-1"), &token("canary-2"));
        assert_eq!(told.at_restart, ["registration.token_value"]);
        assert!(!format!("{told:?}").contains("canary"));
    }

    #[test]
    fn a_value_that_is_taken_out_becomes_the_default_again() {
        let told = reloaded(&[("reconcile.interval", "5s")], &[]);
        assert_eq!(told.changed, ["reconcile.interval"]);
        assert_eq!(told.loaded.config.reconcile.interval.as_secs(), 60);
        let row = told.loaded.rows.iter().find(|row| row.path == "reconcile.interval").unwrap();
        assert_eq!(row.origin, "default");
    }

    /// What a pipeline is not held to before it is off must not reach the one that runs.
    #[test]
    fn what_is_set_of_a_pipeline_that_is_turned_off_changes_nothing_of_the_one_that_runs() {
        let on = [("logs.file_patterns", "/a.log"), ("logs.batch_size", "50")];
        for broken in [
            ("logs.report_interval", "1s"),
            ("logs.file_patterns", "a.log"),
            ("logs.batch_size", "0"),
            ("logs.filter.min_severity", "loud"),
        ] {
            let told = reloaded(&on, &[("logs.enabled", "false"), broken]);
            assert_eq!((told.changed.len(), told.at_restart), (0, vec!["logs.enabled"]));
            assert_eq!(told.loaded.config.logs, loaded(&on).config.logs, "{broken:?}");
        }
    }

    #[test]
    fn the_same_configuration_changes_nothing() {
        let told = reloaded(&[], &[]);
        assert!(told.changed.is_empty() && told.at_restart.is_empty());
    }
}
