//! The keys of a run: those of a key log, which a TLS library may still be writing, and those
//! embedded in captures.

mod ahead;
mod counts;

pub(crate) use ahead::FilesAhead;
use anyhow::{Context, Result};
use counts::Counts;
use model::{Warning, WarningKind, counted};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::files::open_regular;
use tls_keys::{Closed, KeyLog, KeyLogFault, Secrets, SessionSecrets};

/// The keys of a run. Missing secrets cause a read of lines appended to the key log, and one search
/// of the capture files to their ends.
#[derive(Debug, Default)]
pub struct RunKeys {
    path: Option<PathBuf>,
    /// The open key log. `None` for a pipe, which can be read only once. Stays readable if the file
    /// is renamed or this process drops its rights.
    grows: Option<File>,
    known: Mutex<Known>,
    counts: Counts,
    ahead: FilesAhead,
}

#[derive(Debug, Default)]
struct Known {
    log: KeyLog,
    skipped: u64,
    first_skipped: Option<(u64, KeyLogFault)>,
    /// Offset of the processed part: up to the first incomplete line, or into one that is too long.
    offset: u64,
    lines: u64,
    is_within_line: bool,
    in_captures: bool,
    is_full: bool,
    early: u64,
    missed: Missed,
}

#[derive(Default)]
struct Missed(HashSet<[u8; 32]>);

impl std::fmt::Debug for Missed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} sessions", self.0.len())
    }
}

impl RunKeys {
    /// Reads a key log if one is given.
    ///
    /// # Errors
    /// As [`RunKeys::open`].
    pub fn open_given(path: Option<&Path>) -> Result<Arc<Self>> {
        path.map_or_else(|| Ok(Arc::default()), Self::open)
    }

    /// Reads the key log `path`.
    ///
    /// # Errors
    /// If it cannot be read, or has lines but no valid one. The error has the number of the first
    /// line, without its content.
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        let name = path.display();
        let file = open_regular(path).with_context(|| format!("could not open the key log {name}"))?;
        let kind = file
            .metadata()
            .with_context(|| format!("could not look at the key log {name}"))?
            .file_type();
        let mut known = Known::default();
        let held = match kind.is_file() {
            true => Some(
                file.try_clone()
                    .with_context(|| format!("could not open the key log {name}"))?,
            ),
            false => None,
        };
        known.read_file(file, Some(&name.to_string()))?;
        Ok(Arc::new(Self {
            path: Some(path.to_owned()),
            grows: held,
            known: Mutex::new(known),
            counts: Counts::default(),
            ahead: FilesAhead::default(),
        }))
    }

    pub fn is_given(&self) -> bool {
        self.path.is_some()
    }

    pub(crate) fn search_in(&self, files: FilesAhead) {
        self.ahead.replace(files);
    }

    /// Adds a line of an embedded key log. Returns whether it is valid.
    pub(crate) fn line(&self, line: &[u8]) -> bool {
        let mut known = self.known();
        let taken = known.log.line_within(line, MAX_SESSIONS);
        known.in_captures |= taken == Ok(true);
        known.is_full |= taken == Err(KeyLogFault::Room);
        matches!(taken, Ok(_) | Err(KeyLogFault::Room))
    }

    pub fn warnings(&self) -> Vec<Warning> {
        let known = self.known();
        let of_file = self.path.as_ref().map(|path| path.display().to_string());
        let place = match (of_file, known.in_captures) {
            (Some(file), true) => format!("{file} and the captures"),
            (Some(file), false) => file,
            (None, true) => "the captures".to_owned(),
            (None, false) => return Vec::new(),
        };
        let late = known.late();
        let mut warnings = self.counts.warnings(&place, &known.log, late);
        let late = (late > 0).then(|| {
            format!(
                "{} begun before the captures' keys arrived in the pipe, and are not opened. Name the file instead: its keys are known \
                 from the beginning",
                counted(late, "TLS connection had", "TLS connections had")
            )
        });
        let full = known.is_full.then(|| {
            format!(
                "the captures hold keys of more than {MAX_SESSIONS} sessions: those of further ones are not used; read fewer files at once"
            )
        });
        let skipped = known.first_skipped.map(|(number, fault)| {
            format!(
                "{place} has {} that a key log does not have, skipped; the first is line {number}: {fault}; sessions whose keys are there stay closed",
                counted(known.skipped, "line", "lines")
            )
        });
        warnings.extend(
            [late, full, skipped]
                .into_iter()
                .flatten()
                .map(|text| Warning::new(WarningKind::KeysMissing, text)),
        );
        warnings
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Secrets for RunKeys {
    fn tls_begins(&self) -> bool {
        self.ahead.search(&|line| self.line(line));
        let mut known = self.known();
        let are_there = self.path.is_some() || known.log.sessions() > 0;
        known.early += u64::from(!are_there);
        are_there
    }

    fn find_secrets(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>> {
        let mut known = self.known();
        if let (Some(held), Some(path)) = (&self.grows, &self.path) {
            // A log that cannot be read counts as not written.
            known.read_appended(path, held).ok();
        }
        let secrets = known.log.find_secrets(client_random);
        match &secrets {
            Some(_) => {
                known.missed.0.remove(client_random);
            }
            None if known.missed.0.len() < MAX_MISSED_SESSIONS => {
                known.missed.0.insert(*client_random);
            }
            None => {}
        }
        secrets
    }

    fn greeted(&self) {
        self.counts.greeted();
    }

    fn opened(&self) {
        self.counts.opened();
    }

    fn unopened(&self, closed: Closed) {
        self.counts.unopened(closed);
    }

    fn opened_in_part(&self, closed: Closed) {
        self.counts.opened_in_part(closed);
    }

    fn damaged(&self) {
        self.counts.damaged();
    }
}

impl Known {
    /// TLS connections with keys that may have come too late: those that began before the first
    /// key, and those with a late key.
    fn late(&self) -> u64 {
        let came = self
            .missed
            .0
            .iter()
            .filter(|random| self.log.find_secrets(random).is_some());
        let early = if self.in_captures { self.early } else { 0 };
        early + came.count() as u64
    }

    fn read_appended(&mut self, path: &Path, held: &File) -> Result<()> {
        let mut file = open_regular(path).or_else(|_| held.try_clone())?;
        if file.metadata()?.len() > self.offset {
            file.seek(SeekFrom::Start(self.offset))?;
            self.read_file(file, None)?;
        }
        Ok(())
    }

    /// Reads the lines of `file` and counts invalid ones. With a `name` it is an error if no line
    /// is valid.
    fn read_file(&mut self, file: impl Read, name: Option<&str>) -> Result<()> {
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let mut has_one = false;
        loop {
            line.clear();
            let length = (&mut reader)
                .take(MAX_LINE_LEN)
                .read_until(b'\n', &mut line)
                .with_context(|| format!("could not read the key log {}", name.unwrap_or_default()))?;
            if length == 0 {
                break;
            }
            let is_whole = line.ends_with(b"\n");
            let is_long = !is_whole && length as u64 == MAX_LINE_LEN;
            if !self.is_within_line {
                // The last line may be half written.
                let is_cut = !is_whole && !is_long && (self.lines > 0 || name.is_none());
                has_one |= self.add(&line, is_cut) && is_about_keys(&line);
            }
            if let (Some((number, fault)), Some(name)) = (self.first_skipped, name)
                && !has_one
                && self.skipped >= MAX_WITHOUT_ONE
            {
                return Err(not_one(name, number, fault));
            }
            self.advance(length as u64, is_whole, is_long);
        }
        match (self.first_skipped, name) {
            (Some((number, fault)), Some(name)) if !has_one => Err(not_one(name, number, fault)),
            _ => Ok(()),
        }
    }

    fn add(&mut self, line: &[u8], is_cut: bool) -> bool {
        let result = self.log.line(line);
        if let Err(fault) = result
            && !is_cut
        {
            self.skipped += 1;
            self.first_skipped.get_or_insert((self.lines + 1, fault));
        }
        result.is_ok()
    }

    fn advance(&mut self, length: u64, is_whole: bool, is_long: bool) {
        if is_whole || is_long || self.is_within_line {
            self.offset += length;
        }
        self.lines += u64::from(is_whole);
        self.is_within_line = !is_whole && (is_long || self.is_within_line);
    }
}

fn is_about_keys(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.iter().any(u8::is_ascii_alphanumeric) && !line.starts_with(b"#")
}

fn not_one(name: &str, number: u64, fault: KeyLogFault) -> anyhow::Error {
    anyhow::anyhow!("{name} is no key log (as SSLKEYLOGFILE names one): line {number}: {fault}")
}

/// Invalid lines after which a file without a valid one is refused.
const MAX_WITHOUT_ONE: u64 = 1000;
/// They take about 130 MB.
const MAX_SESSIONS: usize = 1 << 18;
/// Remembered sessions without keys, to detect keys that come too late.
const MAX_MISSED_SESSIONS: usize = 1 << 16;
/// A line has a label, 32 bytes and at most 64 bytes in hexadecimal digits. Comments may be longer;
/// this much of them is buffered.
const MAX_LINE_LEN: u64 = 4096;

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
        let keys = RunKeys::open(file.path()).expect("it is a key log");
        assert!(keys.find_secrets(&[1; 32]).is_some());
        assert!(keys.find_secrets(&[2; 32]).is_none());
        write!(file, "{}", &cut[100..]).expect("it is written");
        assert!(keys.find_secrets(&[2; 32]).is_some());
        (0..3).for_each(|_| keys.greeted());
        (0..2).for_each(|_| keys.opened());
        keys.unopened(Closed::Cipher);
        keys.damaged();
        let [fit, damaged] = &keys.warnings()[..] else {
            panic!("two warnings");
        };
        assert!(
            fit.text
                .starts_with("2 of 3 TLS connections opened with the keys in ")
                && fit
                    .text
                    .contains("; counted as opaque: 1 with a cipher that is not opened"),
            "{}",
            fit.text
        );
        assert!(
            damaged.text.starts_with("1 TLS record is not authentic"),
            "{}",
            damaged.text
        );
    }

    #[test]
    fn a_connection_is_not_counted_as_opened_and_as_opaque() {
        let warning = |closed: Closed, ends: fn(&RunKeys, Closed)| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), line(1)).expect("it is written");
            let keys = RunKeys::open(file.path()).expect("it is a key log");
            keys.greeted();
            keys.opened();
            ends(&keys, closed);
            keys.warnings()[0].text.clone()
        };
        let text = warning(Closed::Damaged, |keys, closed| keys.opened_in_part(closed));
        assert!(
            text.starts_with("0 of 1 TLS connection opened with the keys in "),
            "{text}"
        );
        assert!(
            text.contains(", 1 more in part; counted as opaque: 1 that its keys"),
            "{text}"
        );
        // One of two: the beginning of the other one was not seen.
        let text = warning(Closed::Joined, |keys, closed| keys.unopened(closed));
        assert!(
            text.starts_with("1 of 2 TLS connections opened with the keys in "),
            "{text}"
        );
        assert!(!text.contains("in part"), "{text}");
    }

    #[test]
    fn a_log_without_secrets_that_open_anything_is_said_to_be_one() {
        let of = |text: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), text).expect("it is written");
            let keys = RunKeys::open(file.path()).expect("it is a key log");
            keys.greeted();
            keys.unopened(Closed::Secret);
            keys.warnings()[0].text.clone()
        };
        let by_identifier = format!(
            "RSA Session-ID:{} Master-Key:{}\n",
            "0a".repeat(32),
            "0b".repeat(48)
        );
        assert!(
            of(&by_identifier).contains("has only 1 line that names a session"),
            "{}",
            of(&by_identifier)
        );
        assert!(of("").contains("has no secret of a session"), "{}", of(""));
        assert!(of(&line(1)).contains("was it written by another run?"));
        let long = format!("# {}\n{}", "comment ".repeat(4000), line(1));
        assert!(
            of(&long).contains("none of the secrets of 1 session"),
            "{}",
            of(&long)
        );
    }

    #[test]
    fn a_file_that_is_no_key_log_is_refused_with_its_line_and_without_its_content() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        write!(file, "# comment\nhunter2\nhunter3\n").expect("it is written");
        let error = format!("{:#}", RunKeys::open(file.path()).expect_err("it is refused"));
        assert!(error.contains("line 2") && !error.contains("hunter"), "{error}");
    }

    #[test]
    fn a_mangled_line_is_skipped_and_said_without_its_content() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        write!(file, "# comment\n{}hunter2\n{}", line(1), line(2)).expect("it is written");
        let keys = RunKeys::open(file.path()).expect("a key log");
        assert_eq!(keys.known().log.sessions(), 2);
        let said: Vec<String> = keys.warnings().into_iter().map(|warning| warning.text).collect();
        let skipped = said
            .iter()
            .find(|text| text.contains("has 1 line that a key log does not have"));
        let skipped = skipped.expect("a warning");
        assert!(
            skipped.contains("line 3") && !skipped.contains("hunter2"),
            "{skipped}"
        );
    }

    fn skipped(keys: &RunKeys) -> Option<String> {
        let said = keys.warnings().into_iter().map(|warning| warning.text);
        said.into_iter()
            .find(|text| text.contains("that a key log does not have"))
    }

    #[test]
    fn a_line_without_end_is_one_line() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mangled = "CLIENT_RANDOM 00 ".repeat(200_000);
        write!(file, "{}{mangled}\n{}", line(1), line(2)).expect("it is written");
        let keys = RunKeys::open(file.path()).expect("a key log");
        assert_eq!(keys.known().log.sessions(), 2);
        let said = skipped(&keys).expect("a warning");
        assert!(
            said.contains(" has 1 line ") && said.contains("is line 2:"),
            "{said}"
        );
    }

    #[test]
    fn mangled_lines_that_are_appended_are_counted_once() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        writeln!(file, "{}# a comment", line(1)).expect("it is written");
        let keys = RunKeys::open(file.path()).expect("a key log");
        for part in [
            "hunt",
            "er2\n",
            &"hunter3 ".repeat(1_000),
            &"hunter4 ".repeat(1_000),
            "\n",
            &line(2),
        ] {
            write!(file, "{part}").expect("it is written");
            assert!(keys.find_secrets(&[3; 32]).is_none());
        }
        assert!(keys.find_secrets(&[2; 32]).is_some());
        let said = skipped(&keys).expect("a warning");
        assert!(
            said.contains(" has 2 lines ") && said.contains("is line 3:") && !said.contains("hunter"),
            "{said}"
        );
    }
}
