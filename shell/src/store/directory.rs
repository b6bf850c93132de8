//! The data directory itself: opened once, checked, locked, and reached by its descriptor ever after.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat},
    io::{Errno, retry_on_intr},
};
use tracing::warn;
use zeroize::Zeroizing;

use super::{
    StoreError,
    disk::{Disk, FILE_MAX, Found, Names},
};

/// The file that the running agent holds locked; it names the process.
const LOCK: &str = "lock";

/// What leads out of the directory into the one it stands in.
const ABOVE: &str = "../";

/// Enough for the longest process id.
const PID_LEN_MAX: u64 = 16;

const ALWAYS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// The data directory, locked against a second agent for as long as this lives.
#[derive(Debug)]
pub(super) struct Directory {
    fd: OwnedFd,
    name: Option<String>,
    mode: Mode,
    /// Shared with the folders below.
    lock: Arc<File>,
}

impl Directory {
    /// Opens the directory, which is created if missing, and locks it.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        create(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | ALWAYS;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
            .map_err(|error| refused(path, error.into()))?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| refused(path, error.into()))?;
        check(path, &stat)?;
        let lock = lock(path, &fd)?;
        let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let mode = Mode::from_raw_mode(stat.st_mode);
        Ok(Self { fd, name, mode, lock: Arc::new(lock) })
    }

    /// Opens a directory that is there, to look at it beside the agent that uses it: it is neither locked nor checked.
    pub(super) fn glance(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | ALWAYS;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        let lock = Arc::new(File::from(fd.try_clone()?));
        Ok(Self { fd, name: None, mode: Mode::empty(), lock })
    }

    /// Opens a folder of this directory, which is created if missing.
    pub(super) fn below(&mut self, path: &Path, name: &str) -> Result<Self, StoreError> {
        let disk = |doing| {
            move |source: io::Error| StoreError::Disk { doing, path: path.to_owned(), source }
        };
        match self.make_folder(name) {
            Ok(()) => self.sync().map_err(disk("create"))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(disk("create")(error)),
        }
        let fd = match self.open_at(name, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(error)
                if matches!(Errno::from_io_error(&error), Some(Errno::NOTDIR | Errno::LOOP)) =>
            {
                return Err(StoreError::NoFolder(path.to_owned()));
            }
            opened => opened.map_err(disk("open"))?,
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| disk("look at")(error.into()))?;
        check(path, &stat)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        Ok(Self { fd, name: Some(name.to_owned()), mode, lock: Arc::clone(&self.lock) })
    }

    fn open_at(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags | ALWAYS, mode))?)
    }
}

/// The path without a trailing slash, which would have a symlink followed.
pub(super) fn normal(path: &Path) -> PathBuf {
    path.components().collect()
}

fn create(path: &Path) -> Result<(), StoreError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let failed = |source| StoreError::Create { path: path.to_owned(), source };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(failed)?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made.map_err(failed)?,
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)
}

/// Says what stands where a directory should.
fn refused(path: &Path, source: io::Error) -> StoreError {
    match fs::symlink_metadata(path).map(|found| found.file_type()) {
        Ok(kind) if kind.is_symlink() => StoreError::Symlink(path.to_owned()),
        Ok(kind) if !kind.is_dir() => StoreError::NotADirectory(path.to_owned()),
        Ok(_) | Err(_) => StoreError::Open { path: path.to_owned(), source },
    }
}

fn check(path: &Path, stat: &Stat) -> Result<(), StoreError> {
    let ours = rustix::process::geteuid().as_raw();
    if stat.st_uid != ours {
        return Err(StoreError::Owner { path: path.to_owned(), owner: stat.st_uid, ours });
    }
    match stat.st_mode & 0o7777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(StoreError::Permissions { path: path.to_owned(), mode }),
    }
}

fn lock(path: &Path, directory: &OwnedFd) -> Result<File, StoreError> {
    let failed = |source: io::Error| StoreError::Lock { path: path.join(LOCK), source };
    let flags = OFlags::RDWR | OFlags::CREATE | ALWAYS;
    let fd = retry_on_intr(|| rustix::fs::openat(directory, LOCK, flags, Mode::RUSR | Mode::WUSR))
        .map_err(|error| failed(error.into()))?;
    let stat = rustix::fs::fstat(&fd).map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(failed(io::Error::other("it is not a regular file: remove it")));
    }
    let mut file = File::from(fd);
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(error) if error == Errno::WOULDBLOCK => {
            return Err(StoreError::InUse { path: path.to_owned(), process: holder(&file) });
        }
        Err(error) => return Err(failed(error.into())),
    }
    if let Err(error) = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())) {
        warn!("cannot write the process id into {}: {error}", path.join(LOCK).display());
    }
    Ok(file)
}

/// Which process holds the lock, as far as its file tells.
fn holder(file: &File) -> String {
    let mut text = String::new();
    let read = file.take(PID_LEN_MAX).read_to_string(&mut text);
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!("pid {pid}"),
        (_, _) => "pid unknown".to_owned(),
    }
}

impl Disk for Directory {
    type File = File;

    fn create(&mut self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let fd = self.open_at(name, flags)?;
        rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(fd))
    }

    fn reopen(&mut self, name: &str) -> io::Result<File> {
        Ok(File::from(self.open_at(name, OFlags::WRONLY)?))
    }

    fn write(&mut self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn cut(&mut self, file: &mut File, length: usize) -> io::Result<()> {
        file.set_len(length as u64)
    }

    fn sync_file(&mut self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::renameat(&self.fd, from, &self.fd, to))?)
    }

    fn unlink(&mut self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()))?)
    }

    fn read_within(&mut self, name: &str, most: usize) -> io::Result<Found> {
        let fd = match self.open_at(name, OFlags::RDONLY) {
            Ok(fd) => fd,
            Err(error) => {
                return match Errno::from_io_error(&error) {
                    Some(Errno::NOENT) => Ok(Found::Missing),
                    Some(Errno::LOOP) => Ok(Found::Foreign("a symbolic link")),
                    Some(Errno::NXIO) => Ok(Found::Foreign("a socket or a device")),
                    _ => Err(error),
                };
            }
        };
        let stat = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Found::Foreign("not a regular file"));
        }
        // Reserved beforehand, so that no copy of a secret is left behind by growing; a larger file is read no further
        // than it takes to tell, and where much may be read no more is reserved than there is.
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        let room = if most == FILE_MAX { most } else { size.min(most) };
        let mut bytes = Zeroizing::new(Vec::with_capacity(room + 1));
        File::from(fd).take(room as u64 + 1).read_to_end(&mut bytes)?;
        Ok(match bytes.len() > room {
            true if most == FILE_MAX => Found::Foreign("larger than 64 KiB"),
            true => Found::Foreign("larger than what is read of it"),
            false => Found::Bytes(bytes),
        })
    }

    fn names(&mut self) -> io::Result<Names> {
        let (mut names, mut foreign) = (Vec::new(), 0);
        for entry in Dir::read_from(&self.fd)? {
            match entry?.file_name().to_str() {
                Ok(name) => names.push(name.to_owned()),
                Err(_) => foreign += 1,
            }
        }
        Ok(Names { names, foreign })
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fsync(&self.fd))?)
    }

    fn beside(&self) -> Option<String> {
        self.name.as_ref().map(|name| format!("{ABOVE}{name}"))
    }

    fn make_folder(&mut self, folder: &str) -> io::Result<()> {
        retry_on_intr(|| rustix::fs::mkdirat(&self.fd, folder, self.mode & Mode::RWXU))?;
        if folder.starts_with(ABOVE) {
            self.sync_folder(ABOVE)?;
        }
        Ok(())
    }

    fn remove_folder(&mut self, folder: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.fd, folder, AtFlags::REMOVEDIR))?)
    }

    fn move_into(&mut self, name: &str, folder: &str) -> io::Result<()> {
        let folder = self.open_at(folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(retry_on_intr(|| rustix::fs::renameat(&self.fd, name, &folder, name))?)
    }

    fn sync_folder(&mut self, folder: &str) -> io::Result<()> {
        let folder = self.open_at(folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(retry_on_intr(|| rustix::fs::fsync(&folder))?)
    }
}
