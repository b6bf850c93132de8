//! Figures in the text format of Prometheus, version 0.0.4: families one after the other, each with its samples.
//!
//! A family without a sample is left out whole, so that what has never happened is absent instead of zero.

use alloc::string::String;
use core::{fmt::Write as _, time::Duration};

/// The type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a family counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What only grows while the process lives; its name ends in `_total`.
    Counter,
    Gauge,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// What a sample tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Whole(u64),
    /// In seconds.
    Seconds(Duration),
    /// In seconds, below zero.
    Minus(Duration),
}

impl From<u64> for Number {
    fn from(count: u64) -> Self {
        Self::Whole(count)
    }
}

impl From<usize> for Number {
    fn from(count: usize) -> Self {
        Self::Whole(count as u64)
    }
}

impl From<bool> for Number {
    fn from(holds: bool) -> Self {
        Self::Whole(u64::from(holds))
    }
}

impl From<Duration> for Number {
    fn from(seconds: Duration) -> Self {
        Self::Seconds(seconds)
    }
}

/// The text, while it is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family, which stands in the text once.
    pub const fn family(
        &mut self,
        kind: Kind,
        name: &'static str,
        help: &'static str,
    ) -> Family<'_> {
        Family { text: &mut self.text, kind, name, help, is_open: false }
    }

    pub const fn counter(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(Kind::Counter, name, help)
    }

    pub const fn gauge(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(Kind::Gauge, name, help)
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A family, while its samples are being written.
#[derive(Debug)]
pub struct Family<'e> {
    text: &'e mut String,
    kind: Kind,
    name: &'static str,
    help: &'static str,
    /// Its head is written.
    is_open: bool,
}

impl Family<'_> {
    /// Adds the one sample of a family without labels, where there is one.
    pub fn only(self, number: Option<impl Into<Number>>) {
        if let Some(number) = number {
            self.with(&[], number);
        }
    }

    /// Adds the sample under these labels, each with its value.
    #[must_use = "a family may have more samples"]
    pub fn sample(mut self, labels: &[(&'static str, &str)], number: impl Into<Number>) -> Self {
        self.put(labels, number.into());
        self
    }

    /// Adds the last sample.
    pub fn with(mut self, labels: &[(&'static str, &str)], number: impl Into<Number>) {
        self.put(labels, number.into());
    }

    /// Adds a sample for each value of one label.
    pub fn each<'v, N: Into<Number>>(
        mut self,
        label: &'static str,
        samples: impl IntoIterator<Item = (&'v str, N)>,
    ) {
        for (value, number) in samples {
            self.put(&[(label, value)], number.into());
        }
    }

    fn put(&mut self, labels: &[(&'static str, &str)], number: Number) {
        let name = self.name;
        if !self.is_open {
            self.is_open = true;
            self.push(format_args!("# HELP {name} "));
            escape(self.text, self.help, false);
            let kind = self.kind.as_str();
            self.push(format_args!("\n# TYPE {name} {kind}\n"));
        }
        self.text.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            self.push(format_args!("{before}{label}=\""));
            escape(self.text, value, true);
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        match number {
            Number::Whole(count) => self.push(format_args!(" {count}\n")),
            Number::Seconds(seconds) => self.seconds("", seconds),
            Number::Minus(seconds) if seconds.is_zero() => self.seconds("", seconds),
            Number::Minus(seconds) => self.seconds("-", seconds),
        }
    }

    /// As decimals, without zeros behind the last digit that tells something.
    fn seconds(&mut self, sign: &str, seconds: Duration) {
        let (whole, nanos) = (seconds.as_secs(), seconds.subsec_nanos());
        self.push(format_args!(" {sign}{whole}"));
        if nanos > 0 {
            self.push(format_args!(".{nanos:09}"));
            let end = self.text.trim_end_matches('0').len();
            self.text.truncate(end);
        }
        self.text.push('\n');
    }

    fn push(&mut self, text: core::fmt::Arguments<'_>) {
        // A string takes all that is written.
        let _ = self.text.write_fmt(text);
    }
}

/// Escapes what would end a line, or the value of a label.
fn escape(to: &mut String, text: &str, is_quoted: bool) {
    for c in text.chars() {
        match c {
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '"' if is_quoted => to.push_str("\\\""),
            c => to.push(c),
        }
    }
}
