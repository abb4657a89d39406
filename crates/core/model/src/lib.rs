//! Data types and units shared by all crates.
//!
//! [`ConnectionEvent`]s become [`Message`]s (in `wire`), then [`Exchange`]s and [`Operation`]s (in
//! `analysis`), then [`Prediction`]s (in `predict`); `report` shows them. Start at [`event`], then
//! [`message`], [`exchange`], [`operation`].

#![deny(clippy::wildcard_enum_match_arm)]
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod advice;
mod calibration;
pub mod check;
mod compared;
pub mod config;
pub mod connection_map;
pub mod database_link;
mod distance;
pub mod distribution;
pub mod echo;
pub mod endpoint;
pub mod estimate;
pub mod event;
pub mod evidence;
pub mod exchange;
pub mod finding;
pub mod host;
pub mod margin;
mod message;
pub mod nanos;
pub mod operation;
pub mod outcome;
mod pattern;
mod pending_replies;
mod per_side;
mod plan;
mod prediction;
pub mod program;
mod protocol;
pub mod quantity;
pub mod row_train;
pub mod sample;
pub mod serde_units;
pub mod sparing;
pub mod split;
mod stage_output;
pub mod tags;
pub mod tally;
pub mod timestamp;
pub mod transaction;
pub mod tune;
pub mod tunnel;
pub mod warning;
mod watermark;

pub use advice::{Advice, AtLevel, BreakEven, LevelAdvice, Price};
pub use calibration::{CalibratedFactor, CalibratedRest, Calibration};
pub use check::{BudgetMeasure, BudgetVerdict, Change, ForbiddenWaste, Judgement, PredictedDuration};
pub use compared::ComparedOperation;
pub use config::{ConfigError, ConfigFile};
pub use connection_map::{ConnectionHasher, ConnectionMap};
pub use database_link::{DatabaseLinkOutcome, LinkRows};
pub use distance::{DEFAULT_PRICE_RTT, DEFAULT_RTTS};
pub use distribution::{DistributionBuilder, median, median_number};
pub use echo::{BulkOutcome, EchoOutcome};
pub use endpoint::{ConnectionId, Direction, EndedBy, Endpoint, RttSource, Side};
pub use estimate::{Compression, Estimate, KnownOperation, RowTransfer};
pub use event::{
    Closing, ConnectionEvent, ConnectionTotals, Observer, ObserverFactory, RelayHandshake, Segment,
    TcpHandshake,
};
pub use evidence::{Evidence, Lost, NotSeen, Strays};
pub use exchange::{
    Exchange, Fingerprint, NO_TEXT_SEEN, PoolerTime, RequestStart, RequestTraits, Step,
    is_unseen_fingerprint, unseen_fingerprint, unseen_fingerprint_with_shape,
};
pub use finding::{
    Finding, FindingKey, FindingKind, FindingOwners, LeftOut, Remains, Remedied, Saving, sure_findings,
};
pub use host::{
    AddressRange, CapturedAddress, Host, INITIAL_HOP_LIMITS, InterfaceAddresses, LinkAddress, Origin,
    ParseHostError,
};
pub use margin::Margin;
pub use message::{CallSyntax, Content, Decoding, Message, Phase, Role, StatementId, TransactionState};
pub use nanos::Nanos;
pub use operation::{Attribution, Operation, OperationKind, OperationStep};
pub use outcome::{
    Conditions, ConnectionOutcome, Distribution, HostProcess, LinkDirectionOutcome, LinkOutcome,
    OperationGroup, RecognisedStatement, StatementOutcome, Summary, TextSource,
};
pub use pattern::Pattern;
pub use pending_replies::{PendingReplies, TooManyPending};
pub use per_side::{PerDirection, PerSide};
pub use plan::{
    BrokenBudget, HeldBack, HoldingStatement, OrderOfMoves, PlacedOperation, PlacedService,
    PlacedTransaction, PlacementOutcome, PlanFix, PlanLink, PlanMeasure, PlanMove, PlanOutcome,
};
pub use prediction::{
    BoundBy, BoundsMargin, BoundsScale, MarginSource, MeasuredCells, MeasuredDurations, Order, OrderKind,
    PredictedExamples, PredictedOperation, Prediction, Unexplained,
};
pub use program::{ProgramBest, ProgramRun, ProgramTuned};
pub use protocol::{Dialect, Protocol, ProtocolFacts, ProtocolKind, UrlScheme};
pub use quantity::{
    BitRate, ByteCount, LinkRates, ParseQuantityError, Share, counted, format_duration, parse_duration,
};
pub use row_train::RowTrain;
pub use sample::{Intermediary, Leg, Sample, SampleTotals};
pub use sparing::{SavedTime, SparedExecutions, SparedOperation, SparingOutcome};
pub use split::{
    Interval, RoundTripSource, SplitBase, SplitForecast, SplitOutcome, SplitPrediction, SplitRefusal,
};
pub use stage_output::StageOutput;
pub use tags::{Assigned, Assignments, RequestId, SpanId, Tags};
pub use tally::{SampleOutcome, SampleTally};
pub use timestamp::Timestamp;
pub use transaction::{HeldPrediction, HeldTime, HeldTransactions, OperationTransaction};
pub use tune::{
    ChosenSetting, Job, Method, MethodParameter, ParameterUnit, Recommendation, TrialOutcome, TrialSource,
    Tuned,
};
pub use tunnel::{TunnelDirection, TunnelTotals};
pub use warning::{Warning, WarningKind};
pub use watermark::{Watermark, Watermarks};
