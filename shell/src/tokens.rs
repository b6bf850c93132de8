//! The sources of the bootstrap token, each looked at without judging it.
//!
//! Specification: "Authentication", 6, and "Registration configuration".

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use meshward_core::{
    agent::{TokenFile, TokenSources},
    secret::Secret,
};
use tracing::warn;
use zeroize::Zeroizing;

/// The largest token file that is read; a token has at most 512 bytes.
const FILE_MAX: usize = 4096;

/// Where a token may be found.
#[derive(Clone, Debug, Default)]
pub struct TokenPlaces {
    /// `registration.token_value`.
    pub value: Option<Secret<String>>,
    /// `registration.token_file`.
    pub file: Option<PathBuf>,
    /// The name that `registration.token_env` gives.
    pub variable: Option<String>,
}

impl TokenPlaces {
    /// Looks in every place. It may wait for a slow disk, so it belongs on a thread that may block.
    pub fn look(&self) -> TokenSources {
        let mut tried = vec!["registration.token_value (not set)".to_owned()];
        if self.value.as_ref().is_some_and(|value| !value.expose().is_empty()) {
            tried[0] = "registration.token_value".to_owned();
        }
        let file = self.file.as_deref().map_or(TokenFile::Missing, warned);
        if let Some(path) = &self.file {
            tried.push(format!("file {} ({})", path.display(), state(&file)));
        }
        let environment = self.variable.as_deref().and_then(variable);
        if let Some(name) = &self.variable {
            let state = if environment.is_some() { "set" } else { "not set" };
            tried.push(format!("environment variable {name} ({state})"));
        }
        TokenSources { value: self.value.clone(), file, environment, metadata: None, tried }
    }
}

fn state(file: &TokenFile) -> &'static str {
    match file {
        TokenFile::Missing => "missing",
        TokenFile::Unreadable(_) => "unreadable",
        TokenFile::Text(text) if text.expose().is_empty() => "empty",
        TokenFile::Text(_) => "read",
    }
}

/// A variable that is not UTF-8 is kept in a form that the rule for tokens refuses.
fn variable(name: &str) -> Option<Secret<String>> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return None;
    }
    let value = std::env::var_os(name)?;
    (!value.is_empty()).then(|| Secret::new(value.to_string_lossy().into_owned()))
}

/// Reads a token file.
pub(crate) fn read(path: &Path) -> TokenFile {
    judged(path, text(path))
}

/// The same, and warns where others than its owner could have read it.
fn warned(path: &Path) -> TokenFile {
    let found = text(path);
    if let Ok((_, found)) = &found
        && is_open(found.mode())
    {
        let path = path.display();
        warn!("the bootstrap token file {path} can be read or changed by others: chmod 600 {path}");
    }
    judged(path, found)
}

/// Whether a mode grants anything to a group or to everybody.
const fn is_open(mode: u32) -> bool {
    mode & 0o077 != 0
}

fn judged(path: &Path, found: io::Result<(Secret<String>, Metadata)>) -> TokenFile {
    match found {
        Ok((text, _)) => TokenFile::Text(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => TokenFile::Missing,
        Err(error) => TokenFile::Unreadable(format!("{}: {error}", path.display())),
    }
}

/// Opens a regular file that the operator names, behind links too; who writes to a pipe in its place is not waited for.
pub(crate) fn regular(path: &Path) -> io::Result<(File, Metadata)> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok((file, found)),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Reads the text of a token file, trimmed, with what the file system tells of it.
///
/// Follows symbolic links, as mounted secrets are, but reads regular files only and waits for no writer.
pub(crate) fn text(path: &Path) -> io::Result<(Secret<String>, Metadata)> {
    let (file, found) = regular(path)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_MAX + 1));
    File::take(file, FILE_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > FILE_MAX {
        return Err(io::Error::other("it is larger than 4096 bytes and cannot be a token"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| io::Error::other("it is not text"))?;
    Ok((Secret::new(text.trim().to_owned()), found))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use meshward_core::{agent::TokenFile, secret::Secret};

    use super::TokenPlaces;

    fn from_file(path: &Path) -> TokenFile {
        TokenPlaces { file: Some(path.into()), ..TokenPlaces::default() }.look().file
    }

    #[test]
    fn a_token_file_is_trimmed_and_may_be_a_symlink() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        fs::write(&path, "\n psb_token \r\n").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(from_file(&link), TokenFile::Text(Secret::new("psb_token".into())));
    }

    #[test]
    fn each_file_that_is_no_token_is_told_with_its_path_and_without_its_content() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        assert_eq!(from_file(&path), TokenFile::Missing);
        assert!(matches!(from_file(place.path()), TokenFile::Unreadable(_)));
        for content in [vec![0xff; 9], vec![b'x'; 4097]] {
            fs::write(&path, content).unwrap();
            let TokenFile::Unreadable(told) = from_file(&path) else { panic!("read") };
            assert!(
                told.starts_with(&path.display().to_string()) && !told.contains("xxx"),
                "{told}"
            );
        }
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(matches!(from_file(&path), TokenFile::Unreadable(_)));
    }

    #[test]
    fn every_place_that_was_tried_is_named_and_no_value_is_shown() {
        let places = TokenPlaces {
            value: Some(Secret::new("canary".into())),
            file: Some("/nonexistent/token".into()),
            // Set wherever a test runs.
            variable: Some("PATH".into()),
        };
        let found = places.look();
        let expected = [
            "registration.token_value",
            "file /nonexistent/token (missing)",
            "environment variable PATH (set)",
        ];
        assert_eq!(found.tried, expected);
        assert_eq!(found.environment.unwrap().expose(), &std::env::var("PATH").unwrap());
        assert!(!format!("{places:?}").contains("canary"));
        let none =
            TokenPlaces { variable: Some("MESHWARD_NOT_SET".into()), ..TokenPlaces::default() };
        let found = none.look();
        assert_eq!(found.tried[0], "registration.token_value (not set)");
        assert_eq!(found.tried[1], "environment variable MESHWARD_NOT_SET (not set)");
        assert!(found.environment.is_none());
    }
}
