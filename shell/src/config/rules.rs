//! The rules that need more than one key.
//!
//! Specification: the configuration tables of "Resources and their fields", and "Limits".

use std::{collections::BTreeMap, time::Duration};

use super::{
    duration,
    error::{Fault, Place},
    forms,
    layers::{Held, Merged},
    reader::Reader,
    schema,
    value::Value,
};

/// "report interval rule" of metrics.
const METRICS_REPORT_MIN: Duration = Duration::from_secs(10);
/// The least room on the disk that records are given.
const SPOOL_MIN: u64 = 1 << 20;
/// The pipelines, each with its shortest collect interval in seconds.
const PIPELINES: [(&str, u64); 3] = [("metrics", 5), ("logs", 5), ("audit", 1)];
/// The longest path of a Unix socket on Linux, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// Tells what the values break together; each fault at the key that somebody set.
pub(super) fn check(merged: &mut Merged) {
    let mut rules = Rules { reader: Reader(merged), broken: Vec::new() };
    rules.local_api();
    for (section, collect_min) in PIPELINES {
        if rules.reader.flag(&format!("{section}.enabled")) {
            rules.intervals(section, Duration::from_secs(collect_min));
            rules.batch(section);
            rules.spool(section);
            rules.endpoint(section);
        }
    }
    let broken = rules.broken;
    for (section, _) in PIPELINES {
        if is_off(&merged.held, section) {
            merged.pass_over(section);
        }
    }
    for (path, rule) in broken {
        let place = merged.held.get(path).map_or(Place::Nowhere, |held| held.place.clone());
        merged.fault(place, Some(path), Fault::Broken(rule));
    }
}

/// Whether a section is a pipeline that is off: "validation is skipped when disabled".
pub(super) fn is_off(held: &BTreeMap<&'static str, Held>, section: &str) -> bool {
    let enabled = held.get(format!("{section}.enabled").as_str());
    let is_off = enabled.is_some_and(|held| held.value == Some(Value::Flag(false)));
    is_off && PIPELINES.iter().any(|(pipeline, _)| *pipeline == section)
}

const NO_SECRET: &str = "needs secret_key beside it: the name of the control plane's secret that holds the bearer token";

struct Rules<'m> {
    reader: Reader<'m>,
    broken: Vec<(&'static str, String)>,
}

impl Rules<'_> {
    /// A value that was refused has its fault already, and is held to nothing more.
    fn want(&mut self, met: bool, path: &str, rule: impl Into<String>) {
        if !met
            && !self.is_refused(path)
            && let Some(key) = schema::find(path)
        {
            self.broken.push((key.path, rule.into()));
        }
    }

    /// Whether some source has the key.
    fn is_set(&self, path: &str) -> bool {
        self.reader.0.held.get(path).is_some_and(|held| held.place != Place::Nowhere)
    }

    fn is_refused(&self, path: &str) -> bool {
        self.is_set(path) && self.reader.value(path).is_none()
    }

    fn local_api(&mut self) {
        let served = self.reader.flag("local_api.http_enabled");
        let token = self.reader.text("local_api.http_token_file");
        self.want(
            !served || token.is_some(),
            "local_api.http_token_file",
            "must be set while local_api.http_enabled is true",
        );
        let socket = self.reader.text("local_api.socket_path").unwrap_or_default();
        let fits = socket.len() <= SOCKET_PATH_MAX;
        if self.is_set("local_api.socket_path") {
            let rule = format!("must be at most {SOCKET_PATH_MAX} bytes, as sockets want it");
            self.want(fits, "local_api.socket_path", rule);
        } else {
            let rule = format!(
                "is too long for the socket in it, whose path may have {SOCKET_PATH_MAX} bytes: \
                 shorten it, or set local_api.socket_path"
            );
            self.want(fits, "node.run_dir", rule);
        }
    }

    fn intervals(&mut self, section: &str, collect_min: Duration) {
        let (collect_key, report_key) =
            (format!("{section}.collect_interval"), format!("{section}.report_interval"));
        let (collect, report) =
            (self.reader.duration(&collect_key), self.reader.duration(&report_key));
        let rule = format!("must be at least {}", duration::text(collect_min));
        self.want(collect >= collect_min, &collect_key, rule);
        let fits =
            report >= collect || self.is_refused(&collect_key) || self.is_refused(&report_key);
        if self.is_set(&report_key) {
            let rule = "must not be shorter than collect_interval";
            self.want(fits, &report_key, rule);
        } else {
            let rule = format!(
                "must not be longer than report_interval, which is {} unless it is set",
                duration::text(report)
            );
            self.want(fits, &collect_key, rule);
        }
        if section == "metrics" {
            let rule = format!("must be at least {}", duration::text(METRICS_REPORT_MIN));
            self.want(report >= METRICS_REPORT_MIN, &report_key, rule);
        }
    }

    fn batch(&mut self, section: &str) {
        let key = format!("{section}.batch_size");
        self.want(self.reader.integer::<u64>(&key) > 0, &key, "must be at least 1");
    }

    fn spool(&mut self, section: &str) {
        let key = format!("{section}.spool_max_bytes");
        let most = self.reader.integer::<u64>(&key);
        let rule = format!("must be 0, which turns it off, or at least {SPOOL_MIN} bytes");
        self.want(most == 0 || most >= SPOOL_MIN, &key, rule);
    }

    fn endpoint(&mut self, section: &str) {
        let (url_key, secret_key) = (
            format!("{section}.local_endpoint.url"),
            format!("{section}.local_endpoint.secret_key"),
        );
        let Some(url) = self.reader.text(&url_key) else { return };
        if let Err(rule) = forms::endpoint_url(&url) {
            self.want(false, &url_key, rule);
        }
        match self.reader.text(&secret_key).map(|key| forms::secret_key(&key)) {
            None if self.is_refused(&secret_key) => {}
            None => self.want(false, &url_key, NO_SECRET),
            Some(Err(rule)) => self.want(false, &secret_key, rule),
            Some(Ok(())) => {}
        }
    }
}
