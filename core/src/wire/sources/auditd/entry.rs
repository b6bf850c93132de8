//! An event that is being put together, and the entry that it becomes.

use alloc::{
    borrow::{Cow, ToOwned as _},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};

use serde::Serialize;

use super::{
    PATHS_MAX,
    kind::{Role, role},
    record::{Record, Stamp, Told},
    syscall,
};
use crate::wire::{
    json,
    record::{AuditEntry, AuditOrigin, Outcome},
    sources::{lines, raw::LOOKED_MAX},
};

/// An event as far as its records have come; it holds little more than the text of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) stamp: Stamp,
    /// The type of the first record.
    first: String,
    /// The record that says what the event is about.
    own: Option<Telling>,
    call: Option<Call>,
    subject: Subject,
    object: Object,
    lines: Vec<u8>,
}

/// A record that gives its type to the event.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Telling {
    name: String,
    outcome: Option<Outcome>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: String,
    outcome: Option<Outcome>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Subject {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auid: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Object {
    #[serde(skip_serializing_if = "Option::is_none")]
    exe: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl Draft {
    pub(super) fn new(record: &Record<'_>) -> Self {
        Self {
            stamp: record.stamp,
            first: record.name.clone().into_owned(),
            own: None,
            call: None,
            subject: Subject::default(),
            object: Object::default(),
            lines: Vec::new(),
        }
    }

    /// Adds a record of this event.
    pub(super) fn add(&mut self, record: &Record<'_>) {
        self.note(record);
        let told = record.told();
        match role(record.number) {
            Role::Alone | Role::Own => self.add_own(record, &told),
            Role::Path => self.add_path(&told),
            Role::Syscall => self.add_call(&told),
            Role::Companion | Role::End | Role::Last => {}
        }
    }

    /// What is beyond the longest text is not held.
    fn note(&mut self, record: &Record<'_>) {
        if self.lines.len() >= LOOKED_MAX {
            return;
        }
        if !self.lines.is_empty() {
            self.lines.push(b'\n');
        }
        record.append(&mut self.lines);
        self.lines.truncate(LOOKED_MAX);
    }

    fn add_own(&mut self, record: &Record<'_>, told: &Told<'_>) {
        if self.own.is_none() {
            let (name, outcome) = (record.name.clone().into_owned(), told.outcome());
            self.own = Some(Telling { name, outcome });
        }
        self.subject = self.subject.or(subject(told));
        self.add_object(told);
    }

    /// The call tells most of who did it.
    fn add_call(&mut self, told: &Told<'_>) {
        if self.call.is_none() {
            self.call = Some(Call { name: call_name(told), outcome: told.outcome() });
        }
        self.subject = subject(told).or(self.subject);
        self.add_object(told);
    }

    fn add_object(&mut self, told: &Told<'_>) {
        let Object { exe, key, .. } = &mut self.object;
        *exe = exe.take().or_else(|| told.exe?.text());
        *key = key.take().or_else(|| told.key?.keys());
    }

    fn add_path(&mut self, told: &Told<'_>) {
        let path = told.name.and_then(|name| name.text());
        if self.object.paths.len() < PATHS_MAX {
            self.object.paths.extend(path);
        }
    }

    pub(super) fn finish(self, hostname: &Arc<str>) -> AuditEntry {
        let (event_type, action, result) = match (self.own, self.call) {
            (Some(own), call) => {
                let result = own.outcome.or_else(|| call?.outcome);
                (own.name.clone(), own.name, result)
            }
            (None, Some(call)) => ("SYSCALL".to_owned(), call.name, call.outcome),
            (None, None) => (self.first.clone(), self.first, None),
        };
        AuditEntry {
            timestamp: self.stamp.at,
            source: AuditOrigin::Auditd,
            event_type,
            subject: text(json::encode(&self.subject)),
            object: text(json::encode(&self.object)),
            action,
            result,
            hostname: Arc::clone(hostname),
            raw: lines::text(&self.lines),
        }
    }
}

impl Subject {
    /// What is not known of this one is that of the other.
    fn or(self, other: Self) -> Self {
        Self {
            uid: self.uid.or(other.uid),
            gid: self.gid.or(other.gid),
            pid: self.pid.or(other.pid),
            auid: self.auid.or(other.auid),
        }
    }
}

fn subject(told: &Told<'_>) -> Subject {
    Subject { uid: told.uid, gid: told.gid, pid: told.pid, auid: told.auid }
}

fn call_name(told: &Told<'_>) -> String {
    let known = told.call.zip(told.arch).and_then(|(call, arch)| syscall::name(arch, call));
    let named = known.or(told.call_name).map(Cow::Borrowed);
    let numbered = || told.call.map(|call| Cow::Owned(format!("syscall_{call}")));
    named.or_else(numbered).unwrap_or(Cow::Borrowed("syscall")).into_owned()
}

fn text(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON is written as text")
}
