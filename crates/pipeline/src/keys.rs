//! The key log of a run: a file that a TLS library wrote, and may still be writing.

use anyhow::{Context, Result, bail};
use model::{Warning, counted};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tls_keys::{KeyLog, KeyLogFault, Secrets, SessionSecrets};

/// A key log. Where a session's secrets are not in it yet, what was appended to the file since is read.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    /// A pipe can be read only once.
    grows: bool,
    known: Mutex<Known>,
    /// TLS connections whose beginning was seen, and those that were opened.
    asked: AtomicU64,
    found: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    log: KeyLog,
    /// Where in the file the first line begins that was not whole.
    offset: u64,
}

impl KeyFile {
    /// Reads `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is no key log: then with the number of the line, and nothing of its content.
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("could not open the key log {name}"))?;
        let kind = file
            .metadata()
            .with_context(|| format!("could not look at the key log {name}"))?
            .file_type();
        if kind.is_dir() {
            bail!("{name} is a directory: name a key log in it (SSLKEYLOGFILE)");
        }
        let mut known = Known::default();
        known.read(file, Some(&name.to_string()))?;
        Ok(Arc::new(Self {
            path: path.to_owned(),
            grows: kind.is_file(),
            known: Mutex::new(known),
            asked: AtomicU64::new(0),
            found: AtomicU64::new(0),
        }))
    }

    /// What the log did not have for the connections of a run that has ended.
    pub fn warnings(&self) -> Vec<Warning> {
        let (asked, found) = (
            self.asked.load(Ordering::Relaxed),
            self.found.load(Ordering::Relaxed),
        );
        let sessions = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .log
            .sessions() as u64;
        let (name, sessions) = (self.path.display(), counted(sessions, "session", "sessions"));
        let text = match (asked, found) {
            (0, _) => format!(
                "no TLS connection is there whose beginning was seen: the secrets of {sessions} in {name} open nothing"
            ),
            (_, 0) => format!(
                "none of the secrets of {sessions} in {name} fits a TLS connection that was seen: was it written by another run?"
            ),
            (asked, found) if found < asked => format!(
                "keys of {found} of {} are in {name}; the others are counted as opaque",
                counted(asked, "TLS connection", "TLS connections")
            ),
            _ => return Vec::new(),
        };
        vec![Warning { text }]
    }
}

impl Secrets for KeyFile {
    fn of(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if self.grows {
            // What cannot be read any more is as what was not written.
            known.read_appended(&self.path).ok();
        }
        known.log.of(client_random)
    }

    fn greeted(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    fn opened(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }
}

impl Known {
    fn read_appended(&mut self, path: &Path) -> Result<()> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() > self.offset {
            file.seek(SeekFrom::Start(self.offset))?;
            self.read(file, None)?;
        }
        Ok(())
    }

    /// Takes lines to the end of `file`. A `name` makes a line that is none of a key log an error.
    fn read(&mut self, file: impl Read, name: Option<&str>) -> Result<()> {
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let length = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line);
            let length =
                length.with_context(|| format!("could not read the key log {}", name.unwrap_or_default()))?;
            if length == 0 {
                break;
            }
            let is_whole = line.ends_with(b"\n");
            let result = self.log.line(&line);
            // The last line may be half written.
            let is_cut = !is_whole && number > 1 && (length as u64) < LONGEST_LINE;
            if let (Err(fault), Some(name)) = (result, name)
                && !is_cut
            {
                return Err(not_one(name, number, fault));
            }
            if is_whole {
                self.offset += length as u64;
            }
        }
        Ok(())
    }
}

fn not_one(name: &str, number: u64, fault: KeyLogFault) -> anyhow::Error {
    anyhow::anyhow!("{name} is no key log (as SSLKEYLOGFILE names one): line {number}: {fault}")
}

/// A line has a label, 32 bytes and at most 64 bytes in hexadecimal digits; comments may be longer.
const LONGEST_LINE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn line(random: u8) -> String {
        let random = format!("{random:02x}").repeat(32);
        format!("CLIENT_RANDOM {random} {}\n", "0f".repeat(48))
    }

    #[test]
    fn what_is_appended_later_is_found_and_a_line_that_is_half_written_is_waited_for() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let (whole, cut) = (line(1), line(2));
        write!(file, "{whole}{}", &cut[..100]).expect("it is written");
        let keys = KeyFile::open(file.path()).expect("it is a key log");
        assert!(keys.of(&[1; 32]).is_some());
        assert!(keys.of(&[2; 32]).is_none());
        write!(file, "{}", &cut[100..]).expect("it is written");
        assert!(keys.of(&[2; 32]).is_some());
        (0..3).for_each(|_| keys.greeted());
        (0..2).for_each(|_| keys.opened());
        let warning = &keys.warnings()[0].text;
        assert!(
            warning.starts_with("keys of 2 of 3 TLS connections are in "),
            "{warning}"
        );
    }

    #[test]
    fn a_file_that_is_no_key_log_is_refused_with_its_line_and_without_its_content() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        write!(file, "# comment\n{}hunter2\n{}", line(1), line(2)).expect("it is written");
        let error = format!("{:#}", KeyFile::open(file.path()).expect_err("it is refused"));
        assert!(error.contains("line 3") && !error.contains("hunter2"), "{error}");
    }
}
