//! Round trips files of the command line into facts: captures are decoded, recordings hold facts already.
//!
//! [`opening`] finds out what a file is, [`captured`] decodes captures, [`recording`] takes the facts of a
//! recording, [`merging`] puts those of several in the order of time. [`live`] does the same with what passes
//! a network interface.

mod captured;
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
use captured::CaptureDecoding;
use merging::MergedRecordings;
use model::{CapturedAddress, Conditions, InterfaceAddresses, Warning, WarningKind};
use numbering::Numbering;
use opening::{InputFile, open};
pub use reader::FactReader;
use recording::{Recording, RecordingFacts};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use tls_keys::Secrets;

/// What was read in addition to the facts.
#[derive(Debug, Default)]
pub struct InputSummary {
    /// What is missing, what was assumed.
    pub warnings: Vec<Warning>,
    /// Why files hold less than was seen: one was truncated or damaged. Empty when all are whole.
    pub faults: Vec<String>,
    /// Packets of all captures; `None` if there was none.
    pub packets: Option<u64>,
    /// What was compressed of the captures; `None` if that was not requested, or there was none.
    pub compressed: Option<CompressionOutcome>,
}

impl InputSummary {
    /// Reports that part of what was seen is missing.
    fn damaged(&mut self, kind: WarningKind, text: String) {
        self.faults.push(text.clone());
        self.warnings.push(Warning::new(kind, text));
    }
}

/// How captures are read, from files or an interface.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Statement texts as sent are kept in addition to their fingerprints.
    pub keep_literals: bool,
    /// Whether to determine what exchanges would become in a tunnel.
    pub compressing: Option<CompressionPlan>,
    /// What opens TLS in captures, in addition to the keys that they hold themselves.
    pub keys: Arc<RunKeys>,
    /// Those that are distinguished in the run ([`crate::aggregator::Aggregator::fingerprints`]).
    pub fingerprints: KnownFingerprints,
    /// Boxes to put exchanges in. The code that takes the facts may return them once they are empty.
    pub boxes: ExchangePool,
}

impl Reading {
    /// The decoders of captured connections.
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
/// Decoding runs on a thread of its own, `facts` on the caller's: a large capture keeps two cores busy.
///
/// # Errors
/// When a file cannot be read, or is neither a capture nor a recording.
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
    reading.keys.search_in(FilesAhead::among(files, None));
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING_BATCHES);
        let reader = scope.spawn(move || {
            let mut batch = Batch {
                facts: Vec::with_capacity(BATCH),
                sender,
            };
            let input = decode(captures, recordings, reading, &mut |fact| batch.add(fact));
            batch.send();
            input
        });
        for fact in receiver.into_iter().flatten() {
            facts(fact);
        }
        reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Facts passed in one batch: the two threads synchronise once for this many.
const BATCH: usize = 256;

/// Batches that may wait for the thread that sums up; with [`BATCH`], what bounds their memory.
const WAITING_BATCHES: usize = 16;

/// Facts on their way from the thread that decodes to the one that sums up.
struct Batch {
    facts: Vec<Fact>,
    sender: mpsc::SyncSender<Vec<Fact>>,
}

impl Batch {
    fn add(&mut self, fact: Fact) {
        self.facts.push(fact);
        if self.facts.len() >= BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        let facts = std::mem::replace(&mut self.facts, Vec::with_capacity(BATCH));
        // The receiver is gone only when nobody wants more: the files end then.
        self.sender.send(facts).ok();
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
    let first = usize::from(!captures_absent);
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
        let mut observer =
            CaptureDecoding::new(connections, meter, &mut in_order, Numbering::new(0, sources));
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
    // What stands for a statement in one file may stand for another in the next.
    if sources == 1 {
        recognised.into_iter().for_each(|found| known.recognise(found));
    }
    Ok(input)
}

/// The interfaces of which captures among `files` state several addresses, as far as they describe them
/// before their first packet. What can be read only once is not inspected, and what cannot be read is
/// reported by who reads it.
pub fn interfaces(files: &[PathBuf]) -> Vec<InterfaceAddresses> {
    let described = captures(files).filter_map(|source| capture::interfaces(source).ok());
    described.flatten().collect()
}

/// Of each capture among `files`, the addresses that its packets come from, and what they say about their
/// machines. The same files are inspected.
pub fn captured_addresses(files: &[PathBuf]) -> Vec<Vec<CapturedAddress>> {
    let seen = captures(files).filter_map(|source| capture::addresses(source).ok());
    seen.flatten().collect()
}

/// The captures among `files` that can be read more than once.
fn captures(files: &[PathBuf]) -> impl Iterator<Item = capture::Source<'_>> {
    let files = files
        .iter()
        .filter(|path| path.as_os_str() != "-" && path.is_file());
    files.filter_map(|path| match open(path, None) {
        Ok(InputFile::Capture(source)) => Some(source),
        _ => None,
    })
}

/// Whether all `files` are recordings that `longwire load` made: what waits there are transactions. What can
/// be read only once is not inspected.
pub fn are_of_load(files: &[PathBuf]) -> bool {
    let is_of_load = |path: &PathBuf| {
        if path.as_os_str() == "-" || !path.is_file() {
            return false;
        }
        let Ok(InputFile::Recording((_, bytes))) = open(path, None) else {
            return false;
        };
        let begun = report::RecordReader::new(bytes)
            .ok()
            .and_then(|mut records| records.next());
        matches!(begun, Some(Ok(report::Record::Conditions(run))) if run.command_line.starts_with("longwire load "))
    };
    !files.is_empty() && files.iter().all(is_of_load)
}

/// What was read, in a few words: the names of the files without their directories.
pub fn title(files: &[PathBuf]) -> String {
    let names = files.iter().map(|file| match file.file_name() {
        Some(name) if file.as_os_str() != "-" => name.to_string_lossy().into_owned(),
        _ => "stdin".to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The conditions of a run that reads files.
pub fn conditions(files: &[PathBuf]) -> Conditions {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let command_line = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ");
    output::conditions(command_line, "capture file timestamps", names.join(", "))
}
