//! The tokens of RFC 8259, nothing more liberal: no byte-order mark, no lone surrogate, no leading zero.

use alloc::{borrow::Cow, string::String};

use super::{DEPTH_MAX, Fault, Kind, scan};

/// A position in a text, and how many arrays and objects are open there.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Lexer<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self::below(text, 0)
    }

    /// Of a text that stands within so many arrays and objects already.
    pub(super) const fn below(text: &'t str, depth: usize) -> Self {
        Self { text, at: 0, depth }
    }

    /// The next byte that is not white space, not taken.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    pub(super) const fn syntax(&self) -> Fault {
        Fault::new(Kind::Syntax(self.at))
    }

    /// Takes `byte`, behind white space.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err(self.syntax());
        }
        self.at += 1;
        Ok(())
    }

    /// Takes `byte` if it comes next.
    #[inline]
    pub(super) fn take_if(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Opens an array or object.
    pub(super) fn open(&mut self, bracket: u8) -> Result<(), Fault> {
        self.take(bracket)?;
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(Fault::new(Kind::TooDeep)) } else { Ok(()) }
    }

    /// Marks the array or object as left; its bracket is taken already.
    pub(super) const fn close(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Fault::new(Kind::Trailing(self.at))),
        }
    }

    pub(super) fn literal(&mut self, word: &str) -> Result<(), Fault> {
        self.peek();
        if !self.text[self.at..].starts_with(word) {
            return Err(self.syntax());
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes a number and returns its spelling.
    pub(super) fn number(&mut self) -> Result<&'t str, Fault> {
        self.peek();
        let start = self.at;
        self.skip_if(b"-");
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.syntax()),
        }
        if self.skip_if(b".") {
            self.digits()?;
        }
        if self.skip_if(b"eE") {
            self.skip_if(b"+-");
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Takes a string; it is borrowed unless it holds an escape.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.take(b'"')?;
        let start = self.at;
        let plain = self.run();
        if self.skip_if(b"\"") {
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = String::from(&self.text[start..self.at]);
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.syntax()),
            }
            out.push_str(self.run());
        }
    }

    /// Takes the string of exactly this text, where it comes next and is spelled without an escape.
    #[inline]
    pub(super) fn string_if(&mut self, text: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let here = rest
            .strip_prefix(b"\"")
            .and_then(|rest| rest.strip_prefix(text.as_bytes()))
            .is_some_and(|rest| rest.first() == Some(&b'"'));
        self.at += if here { text.len() + 2 } else { 0 };
        here
    }

    /// Takes any value and returns its text, white space inside included.
    pub(super) fn skip(&mut self) -> Result<&'t str, Fault> {
        self.peek();
        let start = self.at;
        let outer = self.depth;
        // One bit for each bracket opened here, the innermost lowest: set for an object.
        let mut objects = 0_u64;
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.open(bracket)?;
                    objects = objects << 1 | u64::from(bracket == b'{');
                    if !self.take_if(closing(objects)) {
                        self.name_if(objects)?;
                        continue;
                    }
                    self.close();
                    objects >>= 1;
                }
                _ => self.scalar()?,
            }
            while self.depth > outer {
                if self.take_if(b',') {
                    self.name_if(objects)?;
                    break;
                }
                self.take(closing(objects))?;
                self.close();
                objects >>= 1;
            }
            if self.depth == outer {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Takes a member name and its colon, where the innermost bracket is an object.
    fn name_if(&mut self, objects: u64) -> Result<(), Fault> {
        if objects & 1 == 1 {
            self.string()?;
            self.take(b':')?;
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => self.number().map(drop),
        }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_if(&mut self, any: &[u8]) -> bool {
        let here = self.byte().is_some_and(|byte| any.contains(&byte));
        self.at += usize::from(here);
        here
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax()) } else { Ok(()) }
    }

    /// The longest run of string characters that need no decoding.
    #[inline]
    fn run(&mut self) -> &'t str {
        let start = self.at;
        self.at += scan::plain(&self.text.as_bytes()[start..]);
        &self.text[start..self.at]
    }

    /// Takes a backslash and what it escapes.
    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.at += 2;
        Ok(match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(Fault::new(Kind::Syntax(start))),
        })
    }

    /// Takes four hexadecimal digits and, behind a high surrogate, the low one that must follow.
    fn unicode(&mut self, start: usize) -> Result<char, Fault> {
        let refused = || Fault::new(Kind::Syntax(start));
        let high = self.hex4().ok_or_else(refused)?;
        let code = match high {
            0xd800..0xdc00 => {
                if !(self.skip_if(b"\\") && self.skip_if(b"u")) {
                    return Err(refused());
                }
                let low =
                    self.hex4().filter(|low| (0xdc00..0xe000).contains(low)).ok_or_else(refused)?;
                0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => high,
        };
        char::from_u32(code).ok_or_else(refused)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }
}

/// The bracket that closes the innermost one.
const fn closing(objects: u64) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}
