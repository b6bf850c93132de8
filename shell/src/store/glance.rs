//! The identity files as they are, read beside the agent that uses them: nothing is locked, cleared or mended.

use std::{io, path::Path};

use meshward_core::wire::identity::Files;

use super::{
    directory::{Directory, normal},
    vault::{IDENTITY, NODE_SECRET_KEY, PRIVATE_KEY, SIGNING_PUBLIC_KEY, Vault},
};

/// The files of an identity.
pub(crate) const IDENTITY_FILES: [&str; 4] =
    [IDENTITY, PRIVATE_KEY, NODE_SECRET_KEY, SIGNING_PUBLIC_KEY];

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
