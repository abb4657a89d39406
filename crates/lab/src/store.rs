//! Stores results in one file per point and baseline, so that an interrupted run can continue.

use super::observed::Addresses;
use super::own_directory;
use anyhow::{Context, Result, bail};
use model::{
    BitRate, ByteCount, Distribution, DistributionBuilder, LinkDirectionOutcome, LinkOutcome,
    MeasuredDurations, Timestamp,
};
use pipeline::private_file;
use report::outcome::{LabProcessor, LabRound};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::files::read_small_text;

#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    /// Held during a run.
    _lock: std::sync::Arc<File>,
}

/// Results of a point or baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// In the order of measurement.
    pub rounds: Vec<LabRound>,
    /// Failed operations by error text.
    pub errors: Vec<(String, u64)>,
    /// Information needed to read a baseline's captures.
    pub captured: Captured,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
struct StoredPoint {
    version: String,
    /// A second hash, besides the file name. The identity itself is not stored, as statements, URLs
    /// and commands may contain secrets.
    identity: String,
    rounds: Vec<StoredRound>,
    errors: Vec<(String, u64)>,
    addresses: Vec<(IpAddr, String)>,
    windows_ns: Vec<(u64, u64)>,
}

#[derive(Serialize, Deserialize)]
struct StoredRound {
    measured: StoredMeasured,
    /// Duration and number of occurrences.
    durations_ns: Vec<(u64, u64)>,
    elapsed_ns: u64,
    payload_bytes: [u64; 2],
    client_processor_ns: u64,
    processors: Vec<StoredProcessor>,
    links: Vec<StoredLink>,
}

#[derive(Serialize, Deserialize)]
struct StoredProcessor {
    service: String,
    host: String,
    time_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredMeasured {
    operations: u64,
    median_ns: u64,
    per_second: f64,
    errors: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    mean_ns: Option<u64>,
    p90_ns: Option<u64>,
    p95_ns: Option<u64>,
    p99_ns: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct StoredLink {
    name: String,
    asked: String,
    rtt_ns: u64,
    rtt_error_p50_ns: Option<i64>,
    rtt_error_p99_ns: Option<i64>,
    floor_ns: Option<u64>,
    directions: [StoredDirection; 2],
}

#[derive(Serialize, Deserialize)]
struct StoredDirection {
    packets: u64,
    wire_bytes: u64,
    dropped_by_queue: u64,
    dropped_by_loss: u64,
    dropped_by_outage: u64,
    dropped_unasked: u64,
    rate_bits_per_second: Option<u64>,
    realised_rate_bits_per_second: Option<u64>,
}

/// `None` if the file is missing, truncated, or of another version or point, so that the point is
/// measured again.
fn load(path: &Path, identity: &str) -> Option<MeasuredPoint> {
    let text = read_small_text(path, MAX_STORED_BYTES).ok()?;
    let stored: StoredPoint = serde_json::from_str(&text).ok()?;
    let same = stored.version == env!("CARGO_PKG_VERSION") && stored.identity == second_key(identity);
    same.then(|| MeasuredPoint {
        rounds: stored.rounds.into_iter().map(StoredRound::round).collect(),
        errors: stored.errors,
        captured: Captured {
            addresses: Addresses::new(stored.addresses),
            windows: stored.windows_ns.into_iter().map(window).collect(),
        },
    })
}

fn window((begin, end): (u64, u64)) -> (Timestamp, Timestamp) {
    (Timestamp::from_nanos(begin), Timestamp::from_nanos(end))
}

fn nanos_of((begin, end): &(Timestamp, Timestamp)) -> (u64, u64) {
    (begin.as_nanos(), end.as_nanos())
}

/// Writes a temporary file and renames it, so that a file is complete or missing.
fn save(path: &Path, identity: &str, kept: &MeasuredPoint) -> Result<()> {
    let stored = StoredPoint {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        identity: second_key(identity),
        rounds: kept.rounds.iter().map(StoredRound::new).collect(),
        errors: kept.errors.clone(),
        addresses: kept.captured.addresses.all().to_vec(),
        windows_ns: kept.captured.windows.iter().map(nanos_of).collect(),
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

impl StoredRound {
    fn new(round: &LabRound) -> Self {
        let processor = |used: &LabProcessor| StoredProcessor {
            service: used.service.clone(),
            host: used.host.clone(),
            time_ns: nanos(used.time),
        };
        Self {
            measured: StoredMeasured::new(&round.measured),
            durations_ns: round
                .durations
                .samples()
                .map(|(duration, count)| (nanos(duration), count))
                .collect(),
            elapsed_ns: nanos(round.elapsed),
            payload_bytes: round.payload.map(ByteCount::as_bytes).into_array(),
            client_processor_ns: nanos(round.client_processor),
            processors: round.processors.iter().map(processor).collect(),
            links: round.links.iter().map(StoredLink::new).collect(),
        }
    }

    fn round(self) -> LabRound {
        let processor = |used: StoredProcessor| LabProcessor {
            service: used.service,
            host: used.host,
            time: Duration::from_nanos(used.time_ns),
        };
        let mut durations = DistributionBuilder::new();
        for (duration, count) in self.durations_ns {
            (0..count).for_each(|_| durations.add(Duration::from_nanos(duration)));
        }
        LabRound {
            measured: self.measured.measured(),
            durations,
            elapsed: Duration::from_nanos(self.elapsed_ns),
            payload: self.payload_bytes.map(ByteCount::from_bytes).into(),
            client_processor: Duration::from_nanos(self.client_processor_ns),
            processors: self.processors.into_iter().map(processor).collect(),
            links: self.links.iter().map(StoredLink::outcome).collect(),
        }
    }
}

impl StoredMeasured {
    fn new(measured: &MeasuredDurations) -> Self {
        Self {
            operations: measured.operations,
            median_ns: nanos(measured.duration),
            per_second: measured.per_second,
            errors: measured.errors,
            min_ns: measured.spread.min.map(nanos),
            max_ns: measured.spread.max.map(nanos),
            mean_ns: measured.spread.mean.map(nanos),
            p90_ns: measured.spread.p90.map(nanos),
            p95_ns: measured.spread.p95.map(nanos),
            p99_ns: measured.spread.p99.map(nanos),
        }
    }

    fn measured(&self) -> MeasuredDurations {
        let duration = Duration::from_nanos(self.median_ns);
        let some = |nanos: Option<u64>| nanos.map(Duration::from_nanos);
        MeasuredDurations {
            operations: self.operations,
            duration,
            spread: Distribution {
                count: self.operations,
                min: some(self.min_ns),
                max: some(self.max_ns),
                mean: some(self.mean_ns),
                p50: Some(duration),
                p90: some(self.p90_ns),
                p95: some(self.p95_ns),
                p99: some(self.p99_ns),
            },
            per_second: self.per_second,
            errors: self.errors,
        }
    }
}

impl StoredLink {
    fn new(link: &LinkOutcome) -> Self {
        Self {
            name: link.name.clone(),
            asked: link.asked.clone(),
            rtt_ns: nanos(link.rtt),
            rtt_error_p50_ns: link.rtt_error_p50_ns,
            rtt_error_p99_ns: link.rtt_error_p99_ns,
            floor_ns: link.floor.map(nanos),
            directions: link.directions.into_array().map(|direction| StoredDirection {
                packets: direction.packets,
                wire_bytes: direction.wire_bytes,
                dropped_by_queue: direction.dropped_by_queue,
                dropped_by_loss: direction.dropped_by_loss,
                dropped_by_outage: direction.dropped_by_outage,
                dropped_unasked: direction.dropped_unasked,
                rate_bits_per_second: direction.rate.map(BitRate::as_bits_per_second),
                realised_rate_bits_per_second: direction.realised_rate.map(BitRate::as_bits_per_second),
            }),
        }
    }

    fn outcome(&self) -> LinkOutcome {
        LinkOutcome {
            name: self.name.clone(),
            asked: self.asked.clone(),
            rtt: Duration::from_nanos(self.rtt_ns),
            rtt_error_p50_ns: self.rtt_error_p50_ns,
            rtt_error_p99_ns: self.rtt_error_p99_ns,
            floor: self.floor_ns.map(Duration::from_nanos),
            directions: self.directions.each_ref().map(StoredDirection::outcome).into(),
        }
    }
}

impl StoredDirection {
    fn outcome(&self) -> LinkDirectionOutcome {
        LinkDirectionOutcome {
            packets: self.packets,
            wire_bytes: self.wire_bytes,
            dropped_by_queue: self.dropped_by_queue,
            dropped_by_loss: self.dropped_by_loss,
            dropped_by_outage: self.dropped_by_outage,
            dropped_unasked: self.dropped_unasked,
            rate: self.rate_bits_per_second.and_then(BitRate::from_bits_per_second),
            realised_rate: self
                .realised_rate_bits_per_second
                .and_then(BitRate::from_bits_per_second),
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PerDirection;

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
                addresses: Addresses::new(vec![(IpAddr::from([10, 0, 0, 1]), "web".to_owned())]),
                windows: vec![window((5, 1_790_000_000_000_000_000))],
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
