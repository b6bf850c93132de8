//! The room that an identity will need, taken on the disk before a token is sent that only it can answer for.
//!
//! Each file stands there under its unfinished name, as large as it may become. What is accepted is written into it,
//! which takes neither a block nor an inode more, and then it is given its name.

use std::io;

use meshward_core::wire::identity::{Identity, RECORD_MAX};

use super::{
    disk::{Disk, Found},
    vault::{
        Context, Fault, IDENTITY, NODE_SECRET_KEY, SIGNING_PUBLIC_KEY, UNFINISHED, Vault,
        write_anew,
    },
};

/// More than 32 bytes in base64 need.
const KEY_ROOM: usize = 64;

/// The files that are written when a registration was accepted, with the room that each may need.
const ROOMS: [(&str, usize); 3] =
    [(NODE_SECRET_KEY, KEY_ROOM), (SIGNING_PUBLIC_KEY, KEY_ROOM), (IDENTITY, RECORD_MAX)];

fn unfinished(name: &str) -> String {
    format!("{UNFINISHED}{name}")
}

impl<D: Disk> Vault<D> {
    /// Takes the room of all files, or of none.
    pub(super) fn take_room(&mut self) -> Result<(), Fault> {
        self.has_room = true;
        for (name, size) in ROOMS {
            if let Err(fault) = write_anew(&mut self.disk, &unfinished(name), &vec![0; size]) {
                self.leave_room();
                return Err(Fault { doing: "make room for", name: name.to_owned(), ..fault });
            }
        }
        Ok(())
    }

    /// Gives up what was taken and not used; what cannot be removed goes with the next start.
    pub(super) fn leave_room(&mut self) {
        if std::mem::take(&mut self.has_room) {
            for (name, _) in ROOMS {
                drop(self.disk.unlink(&unfinished(name)));
            }
        }
    }

    /// Writes the secret and the signing key, then the record that says they are complete. Done again after a failure,
    /// it goes on where it was, so that it never needs more room than was taken.
    pub(super) fn persist(&mut self, identity: &Identity) -> Result<(), Fault> {
        self.fill(NODE_SECRET_KEY, identity.key.to_text().expose().as_bytes())?;
        self.fill(SIGNING_PUBLIC_KEY, identity.file.signing_public_key.as_bytes())?;
        self.disk.sync().doing("sync", ".")?;
        self.fill(IDENTITY, &identity.file.encode())?;
        self.disk.sync().doing("sync", ".")?;
        self.has_room = false;
        self.settle()
    }

    /// Puts content under a name by way of the room for it; its name is durable with the next `sync`.
    fn fill(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let room = unfinished(name);
        let mut file = match self.disk.reopen(&room) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.fill_anew(name, bytes);
            }
            opened => opened.doing("write", name)?,
        };
        self.disk.write(&mut file, bytes).doing("write", name)?;
        self.disk.cut(&mut file, bytes.len()).doing("write", name)?;
        self.disk.sync_file(&mut file).doing("write", name)?;
        self.disk.rename(&room, name).doing("write", name)
    }

    /// Where the room has been given its name already, what was written into it stands there.
    fn fill_anew(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        match self.disk.read(name).doing("read", name)? {
            Found::Bytes(found) if *found == bytes => Ok(()),
            Found::Bytes(_) | Found::Foreign(_) | Found::Missing => self.put(name, bytes),
        }
    }
}
