//! The identity files as they are, read beside the agent that uses them: nothing is locked, cleared or mended.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

use meshward_core::wire::identity::Files;
use tracing::warn;

use super::{
    directory::{Directory, normal},
    vault::{IDENTITY, NODE_SECRET_KEY, PRIVATE_KEY, SIGNING_PUBLIC_KEY, Vault},
};

/// The files of an identity.
pub(crate) const IDENTITY_FILES: [&str; 4] =
    [IDENTITY, PRIVATE_KEY, NODE_SECRET_KEY, SIGNING_PUBLIC_KEY];

/// Warns of identity files that others could read, were it not for their folder.
pub(super) fn warn_of_open(data_dir: &Path) {
    for path in IDENTITY_FILES.map(|name| data_dir.join(name)) {
        let open = |found: &fs::Metadata| found.is_file() && found.mode() & 0o077 != 0;
        if fs::symlink_metadata(&path).is_ok_and(|found| open(&found)) {
            let path = path.display();
            warn!("{path} is open to others than its user but for its folder: chmod 600 {path}");
        }
    }
}

/// Reads the identity files; the text tells why they cannot be.
pub(crate) fn look(data_dir: &Path) -> Result<Files, String> {
    let path = normal(data_dir);
    let directory = match Directory::glance(&path) {
        Ok(directory) => directory,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Files::default()),
        Err(error) => return Err(format!("{} cannot be opened: {error}", path.display())),
    };
    let memory = Vault::glance(directory).remember();
    memory.map(|memory| memory.files).map_err(|fault| {
        format!("{}: it cannot be read: {}", path.join(&fault.name).display(), fault.source)
    })
}
