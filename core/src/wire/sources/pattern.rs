//! Patterns of paths, as those of the log files.
//!
//! A pattern is followed from folder to folder, with every way in which it can be meant at once, so that no folder is
//! looked at twice and no name takes more than its length times that of the pattern.
//!
//! | In a segment | Stands for |
//! |---|---|
//! | `*` | any characters, none too, a point at the start of a name as well |
//! | `?` | one character |
//! | `[a-z0]`, `[!a-z]`, `[^a-z]` | one character of these, or of no other |
//! | `\` | the next character as it is |
//! | `**` as a whole segment | any number of folders, none too; as the last one, every file below |
//!
//! Specification: "Observability configuration" (`file_patterns`); `gaps-agent.md` section 4.1 (files).

use alloc::{string::String, vec::Vec};
use core::str::Chars;

use thiserror::Error;

/// The longest pattern, in bytes: that of a path.
pub const PATTERN_MAX: usize = 4 << 10;

/// The most segments of a pattern.
pub const SEGMENTS_MAX: usize = 63;

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.rule())]
pub enum NotAPattern {
    Backwards,
    Long,
    NotAbsolute,
    Open,
    Unfinished,
}

impl NotAPattern {
    /// The rule that is broken.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Backwards => "must write the smaller character of a range first",
            Self::Long => {
                "must be at most 4096 bytes long, of at most 63 segments, and hold no NUL"
            }
            Self::NotAbsolute => {
                "must begin with \"/\", not end with it, and have no segment \".\" or \"..\""
            }
            Self::Open => "must close each \"[\" with \"]\"; \"\\[\" stands for the character",
            Self::Unfinished => {
                "must not end with \"\\\", which makes the next character stand for itself"
            }
        }
    }
}

/// A pattern of absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// A name without anything that stands for another.
    Name(String),
    Any(Vec<Piece>),
    /// Any number of folders.
    Folders,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    One(char),
    Single,
    Many,
    Of { ranges: Vec<(char, char)>, negated: bool },
}

/// The segments that the next name may stand for: those of a folder that a pattern leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here(u64);

impl Here {
    /// Whether the pattern leads nowhere below this folder.
    pub const fn is_nowhere(self) -> bool {
        self.0 == 0
    }
}

impl Pattern {
    /// Reads a pattern; segments that are empty do not count.
    pub fn parse(text: &str) -> Result<Self, NotAPattern> {
        if text.len() > PATTERN_MAX || text.contains('\0') {
            return Err(NotAPattern::Long);
        }
        let within = text.strip_prefix('/').ok_or(NotAPattern::NotAbsolute)?;
        if within.is_empty() || within.ends_with('/') {
            return Err(NotAPattern::NotAbsolute);
        }
        let mut segments = Vec::new();
        for segment in within.split('/').filter(|segment| !segment.is_empty()) {
            let segment = Segment::parse(segment)?;
            if segment != Segment::Folders || segments.last() != Some(&Segment::Folders) {
                segments.push(segment);
            }
        }
        if segments.last() == Some(&Segment::Folders) {
            segments.push(Segment::Any([Piece::Many].into()));
        }
        if segments.len() > SEGMENTS_MAX {
            return Err(NotAPattern::Long);
        }
        Ok(Self { segments })
    }

    /// At the root of all paths.
    pub fn root(&self) -> Here {
        self.with_folders(1)
    }

    /// In the folder of this name.
    pub fn below(&self, here: Here, name: &str) -> Here {
        let mut below = 0;
        for (at, segment) in self.at(here) {
            below |= match segment {
                Segment::Folders => 1 << at,
                Segment::Name(_) | Segment::Any(_) if at + 1 == self.segments.len() => 0,
                Segment::Name(_) | Segment::Any(_) => u64::from(segment.is(name)) << (at + 1),
            };
        }
        self.with_folders(below)
    }

    /// Whether the file of this name is meant.
    pub fn means(&self, here: Here, name: &str) -> bool {
        let last = self.segments.len() - 1;
        self.at(here).any(|(at, segment)| at == last && segment.is(name))
    }

    /// The one name that counts in this folder, where no other does.
    pub fn only(&self, here: Here) -> Option<&str> {
        let mut at = self.at(here);
        match (at.next(), at.next()) {
            (Some((_, Segment::Name(name))), None) => Some(name),
            (Some(_) | None, _) => None,
        }
    }

    /// Whether a path is meant as a whole.
    pub fn matches(&self, path: &str) -> bool {
        let Some((folders, name)) = path
            .strip_prefix('/')
            .and_then(|path| path.rsplit_once('/').map_or(Some(("", path)), Some))
        else {
            return false;
        };
        let folders = folders.split('/').filter(|folder| !folder.is_empty());
        let here = folders.fold(self.root(), |here, folder| self.below(here, folder));
        self.means(here, name)
    }

    fn at(&self, here: Here) -> impl Iterator<Item = (usize, &Segment)> {
        self.segments.iter().enumerate().filter(move |(at, _)| here.0 >> at & 1 == 1)
    }

    /// No folder at all is a number of folders too; two such segments never follow on each other.
    fn with_folders(&self, mut here: u64) -> Here {
        for (at, segment) in self.segments.iter().enumerate() {
            if here >> at & 1 == 1 && *segment == Segment::Folders {
                here |= 1 << (at + 1);
            }
        }
        Here(here)
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, NotAPattern> {
        match text {
            "**" => return Ok(Self::Folders),
            "." | ".." => return Err(NotAPattern::NotAbsolute),
            _ => {}
        }
        let mut pieces = Vec::new();
        let mut rest = text.chars();
        while let Some(one) = rest.next() {
            let piece = match one {
                '*' => Piece::Many,
                '?' => Piece::Single,
                '[' => range(&mut rest)?,
                '\\' => Piece::One(rest.next().ok_or(NotAPattern::Unfinished)?),
                one => Piece::One(one),
            };
            if piece != Piece::Many || pieces.last() != Some(&Piece::Many) {
                pieces.push(piece);
            }
        }
        let single = |piece: &Piece| match piece {
            Piece::One(one) => Some(*one),
            Piece::Single | Piece::Many | Piece::Of { .. } => None,
        };
        let name: Option<String> = pieces.iter().map(single).collect();
        Ok(name.map_or(Self::Any(pieces), Self::Name))
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Self::Name(only) => only == name,
            Self::Any(pieces) => is_any(pieces, name),
            Self::Folders => false,
        }
    }
}

/// Behind an opening bracket; a closing one right behind it is a character as any other.
fn range(rest: &mut Chars<'_>) -> Result<Piece, NotAPattern> {
    let negated = rest.as_str().starts_with(['!', '^']);
    if negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && rest.as_str().starts_with(']') {
            rest.next();
            return Ok(Piece::Of { ranges, negated });
        }
        let first = character(rest)?;
        let behind = rest.as_str();
        let last = if behind.starts_with('-') && !behind.starts_with("-]") {
            rest.next();
            character(rest)?
        } else {
            first
        };
        if last < first {
            return Err(NotAPattern::Backwards);
        }
        ranges.push((first, last));
    }
}

fn character(rest: &mut Chars<'_>) -> Result<char, NotAPattern> {
    match rest.next().ok_or(NotAPattern::Open)? {
        '\\' => rest.next().ok_or(NotAPattern::Unfinished),
        one => Ok(one),
    }
}

/// What the last `*` stands for grows by a character wherever the pieces behind it do not fit; those before it fit once
/// and for all.
fn is_any(pieces: &[Piece], name: &str) -> bool {
    let (mut at, mut rest) = (0, name.chars());
    let mut many: Option<(usize, Chars<'_>)> = None;
    loop {
        match pieces.get(at) {
            Some(Piece::Many) => {
                at += 1;
                many = Some((at, rest.clone()));
                continue;
            }
            Some(piece) => {
                let mut behind = rest.clone();
                if behind.next().is_some_and(|one| piece.takes(one)) {
                    (at, rest) = (at + 1, behind);
                    continue;
                }
            }
            None if rest.as_str().is_empty() => return true,
            None => {}
        }
        let Some((behind, from)) = &mut many else { return false };
        if from.next().is_none() {
            return false;
        }
        (at, rest) = (*behind, from.clone());
    }
}

impl Piece {
    fn takes(&self, one: char) -> bool {
        match self {
            Self::One(only) => *only == one,
            Self::Single | Self::Many => true,
            Self::Of { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&one)) != *negated
            }
        }
    }
}
