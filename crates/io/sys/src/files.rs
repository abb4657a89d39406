//! Files named by the user: read with a size limit, written for the owner only.
//!
//! A path may name anything: a named pipe without a writer blocks forever, opening a device can
//! have effects, and a huge file fills memory. None of these is opened.

use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::fs::{File, FileType, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// For configuration, budget, estate, lab, credentials and key files.
pub const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

pub const MAX_SCRIPT_BYTES: u64 = 16 * 1024 * 1024;

/// A system's authorities have about 0.3 MiB.
pub const MAX_CERTIFICATES_BYTES: u64 = 16 * 1024 * 1024;

/// Opens a pipe only if this process already has it open (`/dev/fd/63` of `<(COMMAND)`).
///
/// # Errors
/// If it cannot be opened, or is a directory, named pipe, device or socket.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Checked before, because opening a device can have effects, and again after, because the file
    // may have been replaced.
    let about = std::fs::metadata(path)?;
    if about.file_type().is_fifo() && is_own_descriptor(path) {
        return File::open(path);
    }
    regular(&about)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// At most `most` bytes.
///
/// # Errors
/// Those of [`open_regular`], or a larger file.
pub fn read_small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_within(open_regular(path)?, most)
}

/// At most `most` bytes.
///
/// # Errors
/// Those of [`read_small`], or text that is not UTF-8.
pub fn read_small_text(path: &Path, most: u64) -> io::Result<String> {
    text(read_small(path, most)?)
}

/// At most `most` bytes.
///
/// # Errors
/// If it cannot be read, is larger or is not UTF-8.
pub fn read_text_within(source: impl Read, most: u64) -> io::Result<String> {
    text(read_within(source, most)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text (UTF-8)"))
}

fn read_within(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let what = format!(
            "it is larger than {} MiB, the most that is read of such a file",
            most >> 20
        );
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

fn regular(about: &Metadata) -> io::Result<()> {
    match kind(about.file_type()) {
        None => Ok(()),
        Some(kind) => {
            let what = format!("it is {kind}: name a file");
            Err(io::Error::new(ErrorKind::InvalidInput, what))
        }
    }
}

/// `None` for a regular file.
fn kind(of: FileType) -> Option<&'static str> {
    if of.is_file() {
        None
    } else if of.is_dir() {
        Some("a directory")
    } else if of.is_fifo() {
        Some("a pipe")
    } else if of.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    Emptied,
    Kept,
}

/// Makes a file readable for its owner only; others lose their rights to an existing one. Pipes and
/// devices are opened unchanged; a pipe's reader is awaited for [`READER_TIMEOUT`].
///
/// # Errors
/// If it cannot be opened; if no process reads a pipe; if it is another user's, a symbolic link to
/// a file, or has a hard link: writing would then change a file that the user did not name.
pub fn create_for_owner(path: &Path, contents: Contents) -> io::Result<File> {
    if is_own_descriptor(path) {
        return open_other(path);
    }
    let about = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => match create_new(path) {
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => std::fs::symlink_metadata(path)?,
            made => return made,
        },
        about => about?,
    };
    if about.is_symlink() {
        return match std::fs::metadata(path) {
            Ok(to) if !to.is_file() && !to.is_dir() => open_other(path),
            _ => Err(refused("it is a link: name the file itself, or remove the link")),
        };
    }
    if !about.is_file() {
        return open_other(path);
    }
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    tighten(&file)?;
    if contents == Contents::Emptied {
        file.set_len(0)?;
    }
    Ok(file)
}

/// A plain open would wait for a pipe's reader forever.
fn open_other(path: &Path) -> io::Result<File> {
    let began = Instant::now();
    loop {
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path);
        match opened {
            Ok(file) => {
                // Writes may wait for the reader.
                let flags = rustix::fs::fcntl_getfl(&file)?;
                rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) && is_pipe(path) => {
                if began.elapsed() >= READER_TIMEOUT {
                    return Err(refused("no process reads this pipe: start its reader first"));
                }
                std::thread::sleep(READER_POLL_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// For the reader of a pipe, which a shell starts at the same time.
const READER_TIMEOUT: Duration = Duration::from_secs(1);
const READER_POLL_INTERVAL: Duration = Duration::from_millis(10);

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(path)
}

/// Only if the file is this user's.
fn tighten(file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(refused("it changed while it was opened"));
    }
    if about.uid() != geteuid().as_raw() {
        return Err(refused(
            "it belongs to another user: name another file, or remove it",
        ));
    }
    if about.nlink() > 1 {
        return Err(refused(
            "it has a second name (a hard link): name another file, or remove it",
        ));
    }
    if about.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(about.mode() & 0o7777 & !OTHERS))?;
    }
    Ok(())
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, reason)
}

/// For example that of `/dev/stdout`.
fn is_own_descriptor(path: &Path) -> bool {
    let standard = ["/dev/stdin", "/dev/stdout", "/dev/stderr"].map(Path::new);
    let folders = ["/dev/fd", "/proc/self/fd"].map(Path::new);
    standard.contains(&path) || path.parent().is_some_and(|folder| folders.contains(&folder))
}

const OWNER_ONLY: u32 = 0o600;
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests;
