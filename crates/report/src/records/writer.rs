//! Model values to records.

use super::advice::{AdviceRecord, LevelRecord, PaysRecord};
use super::check::{ChangeRecord, CheckRecord};
use super::connection::{BegunRecord, ConnectionRecord, OpenedRecord, StartedRecord};
use super::distance::{DatabaseLinkRecord, RowsRecord};
use super::echo::{BulkRecord, EchoRecord};
use super::exchange::ExchangeRecord;
use super::finding::FindingRecord;
use super::lab::{LabRecord, OfPoint, PointRecord, RoundRecord, SlopeRecord};
use super::leg::LegRecord;
use super::link::LinkRecord;
use super::load::{FailureRecord, IntervalRecord, LoadRecord, ScriptRecord};
use super::outcome::{
    ConditionsRecord, OperationRecord, PredictionRecord, StatementRecord, SummaryRecord, WarningRecord,
};
use super::program::{BestRecord, ProgramRecord, UnchangedRecord};
use super::sample::SampleRecord;
use super::split::{ElsewhereRecord, SplitRecord};
use super::tune::{RecommendationRecord, TunedRecord};
use super::tunnel::{NoticeRecord, TunnelRecord, TunnelWayRecord};
use crate::outcome::{
    CheckReport, LabOutcome, LabPoint, LabSlope, LoadInterval, LoadReport, ProgramReport, TuneReport,
};
use crate::text::escape::{begins_a_command, is_dangerous};
use model::{
    Advice, BulkOutcome, Conditions, ConnectionId, ConnectionOutcome, DatabaseLinkOutcome, Direction,
    EchoOutcome, Endpoint, Exchange, Finding, Leg, LinkOutcome, Operation, OperationStep, Prediction,
    Protocol, RowTrain, Sample, SplitOutcome, SplitPrediction, StatementOutcome, Summary, Timestamp,
    TunnelTotals, Warning,
};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{self, BufWriter, Write};

/// Writes records, one JSON object a line. Buffered: what must be seen now needs [`JsonWriter::flush`].
///
/// Every method fails only as the writer beneath it fails.
pub struct JsonWriter<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> JsonWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
        }
    }

    /// The run's conditions: the first record.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn conditions(&mut self, conditions: &Conditions) -> io::Result<()> {
        self.write(&ConditionsRecord::of(conditions))
    }

    /// A connection was first seen (recordings only).
    ///
    /// # Errors
    /// When `out` fails.
    pub fn opened(
        &mut self,
        connection: ConnectionId,
        at: Timestamp,
        client: Endpoint,
        server: Endpoint,
    ) -> io::Result<()> {
        self.write(&OpenedRecord::of(connection, at, client, server))
    }

    /// An HTTP request has reached its server (recordings only).
    ///
    /// # Errors
    /// When `out` fails.
    pub fn started(&mut self, connection: ConnectionId, at: Timestamp) -> io::Result<()> {
        self.write(&StartedRecord::of(connection, at))
    }

    /// Opaque bytes have begun an exchange that is told much later (recordings only).
    ///
    /// # Errors
    /// When `out` fails.
    pub fn begun(&mut self, connection: ConnectionId, at: Timestamp) -> io::Result<()> {
        self.write(&BegunRecord::of(connection, at))
    }

    /// One exchange, and the operation it belongs to where that is known.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn exchange(
        &mut self,
        exchange: &Exchange,
        protocol: Protocol,
        operation: Option<u64>,
    ) -> io::Result<()> {
        self.write(&ExchangeRecord::of(exchange, protocol, operation, None))
    }

    /// The same `exchange` record for a step of the operation with number `operation`: it also tells the client's
    /// time before it.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn step(&mut self, step: &OperationStep, operation: u64) -> io::Result<()> {
        self.write(&ExchangeRecord::of(
            &step.exchange,
            step.protocol,
            Some(operation),
            Some(step.client_before),
        ))
    }

    /// All that is known of a connection.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn connection(&mut self, connection: &ConnectionOutcome) -> io::Result<()> {
        self.write(&ConnectionRecord::of(connection))
    }

    /// An operation, without its exchanges.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn operation(&mut self, operation: &Operation) -> io::Result<()> {
        self.write(&OperationRecord::of(operation))
    }

    /// All executions of one fingerprint.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn statement(&mut self, statement: &StatementOutcome) -> io::Result<()> {
        self.write(&StatementRecord::of(statement))
    }

    /// What operations would take on another link.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn prediction(&mut self, prediction: &Prediction) -> io::Result<()> {
        self.write(&PredictionRecord::of(prediction))
    }

    /// Something wasteful: one record for each round trip that was asked.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        finding
            .savings
            .iter()
            .try_for_each(|saving| self.write(&FindingRecord::of(finding, *saving)))
    }

    /// What an emulated link did.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn link(&mut self, link: &LinkOutcome) -> io::Result<()> {
        self.write(&LinkRecord::of(link))
    }

    /// A point of a lab, with what was predicted for it and what its links realised. `number` counts from 1,
    /// `settings` are the swept ones.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn lab_point(&mut self, number: usize, settings: &[String], point: &LabPoint) -> io::Result<()> {
        self.write(&PointRecord::of(number, settings, point))?;
        if let Some(prediction) = &point.prediction {
            self.write(&OfPoint::prediction(number, prediction))?;
        }
        for (index, round) in point.rounds.iter().enumerate() {
            self.write(&RoundRecord::of(number, index + 1, round))?;
        }
        point
            .links()
            .iter()
            .try_for_each(|link| self.write(&OfPoint::link(number, link)))
    }

    /// What a link's round trip costs in a lab.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn lab_slope(&mut self, slope: &LabSlope) -> io::Result<()> {
        self.write(&SlopeRecord::of(slope))
    }

    /// How far off a lab's predictions were.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn lab(&mut self, outcome: &LabOutcome) -> io::Result<()> {
        self.write(&LabRecord::of(outcome))
    }

    /// One ping, request or run that longwire made itself.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        self.write(&SampleRecord::of(sample))
    }

    /// Rows that came one packet each.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn rows(&mut self, train: &RowTrain) -> io::Result<()> {
        self.write(&RowsRecord::of(train))
    }

    /// From one database to another.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn database_link(&mut self, outcome: &DatabaseLinkOutcome) -> io::Result<()> {
        self.write(&DatabaseLinkRecord::of(outcome))
    }

    /// One leg of opening a connection to `target`, which began at `at`; `number` is that of the connection, from 1.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn leg(&mut self, target: &str, number: u64, at: Timestamp, leg: &Leg) -> io::Result<()> {
        self.write(&LegRecord::of(target, number, at, leg))
    }

    /// Round trips that echo measured.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn echo(&mut self, echo: &EchoOutcome) -> io::Result<()> {
        self.write(&EchoRecord::of(echo))
    }

    /// A workload by so many clients, and where the time of a transaction goes.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn split(&mut self, split: &SplitOutcome) -> io::Result<()> {
        self.write(&SplitRecord::of(split))
    }

    /// The same workload elsewhere.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn elsewhere(&mut self, prediction: &SplitPrediction) -> io::Result<()> {
        self.write(&ElsewhereRecord::of(prediction))
    }

    /// What tuning found: every setting that was run or predicted, and what is recommended.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn tune(&mut self, report: &TuneReport) -> io::Result<()> {
        for tuned in &report.tuned {
            self.write(&TunedRecord::of(report, tuned))?;
        }
        let mut all = report.recommendations.iter();
        all.try_for_each(|one| self.write(&RecommendationRecord::of(one)))
    }

    /// What a tunnel would give: what was looked at, each level, and each level at each rate.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn advice(&mut self, advice: &Advice) -> io::Result<()> {
        self.write(&AdviceRecord::of(advice))?;
        for level in &advice.levels {
            self.write(&LevelRecord::of(advice, level))?;
            let rates = 0..advice.rates.len();
            rates
                .filter_map(|rate| PaysRecord::of(advice, level, rate))
                .try_for_each(|record| self.write(&record))?;
        }
        Ok(())
    }

    /// Each budget of each name, and what has changed since the baseline.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn check(&mut self, report: &CheckReport) -> io::Result<()> {
        for verdict in &report.verdicts {
            self.write(&CheckRecord::of(verdict))?;
        }
        report
            .changes
            .iter()
            .try_for_each(|change| self.write(&ChangeRecord::of(change)))
    }

    /// What tuning a program brought: each setting at each distance, what is best, and what changed nothing.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn program(&mut self, report: &ProgramReport) -> io::Result<()> {
        for tuned in &report.tuned {
            self.write(&ProgramRecord::of(tuned))?;
        }
        for best in &report.best {
            self.write(&BestRecord::of(best))?;
        }
        report
            .unchanged
            .iter()
            .try_for_each(|settings| self.write(&UnchangedRecord::of(settings)))
    }

    /// A rate that echo measured.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn bulk(&mut self, bulk: &BulkOutcome) -> io::Result<()> {
        self.write(&BulkRecord::of(bulk))
    }

    /// What a load did since the last of these.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn load_interval(&mut self, interval: &LoadInterval) -> io::Result<()> {
        self.write(&IntervalRecord::of(interval))
    }

    /// How a load was made, its scripts where there are several, and why operations failed.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn load(&mut self, report: &LoadReport) -> io::Result<()> {
        self.write(&LoadRecord::of(report))?;
        for script in &report.scripts {
            self.write(&ScriptRecord::of(script))?;
        }
        report
            .failures
            .iter()
            .try_for_each(|failure| self.write(&FailureRecord::of(failure)))
    }

    /// Something that happened while a command went on.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn notice(&mut self, at: Timestamp, text: &str) -> io::Result<()> {
        self.write(&NoticeRecord::of(at, text))
    }

    /// What one end of a tunnel did, `near` or `far`, and each of its directions.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn tunnel(&mut self, end: &str, totals: &TunnelTotals) -> io::Result<()> {
        self.write(&TunnelRecord::of(end, totals))?;
        [Direction::ClientToServer, Direction::ServerToClient]
            .into_iter()
            .try_for_each(|direction| self.write(&TunnelWayRecord::of(direction, totals.way(direction))))
    }

    /// Something a reader of the figures must know.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn warning(&mut self, warning: &Warning) -> io::Result<()> {
        self.write(&WarningRecord::of(warning))
    }

    /// The totals: the last record.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        self.write(&SummaryRecord::of(summary))
    }

    /// Passes on all that was written.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Passes on all that was written and gives the writer back.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn into_inner(self) -> io::Result<W> {
        self.out.into_inner().map_err(std::io::IntoInnerError::into_error)
    }

    fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        record.serialize(&mut Serializer::with_formatter(&mut self.out, Inert))?;
        self.out.write_all(b"\n")
    }
}

/// JSON without line breaks in which a terminal finds nothing to obey: what JSON itself does not escape of it (controls from
/// U+007F on, bidirectional and invisible characters) and what a CI obeys (`##[`) is written as `\u....`, which any reader reads as the same text.
struct Inert;

impl Formatter for Inert {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.bytes().all(|byte| byte < 0x7f) && !fragment.contains("##") {
            return out.write_all(fragment.as_bytes());
        }
        for (at, character) in fragment.char_indices() {
            let (before, rest) = fragment.split_at(at);
            let is_command = before.ends_with('#') && begins_a_command(rest);
            if is_command || is_dangerous(character) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            } else {
                out.write_all(character.encode_utf8(&mut [0; 4]).as_bytes())?;
            }
        }
        Ok(())
    }
}

const BUFFER_BYTES: usize = 64 * 1024;
