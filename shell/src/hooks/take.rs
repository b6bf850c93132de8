//! A hook is taken to be run: read once, by one descriptor, and held against what was discovered.

use std::{ffi::OsStr, io::Read as _};

use meshward_core::{
    agent::hooks::{HOOK_MAX, Refused, is_legal, trust},
    wire::grammar::Checksum,
};
use sha2::{Digest as _, Sha256};

use super::{
    HooksDir,
    place::{self, Stop},
    watch::Watching,
};

/// The bytes of a hook, which have this digest. They are what is to be run: the file may be another by now.
///
/// # Errors
///
/// The one that the report of the run tells.
pub fn take(directory: &HooksDir, name: &str, pin: Checksum) -> Result<Vec<u8>, Refused> {
    if !is_legal(name) {
        return Err(Refused::Name(name.to_owned()));
    }
    let unverified = |why: String| Refused::Unverified(format!("{name}: {why}"));
    let stopped = |stop| match stop {
        Stop::Absent => Refused::Missing(name.to_owned()),
        Stop::Distrusted { path, why } => unverified(format!("{}: {why}", path.to_string_lossy())),
        Stop::Failed { path, error } => unverified(format!("{}: {error}", path.to_string_lossy())),
    };
    let mut nothing = Watching::nothing();
    let folder = place::enter(directory.path(), &mut nothing).map_err(stopped)?;
    let (file, held) =
        place::open(&folder, OsStr::new(name), |_| true, &mut nothing).map_err(stopped)?;
    trust::program(&held).map_err(|why| unverified(why.to_string()))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(HOOK_MAX).unwrap_or(u64::MAX);
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| unverified(error.to_string()))?;
    if bytes.len() > HOOK_MAX {
        return Err(unverified(format!("it is longer than {HOOK_MAX} bytes")));
    }
    let found = Checksum::from_bytes(Sha256::digest(&bytes).into());
    Refused::judge(name, found, pin)?;
    Ok(bytes)
}
