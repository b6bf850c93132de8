//! Patterns of paths, by which faults and verifications name the requests they mean.
//!
//! Segments are compared one by one, each decoded once: `*` stands for any one, `**` at the end for all that are left.
//! Unspecified: of those there is at least one.
//!
//! Specification: `decisions.md` section 7 (`/test/faults`).

use alloc::{borrow::Cow, string::String, vec::Vec};

use thiserror::Error;

use super::admit::decoded;
use crate::wire::http::Method;

/// The longest pattern, in bytes.
pub const PATTERN_MAX: usize = 2048;

/// What stands before the paths that no pattern means.
const OWN: &str = "test";

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("path is missing; give one such as /v1/nodes/*/heartbeat or /v1/**")]
    Absent,
    #[error("path must begin with a slash")]
    Relative,
    #[error("path is over {PATTERN_MAX} bytes")]
    TooLong,
    #[error("path must not have a query; requests are told apart by their path alone")]
    Query,
    #[error("path must have ** at its end only; * stands for one segment")]
    RestInside,
    #[error("path must have each star alone in its segment")]
    StarInside,
    #[error("path must not be one of /test/: neither faults nor the journal concern those")]
    Own,
    #[error("method must be one of GET, HEAD, POST, PUT, DELETE and OTHER, or left out for any")]
    Method,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Exactly(String),
    Any,
    Rest,
}

/// Which requests are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Any, where there is none.
    method: Option<Method>,
    segments: Vec<Segment>,
}

impl Pattern {
    /// Reads a method, which may be left out, and a path.
    pub fn parse(method: Option<&str>, path: Option<&str>) -> Result<Self, Malformed> {
        let method = method.map(named).transpose()?;
        let path = path.ok_or(Malformed::Absent)?;
        if path.len() > PATTERN_MAX {
            return Err(Malformed::TooLong);
        }
        if path.contains('?') {
            return Err(Malformed::Query);
        }
        let path = path.strip_prefix('/').ok_or(Malformed::Relative)?;
        let segments: Vec<Segment> = path.split('/').map(segment).collect::<Result<_, _>>()?;
        let inside = segments.split_last().is_some_and(|(_, front)| front.contains(&Segment::Rest));
        match segments.first() {
            _ if inside => Err(Malformed::RestInside),
            Some(Segment::Exactly(first)) if first == OWN && segments.len() > 1 => {
                Err(Malformed::Own)
            }
            Some(_) | None => Ok(Self { method, segments }),
        }
    }

    /// Whether a request with this method and path, as it was received, is meant.
    pub fn means(&self, method: Method, path: &str) -> bool {
        self.method.is_none_or(|wanted| wanted == method) && self.misses(path) == 0
    }

    /// Whether a rule meets a request: one for `GET` also meets a `HEAD`, which is a `GET` without body.
    pub fn meets(&self, method: Method, path: &str) -> bool {
        self.means(method, path) || method == Method::Head && self.means(Method::Get, path)
    }

    /// In how many segments a path differs from the pattern.
    pub fn misses(&self, path: &str) -> usize {
        let mut here = segments(path);
        let mut misses = 0;
        for wanted in &self.segments {
            let same = match (wanted, here.next()) {
                (Segment::Rest, Some(_)) => return misses,
                (Segment::Any, Some(_)) => true,
                (Segment::Exactly(wanted), Some(segment)) => *wanted == segment,
                (Segment::Rest | Segment::Any | Segment::Exactly(_), None) => false,
            };
            misses += usize::from(!same);
        }
        misses + here.count()
    }
}

fn named(name: &str) -> Result<Method, Malformed> {
    let method = Method::parse(name);
    if method.name() == name { Ok(method) } else { Err(Malformed::Method) }
}

fn segment(raw: &str) -> Result<Segment, Malformed> {
    match raw {
        "*" => Ok(Segment::Any),
        "**" => Ok(Segment::Rest),
        _ if raw.contains('*') => Err(Malformed::StarInside),
        _ => Ok(Segment::Exactly(decoded(raw).into_owned())),
    }
}

fn segments(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
    path.strip_prefix('/').unwrap_or(path).split('/').map(decoded)
}

/// Whether a path is one of the routes that steer and watch the fixture, or would be.
pub fn is_own(path: &str) -> bool {
    let mut segments = segments(path);
    segments.next().is_some_and(|first| first == OWN) && segments.next().is_some()
}
