//! Model values to records.

use super::advice::{AdviceRecord, LevelRecord, PaysRecord};
use super::check::{ChangeRecord, CheckRecord};
use super::connection::{BegunRecord, ConnectionRecord, OpenedRecord, StartedRecord};
use super::distance::{DatabaseLinkRecord, RowsRecord};
use super::echo::{BulkRecord, EchoRecord};
use super::exchange::ExchangeRecord;
use super::finding::FindingRecord;
use super::held::{HeldPredictionRecord, HeldRecord};
use super::lab::{LabRecord, OfPoint, PointRecord, RoundRecord, SlopeRecord};
use super::leg::LegRecord;
use super::link::LinkRecord;
use super::load::{FailureRecord, IntervalRecord, LoadRecord, ScriptRecord};
use super::outcome::{
    ConditionsRecord, OperationRecord, PredictionRecord, RecognisedRecord, StatementRecord, SummaryRecord,
    WarningRecord,
};
use super::plan::{
    BrokenBudgetRecord, HeldBackRecord, HoldingStatementRecord, PlacedOperationRecord,
    PlacedTransactionRecord, PlacementRecord, PlanFixRecord, PlanMoveRecord, PlanRecord,
};
use super::program::{BestRecord, ProgramRecord, UnchangedRecord};
use super::sample::{IntermediaryRecord, SampleRecord};
use super::split::{ElsewhereRecord, SplitRecord};
use super::tune::{RecommendationRecord, TunedRecord};
use super::tunnel::{NoticeRecord, TunnelDirectionRecord, TunnelRecord};
use super::{RecordBody, RecordLine, line};
use crate::outcome::{
    CheckReport, LabOutcome, LabPoint, LabSlope, LoadInterval, LoadReport, ProgramReport, TuneReport,
    placement_words,
};
use crate::text::escape::{begins_a_command, is_dangerous};
use model::{
    Advice, BulkOutcome, Conditions, ConnectionId, ConnectionOutcome, DatabaseLinkOutcome, Direction,
    EchoOutcome, Endpoint, Exchange, Finding, Fingerprint, HeldPrediction, HeldTransactions, Intermediary,
    Leg, LinkOutcome, Operation, OperationStep, PlacementOutcome, PlanOutcome, Prediction, Protocol,
    RecognisedStatement, RequestId, RowTrain, Sample, SplitOutcome, SplitPrediction, StatementOutcome,
    Summary, Timestamp, TunnelTotals, Warning,
};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{self, BufWriter, Write};

macro_rules! one_record_each {
    ($($(#[$doc:meta])+ $method:ident: $model:ty => $body:ident,)*) => {
        impl<E: RecordEncoder> RecordWriter<E> {
            $($(#[$doc])+
            ///
            /// # Errors
            /// When the encoder fails.
            pub fn $method(&mut self, value: &$model) -> io::Result<()> {
                self.write(&$body::new(value))
            })*
        }
    };
}

// What is written as one record: the method, what it takes, and the record.
one_record_each! {
    /// The run's conditions: the first record.
    conditions: Conditions => ConditionsRecord,
    /// All that is known of a connection.
    connection: ConnectionOutcome => ConnectionRecord,
    /// An operation, without its exchanges.
    operation: Operation => OperationRecord,
    /// All executions of one fingerprint.
    statement: StatementOutcome => StatementRecord,
    /// The text of a statement whose preparation was not seen.
    recognised: RecognisedStatement => RecognisedRecord,
    /// What operations would take on another link.
    prediction: Prediction => PredictionRecord,
    /// Transactions that stayed open between replies.
    held: HeldTransactions => HeldRecord,
    /// How long they would be open on another link.
    held_prediction: HeldPrediction => HeldPredictionRecord,
    /// What an emulated link did.
    link: LinkOutcome => LinkRecord,
    /// What a link's round trip costs in a lab.
    lab_slope: LabSlope => SlopeRecord,
    /// How far off a lab's predictions were.
    lab: LabOutcome => LabRecord,
    /// One ping, request or run that longwire made itself.
    sample: Sample => SampleRecord,
    /// What stands in front of a target that was asked.
    intermediary: Intermediary => IntermediaryRecord,
    /// Rows that came one packet each.
    rows: RowTrain => RowsRecord,
    /// From one database to another.
    database_link: DatabaseLinkOutcome => DatabaseLinkRecord,
    /// Round trips that echo measured.
    echo: EchoOutcome => EchoRecord,
    /// A workload by a number of clients, and where the time of a transaction goes.
    split: SplitOutcome => SplitRecord,
    /// The same workload elsewhere.
    elsewhere: SplitPrediction => ElsewhereRecord,
    /// A rate that echo measured.
    bulk: BulkOutcome => BulkRecord,
    /// What a load did since the last of these.
    load_interval: LoadInterval => IntervalRecord,
    /// Something a reader of the figures must know.
    warning: Warning => WarningRecord,
    /// The totals: the last record.
    summary: Summary => SummaryRecord,
}

/// What makes something of records, one after the other.
pub trait RecordEncoder {
    /// Takes a record.
    ///
    /// # Errors
    /// When it cannot be written.
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()>;
}

/// Records as JSON, one object a line.
pub struct JsonLines<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> RecordEncoder for JsonLines<W> {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()> {
        line.serialize(&mut Serializer::with_formatter(&mut self.out, Inert))?;
        self.out.write_all(b"\n")
    }
}

/// Writes records, one JSON object a line. Buffered: what must be seen now needs [`JsonWriter::flush`].
///
/// Every method fails only as the writer beneath it fails.
pub type JsonWriter<W> = RecordWriter<JsonLines<W>>;

impl<W: Write> JsonWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        Self::encoding(JsonLines { out })
    }

    /// Passes on all that was written.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.encoder.out.flush()
    }

    /// Passes on everything that was written and returns the writer.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn into_inner(self) -> io::Result<W> {
        let out = self.encoder.out;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)
    }
}

/// Makes records of what it is given, for its encoder. Every method fails only as the encoder fails.
pub struct RecordWriter<E> {
    encoder: E,
}

impl<E: RecordEncoder> RecordWriter<E> {
    /// Returns records to `encoder`.
    pub const fn encoding(encoder: E) -> Self {
        Self { encoder }
    }

    /// Its encoder.
    pub const fn encoder(&mut self) -> &mut E {
        &mut self.encoder
    }

    /// Returns its encoder back.
    pub fn into_encoder(self) -> E {
        self.encoder
    }

    /// A connection was first seen (recordings only).
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn opened(
        &mut self,
        connection: ConnectionId,
        at: Timestamp,
        client: Endpoint,
        server: Endpoint,
    ) -> io::Result<()> {
        self.write(&OpenedRecord::new(connection, at, client, server))
    }

    /// An HTTP request has reached its server (recordings only).
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn started(
        &mut self,
        connection: ConnectionId,
        at: Timestamp,
        fingerprint: Option<&Fingerprint>,
        request: Option<RequestId>,
    ) -> io::Result<()> {
        self.write(&StartedRecord::new(connection, at, fingerprint, request))
    }

    /// Opaque bytes have begun an exchange that is reported much later (recordings only).
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn begun(&mut self, connection: ConnectionId, at: Timestamp) -> io::Result<()> {
        self.write(&BegunRecord::new(connection, at))
    }

    /// One exchange, and the operation it belongs to where that is known.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn exchange(
        &mut self,
        exchange: &Exchange,
        protocol: Protocol,
        operation: Option<u64>,
    ) -> io::Result<()> {
        self.write(&ExchangeRecord::new(exchange, protocol, operation, None))
    }

    /// The same `exchange` record for a step of the operation with number `operation`: it also has the
    /// client's time before it, and how it is known to belong there.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn step(&mut self, step: &OperationStep, operation: u64) -> io::Result<()> {
        self.write(&ExchangeRecord::new(
            &step.exchange,
            step.protocol,
            Some(operation),
            Some(step),
        ))
    }

    /// Something wasteful: one record for each round trip that was asked.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        finding
            .savings
            .iter()
            .try_for_each(|saving| self.write(&FindingRecord::new(finding, *saving)))
    }

    /// All that `plan` has to say, but its warnings.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn plan(&mut self, plan: &PlanOutcome) -> io::Result<()> {
        plan.predicted
            .iter()
            .try_for_each(|outcome| self.placement(outcome))?;
        for held in &plan.held_back {
            self.write(&HeldBackRecord::new(held))?;
            for statement in &held.statements {
                self.write(&HoldingStatementRecord::new(held, statement))?;
            }
            for fix in &held.fixes {
                self.write(&PlanFixRecord::new(held, fix))?;
            }
        }
        plan.moves
            .iter()
            .try_for_each(|step| self.write(&PlanMoveRecord::new(step)))?;
        self.write(&PlanRecord::new(plan))
    }

    fn placement(&mut self, outcome: &PlacementOutcome) -> io::Result<()> {
        let words = placement_words(outcome);
        self.write(&PlacementRecord::new(outcome))?;
        for operation in &outcome.operations {
            self.write(&PlacedOperationRecord::new(&words, operation))?;
        }
        for held in &outcome.transactions {
            self.write(&PlacedTransactionRecord::new(&words, held))?;
        }
        let mut broken = outcome.broken.iter();
        broken.try_for_each(|broken| self.write(&BrokenBudgetRecord::new(&words, broken)))
    }

    /// A point of a lab, with what was predicted for it and what its links realised. `number` counts from 1,
    /// `settings` are the swept ones.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn lab_point(&mut self, number: usize, settings: &[String], point: &LabPoint) -> io::Result<()> {
        self.write(&PointRecord::new(number, settings, point))?;
        if let Some(prediction) = &point.prediction {
            let body = PredictionRecord::new(prediction);
            self.write(&OfPoint { body, point: number })?;
        }
        for (index, round) in point.rounds.iter().enumerate() {
            self.write(&RoundRecord::new(number, index + 1, round))?;
        }
        point.links().iter().try_for_each(|link| {
            let body = LinkRecord::new(link);
            self.write(&OfPoint { body, point: number })
        })
    }

    /// One leg of opening a connection to `target`, which began at `at`; `number` is that of the connection,
    /// from 1.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn leg(&mut self, target: &str, number: u64, at: Timestamp, leg: &Leg) -> io::Result<()> {
        self.write(&LegRecord::new(target, number, at, leg))
    }

    /// What tuning found: every setting that was run or predicted, and what is recommended.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn tune(&mut self, report: &TuneReport) -> io::Result<()> {
        for tuned in &report.tuned {
            self.write(&TunedRecord::new(report, tuned))?;
        }
        let mut all = report.recommendations.iter();
        all.try_for_each(|one| self.write(&RecommendationRecord::new(one)))
    }

    /// What a tunnel would give: what was inspected, each level, and each level at each rate.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn advice(&mut self, advice: &Advice) -> io::Result<()> {
        self.write(&AdviceRecord::new(advice))?;
        for level in &advice.levels {
            self.write(&LevelRecord::new(advice, level))?;
            let rates = 0..advice.rates.len();
            rates
                .filter_map(|rate| PaysRecord::new(advice, level, rate))
                .try_for_each(|record| self.write(&record))?;
        }
        Ok(())
    }

    /// Each budget of each name, and what has changed since the baseline.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn check(&mut self, report: &CheckReport) -> io::Result<()> {
        for verdict in &report.verdicts {
            self.write(&CheckRecord::new(verdict))?;
        }
        report
            .changes
            .iter()
            .try_for_each(|change| self.write(&ChangeRecord::new(change)))
    }

    /// What tuning a program brought: each setting at each distance, what is best, and what changed nothing.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn program(&mut self, report: &ProgramReport) -> io::Result<()> {
        for tuned in &report.tuned {
            self.write(&ProgramRecord::new(tuned))?;
        }
        for best in &report.best {
            self.write(&BestRecord::new(best))?;
        }
        report
            .unchanged
            .iter()
            .try_for_each(|settings| self.write(&UnchangedRecord::new(settings)))
    }

    /// How a load was made, its scripts where there are several, and why operations failed.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn load(&mut self, report: &LoadReport) -> io::Result<()> {
        self.write(&LoadRecord::new(report))?;
        for script in &report.scripts {
            self.write(&ScriptRecord::new(script))?;
        }
        report
            .failures
            .iter()
            .try_for_each(|failure| self.write(&FailureRecord::new(failure)))
    }

    /// Something that happened while a command went on.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn notice(&mut self, at: Timestamp, text: &str) -> io::Result<()> {
        self.write(&NoticeRecord::new(at, text))
    }

    /// What one end of a tunnel did, `near` or `far`, and each of its directions.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn tunnel(&mut self, end: &str, totals: &TunnelTotals) -> io::Result<()> {
        self.write(&TunnelRecord::new(end, totals))?;
        [Direction::ClientToServer, Direction::ServerToClient]
            .into_iter()
            .try_for_each(|direction| {
                self.write(&TunnelDirectionRecord::new(
                    direction,
                    totals.direction(direction),
                ))
            })
    }

    fn write<B: RecordBody>(&mut self, body: &B) -> io::Result<()> {
        self.encoder.encode(&line(body))
    }
}

/// JSON without line breaks in which a terminal finds nothing to obey: what JSON itself does not escape of it
/// (controls from U+007F on, bidirectional and invisible characters) and what a CI obeys (`##[`) is written
/// as `\u....`, which any reader reads as the same text.
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
