//! The data directory, the identity files and the places of a bootstrap token, looked at without a lock.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use meshward_core::{
    agent::TokenFile,
    doctor::{DataDir, Folder, Holder, Identities, KeptFile, Tokens, proc},
};
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};

use crate::{
    config::Config,
    store::{self, IDENTITY_FILES},
    tokens::TokenPlaces,
};

/// The longest file of the kernel that is read, in bytes.
const PROC_MAX: u64 = 4 << 20;

pub(super) fn data_dir(path: &Path) -> DataDir {
    let shown = path.display().to_string();
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = path.ancestors().skip(1).find(|above| above.exists());
            let creatable = above.is_some_and(|above| allows(above, Access::WRITE_OK));
            return DataDir::Absent { path: shown, creatable };
        }
        Err(error) => return DataDir::Closed { path: shown, cause: error.to_string() },
    };
    if !found.is_dir() {
        return DataDir::NoFolder { path: shown };
    }
    DataDir::There(Folder {
        path: shown,
        owner: found.uid(),
        ours: rustix::process::geteuid().as_raw(),
        mode: found.permissions().mode() & 0o7777,
        writable: allows(path, Access::WRITE_OK | Access::EXEC_OK),
        free: statvfs(path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        holder: holder(&path.join("lock")),
    })
}

fn holder(lock: &Path) -> Holder {
    let lock = match fs::symlink_metadata(lock) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Holder::Nobody,
        Err(_) => return Holder::Hidden,
    };
    let Some(locks) = proc_file("/proc/locks") else { return Holder::Hidden };
    proc::holder(&locks, lock.ino()).map_or(Holder::Nobody, Holder::Process)
}

fn allows(path: &Path, access: Access) -> bool {
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}

/// A file below `/proc`, where it can be read.
pub(super) fn proc_file(path: &str) -> Option<String> {
    use io::Read as _;
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(PROC_MAX).read_to_end(&mut bytes));
    read.ok().map(|_| String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn identities(config: &Config, foreign: bool) -> Identities {
    let data_dir = &config.node.data_dir;
    let mode = |path: &Path| {
        let found = fs::symlink_metadata(path).ok()?;
        Some(KeptFile {
            path: path.display().to_string(),
            mode: found.permissions().mode() & 0o7777,
        })
    };
    let kept = IDENTITY_FILES.iter().filter_map(|name| mode(&data_dir.join(name))).collect();
    Identities { files: store::look(data_dir), kept, tokens: tokens(config), foreign }
}

/// Whether a token is there; its text is dropped here.
fn tokens(config: &Config) -> Tokens {
    let registration = &config.registration;
    let places = TokenPlaces {
        value: registration.token_value.clone(),
        file: registration.token_file.clone(),
        variable: registration.token_env.clone(),
    };
    let found = places.look();
    let elsewhere = found.value.is_some() || found.environment.is_some();
    let mut tokens = Tokens {
        elsewhere,
        metadata: registration.use_metadata,
        tried: found.tried,
        ..Tokens::default()
    };
    match found.file {
        TokenFile::Missing => {}
        TokenFile::Unreadable(cause) => tokens.unreadable = Some(cause),
        TokenFile::Text(text) if text.expose().is_empty() => {}
        TokenFile::Text(_) => {
            tokens.file = registration.token_file.as_ref().and_then(|path| {
                let found = fs::metadata(path).ok()?;
                let mode = found.permissions().mode() & 0o7777;
                Some(KeptFile { path: path.display().to_string(), mode })
            });
        }
    }
    tokens
}
