//! One record: a line of the log, or a message of the kernel.
//!
//! `node=NAME type=SYSCALL msg=audit(1364481363.243:24287): arch=c000003e … comm="cat" key="sshd_config"`, where the node
//! may be missing. A value in quotes is a text; a bare one of a text is its bytes in hexadecimal digits, so that no
//! program can write a field into a record by its name. Behind the byte 0x1D stands what auditd added. A user program's
//! own fields stand within `msg='…'`, and never count for what the kernel says of the program.

use alloc::{borrow::Cow, string::String};
use core::time::Duration;

use super::{NAME_MAX, kind};
use crate::{
    time::Wall,
    wire::{record::Outcome, sources::raw, timestamp::Timestamp},
};

/// The length of the head of a message: its length, its type, its flags, a number and a port.
const HEAD_LEN: usize = 16;

/// What stands in front of what auditd adds to a record.
const ENRICHED: u8 = 0x1d;

/// The id that stands for none.
const UNSET: u64 = 4_294_967_295;

/// What stands between the keys of a rule that has several.
const KEYS: u8 = 1;

/// What all records of one event have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) at: Timestamp,
    pub(super) serial: u64,
}

/// A record whose head was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'t> {
    pub(super) number: Option<u16>,
    pub(super) name: Cow<'t, str>,
    pub(super) stamp: Stamp,
    /// What the kernel or a program wrote.
    body: &'t [u8],
    /// What auditd added.
    enriched: &'t [u8],
    /// From `msg=` on, for a message; the whole line otherwise.
    raw: &'t [u8],
    is_message: bool,
}

impl<'t> Record<'t> {
    /// Reads a line of the log; `None` where it is no record.
    pub fn of_line(line: &'t [u8]) -> Option<Self> {
        let line = line.trim_ascii_end();
        let typed = match line.strip_prefix(b"node=") {
            Some(named) => split(named, b' ')?.1,
            None => line,
        };
        let (name, rest) = split(typed.strip_prefix(b"type=")?, b' ')?;
        let name = core::str::from_utf8(name).ok().filter(|name| kind::is_name(name))?;
        let record = Self::behind_type(kind::number(name), rest.strip_prefix(b"msg=")?)?;
        Some(Self { name: Cow::Borrowed(name), raw: line, is_message: false, ..record })
    }

    /// Reads the payload of a message of the kernel; `None` where it is no record.
    pub fn of_message(number: u16, payload: &'t [u8]) -> Option<Self> {
        let payload = payload.trim_ascii_end();
        let payload = payload.strip_suffix(b"\0").unwrap_or(payload);
        Self::behind_type(Some(number), payload)
    }

    /// Reads a datagram of the kernel; `None` where it holds no record.
    ///
    /// The length in its head counts for nothing: kernels leave out the head itself, or do not, and a datagram is one
    /// message.
    pub fn of_datagram(datagram: &'t [u8]) -> Option<Self> {
        let (head, payload) = datagram.split_first_chunk::<HEAD_LEN>()?;
        let [_, _, _, _, low, high, ..] = *head;
        Self::of_message(u16::from_ne_bytes([low, high]), payload)
    }

    fn behind_type(number: Option<u16>, text: &'t [u8]) -> Option<Self> {
        let (stamp, rest) = split(text.strip_prefix(b"audit(")?, b')')?;
        let stamp = stamp_of(stamp)?;
        let rest = rest.strip_prefix(b":")?;
        let (body, enriched) = split(rest, ENRICHED).unwrap_or((rest, b""));
        let name = number.map_or(Cow::Borrowed(""), kind::name);
        Some(Self { number, name, stamp, body, enriched, raw: text, is_message: true })
    }

    /// What the record says.
    pub(super) fn told(&self) -> Told<'t> {
        let mut told = Told::default();
        read(self.body, Whose::Kernel, &mut told);
        if let Some(Value { bytes, .. }) = told.message.take() {
            read(bytes, Whose::Program, &mut told);
        }
        read(self.enriched, Whose::Daemon, &mut told);
        told
    }

    /// Puts the record behind others as a line of the log would be.
    pub(super) fn append(&self, to: &mut alloc::vec::Vec<u8>) {
        if self.is_message {
            to.extend_from_slice(b"type=");
            to.extend_from_slice(self.name.as_bytes());
            to.extend_from_slice(b" msg=");
        }
        to.extend_from_slice(self.raw);
    }
}

/// A value as it was spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value<'t> {
    bytes: &'t [u8],
    is_quoted: bool,
}

/// The fields of a record that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told<'t> {
    pub(super) uid: Option<u64>,
    pub(super) gid: Option<u64>,
    pub(super) pid: Option<u64>,
    /// Who logged in; absent where nobody did.
    pub(super) auid: Option<u64>,
    pub(super) arch: Option<&'t str>,
    pub(super) call: Option<u32>,
    /// The name of the call, as auditd added it.
    pub(super) call_name: Option<&'t str>,
    pub(super) success: Option<Outcome>,
    pub(super) exe: Option<Value<'t>>,
    pub(super) key: Option<Value<'t>>,
    pub(super) name: Option<Value<'t>>,
    res: Option<Outcome>,
    verdict: Option<Outcome>,
    message: Option<Value<'t>>,
}

impl Told<'_> {
    /// How it ended, by what says so most plainly.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.success.or(self.res).or(self.verdict)
    }
}

impl Value<'_> {
    /// The text; `None` where the value stands for none.
    pub(super) fn text(&self) -> Option<String> {
        if self.is_quoted {
            return Some(raw::short(self.bytes, NAME_MAX));
        }
        match self.bytes {
            b"" | b"?" | b"(null)" | b"(none)" => None,
            bare => match decoded(bare) {
                Some(bytes) => Some(raw::short(&bytes, NAME_MAX)),
                None => Some(raw::short(bare, NAME_MAX)),
            },
        }
    }

    /// The keys of a rule, with commas between them.
    pub(super) fn keys(&self) -> Option<String> {
        let text = self.text()?;
        Some(text.replace(char::from(KEYS), ","))
    }
}

/// Who wrote a part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Daemon,
    Kernel,
    Program,
}

/// Notes every field of a text that counts where it stands.
fn read<'t>(mut text: &'t [u8], whose: Whose, told: &mut Told<'t>) {
    while let Some((name, value, rest)) = field(text) {
        match whose {
            Whose::Daemon => of_daemon(name, value, told),
            Whose::Kernel => of_kernel(name, value, told),
            Whose::Program => of_program(name, value, told),
        }
        text = rest;
    }
}

/// The kernel tells first who it is that a record is about, and last how it ended.
fn of_kernel<'t>(name: &[u8], value: Value<'t>, told: &mut Told<'t>) {
    match name {
        b"uid" => first(&mut told.uid, number(value)),
        b"gid" => first(&mut told.gid, number(value)),
        b"pid" => first(&mut told.pid, number(value)),
        b"auid" => first(&mut told.auid, number(value).filter(|id| *id != UNSET)),
        b"arch" => first(&mut told.arch, core::str::from_utf8(value.bytes).ok()),
        b"syscall" => first(&mut told.call, number(value).and_then(|call| call.try_into().ok())),
        b"success" => first(&mut told.success, outcome(value)),
        b"exe" => first(&mut told.exe, Some(value)),
        b"key" => first(&mut told.key, Some(value)),
        b"name" => first(&mut told.name, Some(value)),
        b"msg" => first(&mut told.message, Some(value)),
        b"res" => told.res = outcome(value),
        _ => verdict(name, value, told),
    }
}

/// The library by which programs write puts their own words first.
fn of_program<'t>(name: &[u8], value: Value<'t>, told: &mut Told<'t>) {
    match name {
        b"exe" => told.exe = Some(value),
        b"res" | b"result" => told.res = outcome(value),
        _ => verdict(name, value, told),
    }
}

fn of_daemon<'t>(name: &[u8], value: Value<'t>, told: &mut Told<'t>) {
    if name == b"SYSCALL" {
        let is_part =
            |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
        let name = core::str::from_utf8(value.bytes).ok();
        told.call_name = name.filter(|name| !name.is_empty() && name.bytes().all(|b| is_part(&b)));
    }
}

/// What SELinux and AppArmor say of an access.
fn verdict(name: &[u8], value: Value<'_>, told: &mut Told<'_>) {
    let found = match (name, value.bytes) {
        (b"denied", b"") | (b"apparmor", b"DENIED") => Outcome::Failure,
        (b"granted", b"") | (b"apparmor", b"ALLOWED") => Outcome::Success,
        _ => return,
    };
    first(&mut told.verdict, Some(found));
}

fn first<T>(place: &mut Option<T>, found: Option<T>) {
    if place.is_none() {
        *place = found;
    }
}

/// Takes the next `name=value`, or a word without a value.
fn field(text: &[u8]) -> Option<(&[u8], Value<'_>, &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| matches!(byte, b'=' | b' ')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let bare = |bytes| Value { bytes, is_quoted: false };
    match rest.split_first() {
        None if name.is_empty() => None,
        Some((b'=', rest)) => {
            let (value, rest) = value(name, rest);
            Some((name, value, rest))
        }
        Some(_) | None => Some((name, bare(b""), rest)),
    }
}

/// The message of a program ends at the last quote, since it may hold others.
fn value<'t>(name: &[u8], text: &'t [u8]) -> (Value<'t>, &'t [u8]) {
    let quoted = |bytes| Value { bytes, is_quoted: true };
    match text.split_first() {
        Some((b'"', inner)) => {
            let (bytes, rest) = split(inner, b'"').unwrap_or((inner, b""));
            (quoted(bytes), rest)
        }
        Some((b'\'', inner)) if name == b"msg" => {
            let end = inner.iter().rposition(|byte| *byte == b'\'').unwrap_or(inner.len());
            let (bytes, rest) = inner.split_at(end);
            (quoted(bytes), rest.get(1..).unwrap_or_default())
        }
        Some(_) | None => {
            let (bytes, rest) = split(text, b' ').unwrap_or((text, b""));
            (Value { bytes, is_quoted: false }, rest)
        }
    }
}

/// What stands in front of the first such byte and what behind it.
fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == at)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// Seconds, milliseconds and the serial number.
fn stamp_of(text: &[u8]) -> Option<Stamp> {
    let (time, serial) = split(text, b':')?;
    let (seconds, millis) = split(time, b'.')?;
    let millis = digits(millis).filter(|_| millis.len() == 3)?;
    let since = Duration::from_secs(digits(seconds)?).checked_add(Duration::from_millis(millis))?;
    let at = Timestamp::from(Wall::from_origin(since));
    Some(Stamp { at, serial: digits(serial)? })
}

fn number(value: Value<'_>) -> Option<u64> {
    digits(value.bytes)
}

/// Digits alone; `None` where there are none or too many.
fn digits(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// Older programs put brackets and commas around it.
fn outcome(value: Value<'_>) -> Option<Outcome> {
    let word = value.bytes.trim_ascii();
    let end = word.iter().rposition(u8::is_ascii_alphanumeric)? + 1;
    match word.get(..end)?.to_ascii_lowercase().as_slice() {
        b"yes" | b"success" | b"1" => Some(Outcome::Success),
        b"no" | b"failed" | b"fail" | b"0" => Some(Outcome::Failure),
        _ => None,
    }
}

/// The bytes that hexadecimal digits stand for; `None` where they are none.
fn decoded(digits: &[u8]) -> Option<alloc::vec::Vec<u8>> {
    // No more is kept of a name than this.
    let shown = digits.get(..4 * NAME_MAX).unwrap_or(digits);
    let half = |byte: &u8| char::from(*byte).to_digit(16).and_then(|half| u8::try_from(half).ok());
    let (pairs, odd) = shown.as_chunks::<2>();
    if !odd.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(half(high)? << 4 | half(low)?)).collect()
}
