//! Model values to records.

use super::advice::{AdviceRecord, LevelRecord, PaysRecord};
use super::check::{ChangeRecord, CheckRecord};
use super::comparison::ComparisonRecord;
use super::connection::{BegunRecord, ConnectionRecord, LeftRecord, OpenedRecord, StartedRecord};
use super::distance::{DatabaseLinkRecord, RowsRecord};
use super::echo::BulkRecord;
use super::estimate::EstimateRecord;
use super::exchange::ExchangeRecord;
use super::finding::FindingRecord;
use super::held::HeldPredictionRecord;
use super::lab::{LabRecord, OfPoint, PointRecord, RoundRecord, SlopeRecord};
use super::leg::LegRecord;
use super::link::LinkRecord;
use super::load::{IntervalRecord, LoadRecord};
use super::outcome::{OperationRecord, PredictionRecord, StatementRecord, SummaryRecord};
use super::plan::{
    BrokenBudgetRecord, HoldingStatementRecord, PlacedOperationRecord, PlacedTransactionRecord,
    PlacementRecord, PlanFixRecord, PlanRecord,
};
use super::program::{ProgramRecord, UnchangedRecord};
use super::sample::SampleRecord;
use super::sparing::SparedRecord;
use super::split::{ElsewhereRecord, SplitRecord};
use super::tune::{RecommendationRecord, TunedRecord};
use super::tunnel::{NoticeRecord, TunnelDirectionRecord, TunnelRecord};
use super::{RecordBody, RecordLine, Text, line};
use crate::outcome::{
    CheckReport, LabOutcome, LabPoint, LabSlope, LoadInterval, LoadReport, NotPredicted, ProgramReport,
    TuneReport, placement_words,
};
use crate::text::escape::{begins_a_command, is_dangerous};
use model::{
    Advice, BulkOutcome, CalibratedRest, ComparedOperation, Conditions, ConnectionId, ConnectionOutcome,
    DatabaseLinkOutcome, Direction, EchoOutcome, Endpoint, Estimate, Exchange, Finding, Fingerprint,
    HeldPrediction, HeldTransactions, Intermediary, Leg, LinkOutcome, Operation, OperationStep,
    PlacementOutcome, PlanOutcome, Prediction, Protocol, RecognisedStatement, RequestId, RowTrain, Sample,
    SparingOutcome, SplitOutcome, SplitPrediction, StatementOutcome, Summary, Timestamp, TunnelTotals,
    Warning,
};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{self, BufWriter, Write};

macro_rules! one_record_each {
    ($($(#[$doc:meta])+ $method:ident: $model:ty $(=> $body:expr)?,)*) => {
        impl<E: RecordEncoder> RecordWriter<E> {
            $($(#[$doc])+
            ///
            /// # Errors
            /// When the encoder fails.
            pub fn $method(&mut self, value: &$model) -> io::Result<()> {
                self.write(one_record_each!(@ value $($body)?))
            })*
        }
    };
    (@ $value:ident) => { $value };
    (@ $value:ident $body:expr) => { &$body($value) };
}

// One record each: method, model value, view of it unless its own fields are the keys.
one_record_each! {
    /// Conditions, as the first record.
    conditions: Conditions,
    /// At the end of a connection.
    connection: ConnectionOutcome => ConnectionRecord::new,
    /// An operation without its exchanges.
    operation: Operation => OperationRecord,
    /// All executions of one fingerprint.
    statement: StatementOutcome => StatementRecord,
    /// Text of a statement with an unseen preparation.
    recognised: RecognisedStatement,
    /// Operations of one name on another link.
    prediction: Prediction => PredictionRecord,
    /// Operations of one name without a prediction.
    not_predicted: NotPredicted,
    /// Transactions that stay open between replies.
    held: HeldTransactions,
    /// The same on another link.
    held_prediction: HeldPrediction => HeldPredictionRecord,
    /// The realised behaviour of an emulated link.
    link: LinkOutcome => LinkRecord,
    /// Cost of a link's round trip in a lab.
    lab_slope: LabSlope => SlopeRecord,
    /// Accuracy of a lab's predictions.
    lab: LabOutcome => LabRecord,
    /// A ping, request or run by longwire.
    sample: Sample => SampleRecord,
    /// An intermediary in front of a target.
    intermediary: Intermediary,
    /// Rows of one packet each.
    rows: RowTrain => RowsRecord,
    /// From one database to another.
    database_link: DatabaseLinkOutcome => DatabaseLinkRecord,
    /// Round trips of echo.
    echo: EchoOutcome,
    /// Parts of a transaction's time.
    split: SplitOutcome => SplitRecord,
    /// Throughput of the workload elsewhere.
    elsewhere: SplitPrediction => ElsewhereRecord,
    /// Computing of one side after longer rests.
    calibrated: CalibratedRest,
    /// An operation elsewhere, from figures.
    estimate: Estimate => EstimateRecord,
    /// Operations of one name in two runs.
    comparison: ComparedOperation => ComparisonRecord,
    /// A rate of echo.
    bulk: BulkOutcome => BulkRecord,
    /// Changes since the previous interval.
    load_interval: LoadInterval => IntervalRecord,
    /// A warning for readers of the figures.
    warning: Warning,
    /// Totals, as the last record.
    summary: Summary => SummaryRecord::new,
}

/// Serialises records.
pub trait RecordEncoder {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()>;
}

pub struct JsonLines<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> RecordEncoder for JsonLines<W> {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()> {
        write_line(&mut self.out, line)
    }
}

/// One line of JSON, safe for a terminal and a CI.
pub(super) fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Inert))?;
    out.write_all(b"\n")
}

/// Writes records, one JSON object a line. Lines are buffered until [`JsonWriter::flush`]. Methods
/// return only errors of the underlying writer.
pub type JsonWriter<W> = RecordWriter<JsonLines<W>>;

impl<W: Write> JsonWriter<W> {
    pub fn new(out: W) -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        Self::encoding(JsonLines { out })
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.encoder.out.flush()
    }

    pub fn into_inner(self) -> io::Result<W> {
        let out = self.encoder.out;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)
    }
}

/// Converts model values to records for an encoder. Methods return only errors of the encoder.
pub struct RecordWriter<E> {
    encoder: E,
}

impl<E: RecordEncoder> RecordWriter<E> {
    pub const fn encoding(encoder: E) -> Self {
        Self { encoder }
    }

    pub const fn encoder(&mut self) -> &mut E {
        &mut self.encoder
    }

    pub fn into_encoder(self) -> E {
        self.encoder
    }

    pub fn warnings(&mut self, warnings: &[Warning]) -> io::Result<()> {
        warnings.iter().try_for_each(|warning| self.warning(warning))
    }

    /// Written to recordings only.
    pub fn opened(
        &mut self,
        connection: ConnectionId,
        at: Timestamp,
        client: Endpoint,
        server: Endpoint,
    ) -> io::Result<()> {
        self.write(&OpenedRecord {
            connection,
            at_ns: at,
            client,
            server,
        })
    }

    /// An HTTP request has reached its server (recordings only).
    pub fn started(
        &mut self,
        connection: ConnectionId,
        at: Timestamp,
        fingerprint: Option<&Fingerprint>,
        request: Option<RequestId>,
    ) -> io::Result<()> {
        self.write(&StartedRecord {
            connection,
            at_ns: at,
            fingerprint: fingerprint.map(|text| Text::from(&**text)),
            request_id: request,
        })
    }

    /// Opaque bytes have begun an exchange that is reported much later (recordings only).
    pub fn begun(&mut self, connection: ConnectionId, at: Timestamp) -> io::Result<()> {
        self.write(&BegunRecord {
            connection,
            at_ns: at,
        })
    }

    /// The client ended its direction (recordings only).
    pub fn left(&mut self, connection: ConnectionId, at: Timestamp) -> io::Result<()> {
        self.write(&LeftRecord {
            connection,
            at_ns: at,
        })
    }

    pub fn exchange(
        &mut self,
        exchange: &Exchange,
        protocol: Protocol,
        operation: Option<u64>,
    ) -> io::Result<()> {
        self.write(&ExchangeRecord::new(exchange, protocol, operation, None))
    }

    /// An `exchange` record for a step of `operation`. Adds the client's time before it, and how it
    /// was assigned.
    pub fn step(&mut self, step: &OperationStep, operation: u64) -> io::Result<()> {
        self.write(&ExchangeRecord::new(
            &step.exchange,
            step.protocol,
            Some(operation),
            Some(step),
        ))
    }

    /// Writes one record per round-trip time.
    pub fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        finding
            .savings
            .iter()
            .try_for_each(|saving| self.write(&FindingRecord(finding, *saving)))
    }

    /// Does not write the warnings.
    pub fn plan(&mut self, plan: &PlanOutcome) -> io::Result<()> {
        plan.predicted
            .iter()
            .try_for_each(|outcome| self.placement(outcome))?;
        for held in &plan.held_back {
            self.write(held)?;
            for statement in &held.statements {
                self.write(&HoldingStatementRecord(held, statement))?;
            }
            for fix in &held.fixes {
                self.write(&PlanFixRecord(held, fix))?;
            }
        }
        plan.moves.iter().try_for_each(|step| self.write(step))?;
        self.write(&PlanRecord(plan))
    }

    fn placement(&mut self, outcome: &PlacementOutcome) -> io::Result<()> {
        let words = placement_words(outcome);
        self.write(&PlacementRecord(&words, outcome))?;
        for operation in &outcome.operations {
            self.write(&PlacedOperationRecord(&words, operation))?;
        }
        for held in &outcome.transactions {
            self.write(&PlacedTransactionRecord(&words, held))?;
        }
        let mut broken = outcome.broken.iter();
        broken.try_for_each(|broken| self.write(&BrokenBudgetRecord(&words, broken)))
    }

    /// Writes a point with its prediction and realised links. `number` counts from 1.
    pub fn lab_point(&mut self, number: usize, settings: &[String], point: &LabPoint) -> io::Result<()> {
        self.write(&PointRecord(number, settings, point))?;
        if let Some(prediction) = &point.prediction {
            let body = PredictionRecord(prediction);
            self.write(&OfPoint { body, point: number })?;
        }
        for (index, round) in point.rounds.iter().enumerate() {
            self.write(&RoundRecord(number, index + 1, round))?;
        }
        point.links().iter().try_for_each(|link| {
            let body = LinkRecord(link);
            self.write(&OfPoint { body, point: number })
        })
    }

    /// `at` is the start of the leg. `number` is that of the connection, from 1.
    pub fn leg(&mut self, target: &str, number: u64, at: Timestamp, leg: &Leg) -> io::Result<()> {
        self.write(&LegRecord(target, number, at, leg))
    }

    pub fn sparing(&mut self, outcome: &SparingOutcome) -> io::Result<()> {
        let mut each = outcome.operations.iter();
        each.try_for_each(|operation| self.write(&SparedRecord(outcome, operation)))
    }

    pub fn tune(&mut self, report: &TuneReport) -> io::Result<()> {
        for tuned in &report.tuned {
            self.write(&TunedRecord(report, tuned))?;
        }
        let mut all = report.recommendations.iter();
        all.try_for_each(|one| self.write(&RecommendationRecord(one)))
    }

    pub fn advice(&mut self, advice: &Advice) -> io::Result<()> {
        self.write(&AdviceRecord(advice))?;
        for level in &advice.levels {
            self.write(&LevelRecord(advice, level))?;
            let mut rates = 0..advice.rates.len().min(level.durations.len());
            rates.try_for_each(|rate| self.write(&PaysRecord(advice, level, rate)))?;
        }
        Ok(())
    }

    pub fn check(&mut self, report: &CheckReport) -> io::Result<()> {
        for verdict in &report.verdicts {
            self.write(&CheckRecord(verdict))?;
        }
        report
            .changes
            .iter()
            .try_for_each(|change| self.write(&ChangeRecord(change)))
    }

    pub fn program(&mut self, report: &ProgramReport) -> io::Result<()> {
        for tuned in &report.tuned {
            self.write(&ProgramRecord(tuned))?;
        }
        for best in &report.best {
            self.write(best)?;
        }
        report
            .unchanged
            .iter()
            .try_for_each(|settings| self.write(&UnchangedRecord(settings)))
    }

    pub fn load(&mut self, report: &LoadReport) -> io::Result<()> {
        self.write(&LoadRecord(report))?;
        for script in &report.scripts {
            self.write(script)?;
        }
        report.failures.iter().try_for_each(|failure| self.write(failure))
    }

    pub fn notice(&mut self, at: Timestamp, text: &str) -> io::Result<()> {
        self.write(&NoticeRecord(at, text))
    }

    /// `end` is `near` or `far`. Writes one record per direction.
    pub fn tunnel(&mut self, end: &str, totals: &TunnelTotals) -> io::Result<()> {
        self.write(&TunnelRecord(end, totals))?;
        [Direction::ClientToServer, Direction::ServerToClient]
            .into_iter()
            .try_for_each(|direction| {
                self.write(&TunnelDirectionRecord(direction, totals.direction(direction)))
            })
    }

    fn write<B: RecordBody>(&mut self, body: &B) -> io::Result<()> {
        self.encoder.encode(&line(body))
    }
}

/// JSON without line breaks or terminal and CI commands. Escapes as `\u....` the dangerous
/// characters that JSON itself leaves (controls from U+007F on, bidirectional and invisible ones),
/// and `##[`. Any JSON reader decodes the same text.
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

pub(super) const BUFFER_BYTES: usize = 64 * 1024;
