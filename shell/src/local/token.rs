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
pub enum TokenError {
    #[error("local_api.http_token_file {}: cannot read it", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("local_api.http_token_file {} {fault}", .path.display())]
    Unusable { path: PathBuf, fault: &'static str },
}

/// Reads the token.
pub fn read(path: &Path) -> Result<Secret<String>, TokenError> {
    let refused = |fault| TokenError::Unusable { path: path.to_owned(), fault };
    let (text, found) = tokens::text(path)
        .map_err(|source| TokenError::Unreadable { path: path.to_owned(), source })?;
    let token = text.expose();
    if token.is_empty() {
        return Err(refused("holds no token: write one of 16 bytes or more into it"));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused("holds no token: it must be one word of printable ASCII characters"));
    }
    for weakness in weaknesses(&found, token) {
        warn!("local_api.http_token_file {} {weakness}", path.display());
    }
    Ok(text)
}

/// Why the token guards less than it could, each with its mend.
fn weaknesses(found: &Metadata, token: &str) -> Vec<&'static str> {
    let own = rustix::process::geteuid().as_raw();
    let rows = [
        (
            found.uid() != own && found.uid() != 0,
            "belongs to another user: give it to the user of the agent, or to root",
        ),
        (found.mode() & MODE_OPEN != 0, "can be read or changed by others: set its mode to 0600"),
        (token.len() < TOKEN_MIN, "can be guessed: write 16 bytes or more into it"),
    ];
    rows.into_iter().filter(|(is_so, _)| *is_so).map(|(_, weakness)| weakness).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        error::Error as _,
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
            assert_eq!(told(nothing), " holds no token: write one of 16 bytes or more into it");
        }
        for odd in
            [b"sixteen bytes ok".as_slice(), "sixteen-bytes-ök".as_bytes(), b"sixteen-bytes\nok"]
        {
            assert!(told(odd).starts_with(" holds no token: it must be one word"));
        }
        for unreadable in [vec![b'x'; 4097], vec![0xff; 16]] {
            assert_eq!(told(&unreadable), ": cannot read it");
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
            assert_eq!(told("sixteen-bytes-ok", mode), [""; 0], "{mode:o}");
        }
        for mode in [0o604, 0o602, 0o601, 0o620, 0o644, 0o666] {
            let mend = "can be read or changed by others: set its mode to 0600";
            assert_eq!(told("sixteen-bytes-ok", mode), [mend], "{mode:o}");
        }
        assert_eq!(
            told("fifteen-bytes-x", 0o600),
            ["can be guessed: write 16 bytes or more into it"]
        );
        assert_eq!(told("x", 0o644).len(), 2);
    }

    #[test]
    fn what_is_no_regular_file_is_not_read_and_a_link_to_one_is() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        assert!(read(&path).is_err());
        let told = |path| read(path).unwrap_err().source().unwrap().to_string();
        assert_eq!(told(place.path()), "it is not a regular file");
        let fifo = place.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert_eq!(told(&fifo), "it is not a regular file");
        fs::write(&path, "sixteen-bytes-ok").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read(&link).unwrap().expose(), "sixteen-bytes-ok");
    }
}
