//! Reads files of the command line into facts: captures are decoded, recordings contain facts.
//!
//! [`opening`] detects the type of a file, [`captured`] decodes captures, [`recording`] reads
//! recordings, [`merging`] merges several recordings by time. [`live`] reads from network
//! interfaces.

mod captured;
mod folders;
pub mod live;
mod merging;
mod numbering;
pub(crate) mod opening;
mod reader;
mod recording;
pub(crate) mod stopping;

use crate::compression::{CompressionMeter, CompressionOutcome, CompressionPlan};
use crate::decode::ConnectionDecoders;
use crate::keys::{FilesAhead, RunKeys};
use crate::output;
use analysis::exchange_pool::ExchangePool;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use anyhow::Result;
use capture::Machines;
use captured::CaptureDecoding;
pub use folders::{ensure_not_read, with_folders};
use merging::MergedRecordings;
use model::{Conditions, Warning, WarningKind};
use numbering::Numbering;
pub use numbering::RunFiles;
use opening::{InputFile, open};
pub use reader::FactReader;
use recording::{Recording, RecordingFacts};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use sys::arguments::CommandLine;
use tls_keys::Secrets;

#[derive(Debug, Default)]
pub struct InputSummary {
    pub warnings: Vec<Warning>,
    /// Truncation and damage of files; empty if all are intact.
    pub faults: Vec<String>,
    /// Packets of all captures; `None` if there was none.
    pub packets: Option<u64>,
    pub compressed: Option<CompressionOutcome>,
}

impl InputSummary {
    fn damaged(&mut self, kind: WarningKind, text: String) {
        self.faults.push(text.clone());
        self.warnings.push(Warning::new(kind, text));
    }
}

#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub keep_literals: bool,
    pub compressing: Option<CompressionPlan>,
    /// Keys for TLS in captures, besides those embedded in them.
    pub keys: Arc<RunKeys>,
    pub fingerprints: KnownFingerprints,
    /// The pool of boxes for exchanges. The receiver of facts may return empty ones.
    pub boxes: ExchangePool,
    pub files: RunFiles,
}

impl Reading {
    fn decoders(&self) -> ConnectionDecoders {
        let secrets = Arc::clone(&self.keys) as Arc<dyn Secrets>;
        ConnectionDecoders::new(self.keep_literals)
            .with_secrets(Some(secrets))
            .with_boxes(self.boxes.clone())
            .with_fingerprints(self.fingerprints.clone())
    }
}

/// Reads all `files` (`-` is stdin), captures and recordings, merged on one clock.
///
/// Decoding runs on a separate thread and `facts` on the caller's, so a large capture uses two
/// cores.
///
/// # Errors
/// If a file cannot be read, or is neither a capture nor a recording.
pub fn read_files(files: &[PathBuf], reading: Reading, facts: &mut dyn FnMut(Fact)) -> Result<InputSummary> {
    let mut captures = Vec::new();
    let mut recordings: Vec<Recording> = Vec::new();
    for path in files {
        match open(path, None)? {
            InputFile::Capture(source) => captures.push(source),
            InputFile::Recording(recording) => recordings.push(recording),
            InputFile::Tables(runs) => recordings.extend(runs),
        }
    }
    let names = captures.iter().map(|source| match source {
        capture::Source::File(path) => path.display().to_string(),
        capture::Source::Stream { name, .. } => (*name).to_owned(),
    });
    let names = names.chain(recordings.iter().map(|(name, _)| name.clone()));
    reading.files.name(names);
    reading.keys.search_in(FilesAhead::among(files, None));
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING_BATCHES);
        let reader = scope.spawn(move || {
            // The receiver is gone only if no more facts are wanted; the files end then.
            let mut batch = Batch::new(move |facts| drop(sender.send(facts)));
            let input = decode(captures, recordings, reading, &mut |fact| batch.add(fact));
            batch.send();
            input
        });
        for batch in receiver {
            batch.into_iter().for_each(&mut *facts);
        }
        reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

const BATCH: usize = 256;

/// Limits memory together with [`BATCH`].
const WAITING_BATCHES: usize = 16;

struct Batch {
    facts: Vec<Fact>,
    deliver: Box<dyn FnMut(Vec<Fact>)>,
}

impl Batch {
    fn new(deliver: impl FnMut(Vec<Fact>) + 'static) -> Self {
        Self {
            facts: Vec::with_capacity(BATCH),
            deliver: Box::new(deliver),
        }
    }

    fn add(&mut self, fact: Fact) {
        self.facts.push(fact);
        if self.facts.len() >= BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        let facts = std::mem::replace(&mut self.facts, Vec::with_capacity(BATCH));
        (self.deliver)(facts);
    }
}

fn decode(
    captures: Vec<capture::Source<'_>>,
    recordings: Vec<Recording>,
    reading: Reading,
    facts: &mut dyn FnMut(Fact),
) -> Result<InputSummary> {
    let mut input = InputSummary::default();
    let known = reading.fingerprints.clone();
    let captures_absent = captures.is_empty();
    let first = captures.len();
    let sources = first + recordings.len();
    let recordings = recordings.into_iter().enumerate().map(|(place, recording)| {
        let numbering = Numbering::new(first + place, sources);
        RecordingFacts::new(recording, numbering, known.clone())
    });
    let mut merged = MergedRecordings::new(recordings.collect::<Result<_>>()?)?;
    if !captures_absent {
        let connections = reading.decoders();
        let meter = reading.compressing.map(CompressionMeter::new);
        let mut fault = None;
        let mut in_order = |fact: Fact| {
            if let Err(error) = merged.until(fact.time(), facts) {
                fault.get_or_insert(error);
            }
            facts(fact);
        };
        let mut observer = CaptureDecoding::new(
            connections,
            meter,
            &mut in_order,
            Numbering::of_captures(first, sources),
        );
        let keys = &reading.keys;
        let report = capture::read_with_keys(captures, &mut observer, &|line| keys.line(line))?;
        input.compressed = observer.finish()?;
        fault.map_or(Ok(()), Err)?;
        input.warnings.extend(report.warnings);
        input.warnings.extend(keys.warnings());
        input
            .faults
            .extend(report.files.into_iter().flat_map(|file| file.faults));
        input.packets = Some(report.packets);
    }
    if captures_absent && reading.keys.is_given() {
        let text = "the key log opens captures: a recording has no encrypted bytes any more";
        input.warnings.push(Warning::new(WarningKind::NoEffect, text));
    }
    let recognised = merged.finish(facts, &mut input)?;
    // A statement's name may mean another statement in the next file.
    if sources == 1 {
        recognised.into_iter().for_each(|found| known.recognise(found));
    }
    Ok(input)
}

/// Machines of the captures among `files`. Pipes are skipped, and read errors are left to the later
/// read.
pub fn machines(files: &[PathBuf]) -> Machines {
    let mut all = Machines::default();
    for found in captures(files).filter_map(|source| capture::machines(source).ok()) {
        all.interfaces.extend(found.interfaces);
        all.senders.extend(found.senders);
    }
    all
}

fn captures(files: &[PathBuf]) -> impl Iterator<Item = capture::Source<'_>> {
    let files = files
        .iter()
        .filter(|path| path.as_os_str() != "-" && path.is_file());
    files.filter_map(|path| match open(path, None) {
        Ok(InputFile::Capture(source)) => Some(source),
        _ => None,
    })
}

/// Whether all `files` are recordings of `longwire load`, in which clients wait for transactions.
/// Pipes are not inspected.
pub fn are_of_load(files: &[PathBuf]) -> bool {
    let is_of_load = |path: &PathBuf| recorded_conditions(path).is_some_and(|run| run.generated);
    !files.is_empty() && files.iter().all(is_of_load)
}

/// The machine of the first recording among `files`.
pub fn recorded_on(files: &[PathBuf]) -> Option<String> {
    files.iter().find_map(|path| recorded_conditions(path)?.host)
}

fn recorded_conditions(path: &Path) -> Option<Conditions> {
    if path.as_os_str() == "-" || !path.is_file() {
        return None;
    }
    let Ok(InputFile::Recording((_, bytes))) = open(path, None) else {
        return None;
    };
    match report::RecordReader::new(bytes).ok()?.next()? {
        Ok(report::Record::Conditions(run)) => Some(run),
        Ok(_) | Err(_) => None,
    }
}

pub fn title(files: &[PathBuf]) -> String {
    let names = files.iter().map(|file| match file.file_name() {
        Some(name) if file.as_os_str() != "-" => name.to_string_lossy().into_owned(),
        _ => "stdin".to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

pub fn conditions(files: &[PathBuf], typed: &CommandLine) -> Conditions {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    output::conditions(typed, "capture file timestamps", names.join(", "))
}
