//! A strict reader of the text format of Prometheus: what it does not take, a scraper may not either.

use std::collections::{BTreeMap, BTreeSet};

/// The samples by their name with their labels, as they stand.
#[derive(Debug, Default)]
pub(crate) struct Exposed {
    pub(crate) samples: BTreeMap<String, f64>,
    /// Each family with its type.
    pub(crate) families: BTreeMap<String, String>,
}

impl Exposed {
    pub(crate) fn of(&self, sample: &str) -> f64 {
        match self.samples.get(sample) {
            Some(number) => *number,
            None => panic!("{sample} is not told"),
        }
    }

    pub(crate) fn has(&self, family: &str) -> bool {
        self.families.contains_key(family)
    }
}

/// Reads a text, or tells the first line that is against the rules.
pub(crate) fn read(text: &str) -> Result<Exposed, String> {
    let mut exposed = Exposed::default();
    let mut lines = text.lines();
    let mut family: Option<String> = None;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    while let Some(line) = lines.next() {
        let wrong = |what: &str| Err(format!("{what}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("no help") };
            let kind = lines.next().and_then(|next| next.strip_prefix("# TYPE "));
            let Some((typed, kind)) = kind.and_then(|kind| kind.split_once(' ')) else {
                return wrong("no type behind the help");
            };
            if typed != name || !is_name(name) || help.is_empty() || !is_escaped(help, false) {
                return wrong("a broken head");
            }
            if !matches!(kind, "counter" | "gauge")
                || (kind == "counter") != name.ends_with("_total")
            {
                return wrong("a kind that does not fit the name");
            }
            if exposed.families.insert(name.into(), kind.into()).is_some() {
                return wrong("a family that stands twice");
            }
            family = Some(name.into());
            continue;
        }
        let Some((sample, number)) = line.rsplit_once(' ') else { return wrong("no number") };
        let name = sample.split('{').next().unwrap_or_default();
        if family.as_deref() != Some(name) || !labelled(&sample[name.len()..]) {
            return wrong("a sample that is not of its family");
        }
        let Some(number) = decimal(number) else { return wrong("no decimal number") };
        if exposed.samples.insert(sample.into(), number).is_some() {
            return wrong("a sample that stands twice");
        }
    }
    let told: BTreeSet<_> =
        exposed.samples.keys().filter_map(|sample| sample.split('{').next()).collect();
    match exposed.families.keys().find(|family| !told.contains(family.as_str())) {
        Some(family) => Err(format!("{family} has no sample")),
        None => Ok(exposed),
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (are_digits(whole) && are_digits(rest)).then(|| text.parse().ok()).flatten()
}

/// Nothing, or `{name="value",...}` with each name once.
fn labelled(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let Some(mut rest) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return false;
    };
    let mut names = BTreeSet::new();
    loop {
        let Some((name, behind)) = rest.split_once("=\"") else { return false };
        let Some(end) = closing(behind) else { return false };
        if !is_name(name) || !names.insert(name) || !is_escaped(&behind[..end], true) {
            return false;
        }
        match behind[end + 1..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return behind.len() == end + 1,
        }
    }
}

/// Where the quote is that ends a value.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// Whether each backslash begins one of the escapes that there are.
fn is_escaped(text: &str, is_quoted: bool) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let fits = match c {
            '\\' => match chars.next() {
                Some('\\' | 'n') => true,
                Some('"') => is_quoted,
                Some(_) | None => false,
            },
            '"' => !is_quoted,
            _ => true,
        };
        if !fits {
            return false;
        }
    }
    true
}
