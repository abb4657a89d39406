//! Files of the command line to facts: captures are decoded, recordings hold facts already.

use crate::compression::{CompressionMeter, CompressionOutcome, CompressionPlan};
use crate::decode::ConnectionDecoders;
use crate::output;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use anyhow::{Context, Result, bail};
use model::{Conditions, ConnectionEvent, ConnectionId, Observer, Warning};
use report::{Record, RecordReader};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// What was read besides the facts.
#[derive(Debug, Default)]
pub struct InputSummary {
    /// What is missing, what was assumed.
    pub warnings: Vec<Warning>,
    /// Why files hold less than was seen: one was cut short or damaged. Empty when all are whole.
    pub faults: Vec<String>,
    /// Packets of all captures; absent when there was none.
    pub packets: Option<u64>,
    /// What was compressed of the captures; absent where that was not asked, or there was none.
    pub compressed: Option<CompressionOutcome>,
}

impl InputSummary {
    /// Tells that something is missing of what was seen.
    fn damaged(&mut self, text: String) {
        self.faults.push(text.clone());
        self.warnings.push(Warning { text });
    }
}

/// How captures are read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Statement texts as sent are kept beside their fingerprints.
    pub keep_literals: bool,
    /// What exchanges would become in a tunnel is found out.
    pub compressing: Option<CompressionPlan>,
}

/// Reads all `files` (`-` is stdin); captures are merged on one clock, recordings follow one by one.
///
/// Decoding runs on a thread of its own, `facts` on the caller's: a large capture keeps two cores busy.
///
/// # Errors
/// When a file cannot be read, or is neither a capture nor a recording.
pub fn read(files: &[PathBuf], reading: Reading, facts: &mut dyn FnMut(Fact)) -> Result<InputSummary> {
    let mut captures = Vec::new();
    let mut recordings: Vec<Recording> = Vec::new();
    for path in files {
        match open(path)? {
            Opened::Capture(source) => captures.push(source),
            Opened::Recording(recording) => recordings.push(recording),
        }
    }
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

/// Facts handed over at once: the two threads meet once for so many.
const BATCH: usize = 512;

/// Batches that may wait for the thread that sums up; with [`BATCH`], what bounds their memory.
const WAITING_BATCHES: usize = 8;

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
        // Nobody receives any more only when the other thread has panicked, which ends this one too.
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
    let mut next_id = 0;
    let known = KnownFingerprints::default();
    if !captures.is_empty() {
        let mut observer = Decoding {
            connections: ConnectionDecoders::new(reading.keep_literals).with_fingerprints(known.clone()),
            meter: reading.compressing.map(CompressionMeter::new),
            facts,
            next_id: &mut next_id,
            fault: None,
        };
        let report = capture::read(captures, &mut observer)?;
        input.compressed = observer.finish()?;
        input.warnings.extend(report.warnings);
        input
            .faults
            .extend(report.files.into_iter().flat_map(|file| file.faults));
        input.packets = Some(report.packets);
    }
    for (name, reader) in recordings {
        recording(&name, reader, (&mut next_id, &known), facts, &mut input)?;
    }
    Ok(input)
}

/// A recording's name and bytes.
type Recording = (String, Box<dyn BufRead + Send>);

/// A file of the command line.
enum Opened<'a> {
    Capture(capture::Source<'a>),
    Recording(Recording),
}

/// Opens a file and looks at its first bytes. A pipe can be read only once: it is opened once and looked at while reading.
fn open(path: &Path) -> Result<Opened<'_>> {
    if path.as_os_str() == "-" {
        return sniff("stdin", Box::new(io::stdin()));
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("could not open {name}"))?;
    let kind = file
        .metadata()
        .with_context(|| format!("could not look at {name}"))?
        .file_type();
    if kind.is_dir() {
        bail!("{name} is a directory: name the capture or recording files in it");
    }
    match sniff(
        path.to_str().unwrap_or("a file with an unprintable name"),
        Box::new(file),
    )? {
        // A regular file is read in large windows.
        Opened::Capture(_) if kind.is_file() => Ok(Opened::Capture(capture::Source::File(path))),
        opened => Ok(opened),
    }
}

fn sniff(name: &str, mut reader: Box<dyn Read + Send>) -> Result<Opened<'_>> {
    let mut first = Vec::with_capacity(capture::PROBE_BYTES);
    let probe = reader
        .by_ref()
        .take(capture::PROBE_BYTES as u64)
        .read_to_end(&mut first);
    probe.with_context(|| format!("could not read {name}"))?;
    let recording = report::is_recording(&first) && !capture::is_capture(&first);
    let whole = BufReader::with_capacity(1 << 18, Cursor::new(first).chain(reader));
    Ok(if recording {
        Opened::Recording((name.to_owned(), Box::new(whole)))
    } else {
        Opened::Capture(capture::Source::Stream {
            name,
            reader: Box::new(whole),
        })
    })
}

struct Decoding<'a> {
    connections: ConnectionDecoders,
    meter: Option<CompressionMeter>,
    facts: &'a mut dyn FnMut(Fact),
    next_id: &'a mut u32,
    /// Why what exchanges become cannot be told.
    fault: Option<anyhow::Error>,
}

impl Decoding<'_> {
    fn finish(self) -> Result<Option<CompressionOutcome>> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        self.meter.map(|meter| meter.finish(self.facts)).transpose()
    }
}

impl Observer for Decoding<'_> {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        *self.next_id = (*self.next_id).max(connection.0.saturating_add(1));
        let Some(meter) = &mut self.meter else {
            return self.connections.event(connection, event, self.facts);
        };
        if let ConnectionEvent::Segment(segment) = &event {
            meter.segment(connection, segment);
        }
        let (facts, fault) = (&mut self.facts, &mut self.fault);
        self.connections.event(connection, event, &mut |fact| {
            if let Err(error) = meter.fact(fact, facts) {
                fault.get_or_insert(error);
            }
        });
    }
}

/// The fact that a record keeps; the record itself where it keeps none.
#[expect(clippy::result_large_err, reason = "it is handed on at once, never up")]
fn fact_of(
    record: Record,
    renumber: &mut dyn FnMut(ConnectionId) -> ConnectionId,
    known: &KnownFingerprints,
) -> Result<Fact, Record> {
    Ok(match record {
        Record::Opened {
            connection,
            at,
            client,
            server,
        } => Fact::Opened {
            connection: renumber(connection),
            at,
            client,
            server,
        },
        Record::Started { connection, at } => Fact::Started {
            connection: renumber(connection),
            at,
        },
        Record::Begun { connection, at } => Fact::Begun {
            connection: renumber(connection),
            at,
        },
        Record::Exchange {
            mut exchange,
            protocol,
            ..
        } => {
            exchange.connection = renumber(exchange.connection);
            exchange.fingerprint = exchange.fingerprint.map(|text| known.intern(&text));
            Fact::Exchange { exchange, protocol }
        }
        Record::Connection(mut outcome) => {
            outcome.id = renumber(outcome.id);
            Fact::Closed(outcome)
        }
        record => return Err(record),
    })
}

/// Reads one recording; its connections get numbers behind those seen before, its statements are told apart among all.
fn recording(
    name: &str,
    reader: Box<dyn BufRead + Send>,
    (next_id, known): (&mut u32, &KnownFingerprints),
    facts: &mut dyn FnMut(Fact),
    input: &mut InputSummary,
) -> Result<()> {
    let first_id = *next_id;
    let mut renumber = |id: ConnectionId| {
        let id = ConnectionId(id.0.saturating_add(first_id));
        *next_id = (*next_id).max(id.0.saturating_add(1));
        id
    };
    let mut records = RecordReader::new(reader).with_context(|| format!("could not read {name}"))?;
    let (mut seen, mut exchanges, mut told) = (0_u64, 0_u64, 0_u64);
    let (mut totals, faults) = (None, input.faults.len());
    while let Some(record) = records.next() {
        let record = match record {
            Ok(record) => record,
            Err(fault) if seen == 0 => {
                return Err(
                    anyhow::Error::new(fault).context(format!("{name} is no recording that can be read"))
                );
            }
            Err(fault) => {
                input.damaged(format!(
                    "{name} is damaged, what comes before is reported: {fault}"
                ));
                break;
            }
        };
        seen += 1;
        let record = match fact_of(record, &mut renumber, known) {
            Ok(fact) => {
                match &fact {
                    Fact::Exchange { .. } => exchanges += 1,
                    Fact::Closed(outcome) => told += outcome.exchanges,
                    _ => {}
                }
                facts(fact);
                continue;
            }
            Err(record) => record,
        };
        match record {
            Record::Warning(warning) => {
                let text = format!("{name}: {}", warning.text);
                match records.is_cut() {
                    true => input.damaged(text),
                    false => input.warnings.push(Warning { text }),
                }
            }
            Record::Summary(summary) => totals = Some(summary),
            _ => {}
        }
    }
    if totals.is_none() && input.faults.len() == faults {
        input.damaged(format!(
            "{name} has no summary at its end: the run that wrote it, or its copy, was cut short; what came before is reported"
        ));
    }
    if exchanges < told {
        input.damaged(format!(
            "{name} holds {exchanges} of {told} exchanges: operations and statements are those of the exchanges it \
             holds; write it with --exchanges, or with `watch -o`"
        ));
    }
    Ok(())
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
