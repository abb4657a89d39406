//! Stores results in one file per point and baseline, so that an interrupted run can continue.

use super::addresses::Addresses;
use super::own_directory;
use anyhow::{Context, Result, bail};
use model::Timestamp;
use pipeline::private_file;
use report::outcome::LabRound;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::files::read_small_text;

#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    /// Held during a run.
    _lock: std::sync::Arc<File>,
}

/// Results of a point or baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPoint {
    /// In the order of measurement.
    pub rounds: Vec<LabRound>,
    /// Failed operations by error text.
    pub errors: Vec<(String, u64)>,
    /// Information needed to read a baseline's captures.
    pub captured: Captured,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Captured {
    /// Maps addresses to hosts.
    pub addresses: Addresses,
    /// Start and end of each run of the command, if runs are the operations.
    pub windows: Vec<(Timestamp, Timestamp)>,
}

impl Store {
    /// Opens `directory` or creates it; `fresh` deletes longwire's files in it.
    ///
    /// # Errors
    /// If it cannot be created or written, another run uses it, or files to delete are not
    /// longwire's.
    pub fn open(directory: &Path, fresh: bool) -> Result<Self> {
        let doing = || format!("could not make the lab's directory {}", directory.display());
        fs::create_dir_all(directory).with_context(doing)?;
        let lock = File::create(directory.join("lock")).with_context(doing)?;
        if lock.try_lock().is_err() {
            bail!(
                "another run of this lab is in progress in {}: wait for it, or name another --directory",
                directory.display()
            );
        }
        let store = Self {
            directory: directory.to_owned(),
            _lock: std::sync::Arc::new(lock),
        };
        for kept in [POINTS, BASELINES] {
            let kept = store.directory.join(kept);
            if fresh && fs::symlink_metadata(&kept).is_ok() {
                own_directory::remove(&kept)?;
            }
            own_directory::make(&kept).with_context(doing)?;
        }
        Ok(store)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// `None` if missing or unreadable.
    pub fn point(&self, identity: &str) -> Option<MeasuredPoint> {
        load(&self.point_file(identity), identity)
    }

    pub fn keep_point(&self, identity: &str, kept: &MeasuredPoint) -> Result<()> {
        save(&self.point_file(identity), identity, kept)
    }

    /// Requires its captures as well.
    pub fn baseline(&self, identity: &str, links: usize) -> Option<MeasuredPoint> {
        let captures = self.captures(identity, links);
        captures.iter().all(|file| file.exists()).then_some(())?;
        load(&self.baseline_directory(identity).join(MEASURED), identity)
    }

    pub fn keep_baseline(&self, identity: &str, kept: &MeasuredPoint) -> Result<()> {
        save(&self.baseline_directory(identity).join(MEASURED), identity, kept)
    }

    /// One path per link.
    pub fn captures(&self, identity: &str, links: usize) -> Vec<PathBuf> {
        let directory = self.baseline_directory(identity);
        (0..links)
            .map(|link| directory.join(format!("link-{}.pcap", link + 1)))
            .collect()
    }

    /// For captures that are read at once and removed by [`own_directory::remove`].
    ///
    /// # Errors
    /// If it cannot be created, or a foreign file is in its place.
    pub fn scratch(&self) -> Result<PathBuf> {
        let scratch = self.directory.join(SCRATCH);
        if fs::symlink_metadata(&scratch).is_ok() {
            own_directory::remove(&scratch)?;
        }
        own_directory::make(&scratch).with_context(|| format!("could not make {}", scratch.display()))?;
        Ok(scratch)
    }

    pub fn prepare_baseline(&self, identity: &str) -> Result<()> {
        let directory = self.baseline_directory(identity);
        fs::create_dir_all(&directory).with_context(|| format!("could not make {}", directory.display()))
    }

    fn point_file(&self, identity: &str) -> PathBuf {
        self.directory
            .join(POINTS)
            .join(format!("{}.json", key(identity)))
    }

    fn baseline_directory(&self, identity: &str) -> PathBuf {
        self.directory.join(BASELINES).join(key(identity))
    }
}

const POINTS: &str = "points";
const BASELINES: &str = "baselines";
const SCRATCH: &str = "point";
const MEASURED: &str = "measured.json";
const MAX_STORED_BYTES: u64 = 256 * 1024 * 1024;

/// File name for an identity, its 64-bit FNV-1a hash.
fn key(identity: &str) -> String {
    let hash = identity.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[derive(Serialize, Deserialize)]
struct Kept<P> {
    version: String,
    /// A second hash, besides the file name. The identity itself is not stored, as statements, URLs
    /// and commands may contain secrets.
    identity: String,
    point: P,
}

/// `None` if the file is missing, truncated, or of another version or point, so that the point is
/// measured again.
fn load(path: &Path, identity: &str) -> Option<MeasuredPoint> {
    let text = read_small_text(path, MAX_STORED_BYTES).ok()?;
    let kept: Kept<MeasuredPoint> = serde_json::from_str(&text).ok()?;
    let same = kept.version == env!("CARGO_PKG_VERSION") && kept.identity == second_key(identity);
    same.then_some(kept.point)
}

/// Writes a temporary file and renames it, so that a file is complete or missing.
fn save(path: &Path, identity: &str, kept: &MeasuredPoint) -> Result<()> {
    let stored = Kept {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        identity: second_key(identity),
        point: kept,
    };
    let text = serde_json::to_string_pretty(&stored).context("could not put a point into JSON")?;
    let beside = path.with_extension("partial");
    let write = || {
        let mut file = private_file::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().with_context(|| format!("could not write {}", path.display()))
}

/// Distinguishes points with equal file names.
fn second_key(identity: &str) -> String {
    key(&identity.chars().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ByteCount, Distribution, DistributionBuilder, LinkOutcome, MeasuredDurations, PerDirection};
    use report::outcome::LabProcessor;
    use std::net::IpAddr;
    use std::time::Duration;

    fn kept() -> MeasuredPoint {
        let duration = Duration::from_millis(12);
        let spread = Distribution {
            count: 40,
            min: Some(Duration::from_millis(10)),
            max: Some(Duration::from_millis(20)),
            mean: Some(duration),
            p50: Some(duration),
            ..Distribution::default()
        };
        let measured = MeasuredDurations {
            operations: 40,
            duration,
            spread,
            per_second: 83.25,
            errors: 1,
        };
        let mut durations = DistributionBuilder::new();
        durations.add(Duration::from_millis(12));
        let link = LinkOutcome {
            name: "network".to_owned(),
            asked: "rtt=10ms".to_owned(),
            rtt: Duration::from_millis(10),
            rtt_error_p50_ns: Some(-3),
            floor: Some(Duration::from_micros(80)),
            ..LinkOutcome::default()
        };
        let used = LabProcessor {
            service: "database".to_owned(),
            host: "far".to_owned(),
            time: Duration::from_millis(30),
        };
        let mut addresses = Addresses::default();
        addresses.add(IpAddr::from([10, 0, 0, 1]), "web");
        MeasuredPoint {
            rounds: vec![LabRound {
                measured,
                durations,
                elapsed: Duration::from_millis(480),
                payload: PerDirection::new(4_000, 2_000_000).map(ByteCount::from_bytes),
                client_processor: Duration::from_millis(9),
                processors: vec![used],
                links: vec![link],
            }],
            errors: vec![("server: closed".to_owned(), 1)],
            captured: Captured {
                addresses,
                windows: vec![(
                    Timestamp::from_nanos(5),
                    Timestamp::from_nanos(1_790_000_000_000_000_000),
                )],
            },
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path(), false).expect("a store");
        store.keep_point("one", &kept()).expect("kept");
        assert_eq!(store.point("one"), Some(kept()));
        assert_eq!(store.point("another"), None);
        drop(store);
        let store = Store::open(directory.path(), true).expect("a store");
        assert_eq!(store.point("one"), None, "a fresh start forgets");
    }

    #[test]
    fn a_fresh_start_removes_nothing_of_somebody_else_s() {
        let directory = tempfile::tempdir().expect("a directory");
        let thesis = directory.path().join(POINTS).join("thesis");
        fs::create_dir(directory.path().join(POINTS)).expect("it can be made");
        fs::write(&thesis, "").expect("it can be written");
        drop(Store::open(directory.path(), false).expect("a store"));
        let error = Store::open(directory.path(), true).expect_err("it is not longwire's");
        assert!(error.to_string().contains("longwire did not make it"), "{error}");
        assert!(thesis.exists());
        fs::create_dir(directory.path().join(SCRATCH)).expect("it can be made");
        let store = Store::open(directory.path(), false).expect("a store");
        store.scratch().expect_err("it is not longwire's");
    }

    #[test]
    fn a_file_that_was_cut_short_is_no_point() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path(), false).expect("a store");
        store.keep_point("one", &kept()).expect("kept");
        let path = store.point_file("one");
        let text = fs::read_to_string(&path).expect("text");
        fs::write(&path, &text[..text.len() / 2]).expect("written");
        assert_eq!(store.point("one"), None);
    }

    #[test]
    fn two_runs_do_not_share_a_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path(), false).expect("a store");
        let error = Store::open(directory.path(), false).expect_err("it is taken");
        assert!(error.to_string().contains("another run of this lab"), "{error}");
        drop(store);
        Store::open(directory.path(), false).expect("free again");
    }

    #[test]
    fn a_baseline_without_its_captures_is_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path(), false).expect("a store");
        store.prepare_baseline("base").expect("made");
        store.keep_baseline("base", &kept()).expect("kept");
        assert_eq!(store.baseline("base", 1), None);
        fs::write(&store.captures("base", 1)[0], b"a capture").expect("written");
        assert_eq!(store.baseline("base", 1), Some(kept()));
    }
}
