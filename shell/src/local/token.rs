//! The token file of the TCP listener: read once, with a warning where others could read, change or guess the token.
//!
//! Specification: "Authentication" of the node agent, rule 1; "Local API configuration".

use std::{
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use meshward_core::secret::Secret;
use thiserror::Error;
use tracing::warn;

use crate::tokens;

/// A shorter token can be guessed.
const TOKEN_MIN: usize = 16;

/// What the mode of a token file should not grant: anything to everybody, writing to its group.
const MODE_OPEN: u32 = 0o027;

/// Why a token file cannot be used; each says what to do.
#[derive(Debug, Error)]
#[error("local_api.http_token_file {} {fault}: {}", .path.display(), .fault.mend())]
pub struct TokenError {
    path: PathBuf,
    pub fault: Fault,
}

/// What is wrong with a token file.
#[derive(Debug, Error)]
pub enum Fault {
    #[error("cannot be read ({0})")]
    Unreadable(io::Error),
    #[error("is empty")]
    Empty,
    #[error("holds no token")]
    NoToken,
}

impl Fault {
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => {
                "write a token of 16 bytes or more into a file that the user of the agent can read (mode 0600)"
            }
            Self::Empty => "write a token of 16 bytes or more into it",
            Self::NoToken => "write one word of printable ASCII characters into it",
        }
    }
}

/// Something that makes a token guard less than it could, and how it is mended.
pub type Weakness = (&'static str, &'static str);

/// Reads the token.
pub fn read(path: &Path) -> Result<Secret<String>, TokenError> {
    let (token, weaknesses) = look(path)?;
    for (weakness, mend) in weaknesses {
        warn!("local_api.http_token_file {} {weakness}: {mend}", path.display());
    }
    Ok(token)
}

/// The same, with what there is to warn of.
pub fn look(path: &Path) -> Result<(Secret<String>, Vec<Weakness>), TokenError> {
    let refused = |fault| TokenError { path: path.to_owned(), fault };
    let (text, found) = tokens::text(path).map_err(|error| refused(Fault::Unreadable(error)))?;
    let token = text.expose();
    if token.is_empty() {
        return Err(refused(Fault::Empty));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused(Fault::NoToken));
    }
    let weaknesses = weaknesses(&found, token);
    Ok((text, weaknesses))
}

fn weaknesses(found: &Metadata, token: &str) -> Vec<Weakness> {
    let own = rustix::process::geteuid().as_raw();
    let rows = [
        (
            found.uid() != own && found.uid() != 0,
            ("belongs to another user", "give it to the user of the agent, or to root"),
        ),
        (
            found.mode() & MODE_OPEN != 0,
            ("can be read or changed by others", "set its mode to 0600"),
        ),
        (token.len() < TOKEN_MIN, ("can be guessed", "write 16 bytes or more into it")),
    ];
    rows.into_iter().filter(|(is_so, _)| *is_so).map(|(_, weakness)| weakness).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt as _,
    };

    use super::{read, weaknesses};

    #[test]
    fn a_token_is_one_word_of_printable_characters_whatever_surrounds_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        let told = |content: &[u8]| {
            fs::write(&path, content).unwrap();
            match read(&path) {
                Ok(token) => token.expose().clone(),
                Err(error) => error.to_string().split_once("/token").unwrap().1.to_owned(),
            }
        };
        assert_eq!(told(b"\n sixteen-bytes-ok \r\n"), "sixteen-bytes-ok");
        assert_eq!(told(b"x"), "x");
        for nothing in [b"".as_slice(), b" \n"] {
            assert_eq!(told(nothing), " is empty: write a token of 16 bytes or more into it");
        }
        for odd in
            [b"sixteen bytes ok".as_slice(), "sixteen-bytes-ök".as_bytes(), b"sixteen-bytes\nok"]
        {
            assert!(told(odd).starts_with(" holds no token: write one word"));
        }
        for unreadable in [vec![b'x'; 4097], vec![0xff; 16]] {
            assert!(told(&unreadable).starts_with(" cannot be read (it is "));
        }
    }

    #[test]
    fn a_token_that_others_can_read_change_or_guess_is_warned_of() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        let told = |token: &str, mode: u32| {
            fs::write(&path, token).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            weaknesses(&fs::metadata(&path).unwrap(), token)
        };
        for mode in [0o600, 0o640, 0o400] {
            assert!(told("sixteen-bytes-ok", mode).is_empty(), "{mode:o}");
        }
        for mode in [0o604, 0o602, 0o601, 0o620, 0o644, 0o666] {
            let open = ("can be read or changed by others", "set its mode to 0600");
            assert_eq!(told("sixteen-bytes-ok", mode), [open], "{mode:o}");
        }
        assert_eq!(
            told("fifteen-bytes-x", 0o600),
            [("can be guessed", "write 16 bytes or more into it")]
        );
        assert_eq!(told("x", 0o644).len(), 2);
    }

    #[test]
    fn what_is_no_regular_file_is_not_read_and_a_link_to_one_is() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        assert!(read(&path).is_err());
        let is_told = |path| {
            let told = read(path).unwrap_err().to_string();
            assert!(told.contains(" cannot be read (it is not a regular file): write"), "{told}");
        };
        is_told(place.path());
        let fifo = place.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        is_told(&fifo);
        fs::write(&path, "sixteen-bytes-ok").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read(&link).unwrap().expose(), "sixteen-bytes-ok");
    }
}
