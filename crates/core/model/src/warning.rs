//! Warnings for readers of figures, by kind.

use crate::NotSeen;
use crate::serde_units::from_text;
use serde::{Deserialize, Deserializer, Serialize};

/// Missing data or an assumption behind the figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Kind for programs, which must not depend on the text.
    #[serde(default = "WarningKind::unknown")]
    pub kind: WarningKind,
    /// One sentence on who, where, why, and next steps.
    pub text: String,
}

impl Warning {
    /// Creates a warning of this kind.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    /// Prefixes the text with `NAME: ` of a source.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        let text = format!("{name}: {}", self.text);
        Self { text, ..self }
    }
}

/// The subject of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningKind {
    /// Statements are in encrypted payload.
    StatementsEncrypted,
    /// Statements were prepared before the observation.
    StatementsPreparedBefore,
    /// Payload of statements is missing.
    StatementsCut,
    /// The protocol is not, or not fully, decoded.
    StatementsNotDecoded,
    /// Exchanges were assigned to requests by a guess.
    OwnersGuessed,
    /// Round trips belong to no request, though there are requests.
    OwnersUnknown,
    /// Addresses of one host were inferred, doubtful or unknown.
    HostsInferred,
    /// The role of a pooler was inferred.
    PoolerInferred,
    /// Connections have no measured round-trip time.
    RoundTripUnknown,
    /// A round-trip time is affected by an intermediary.
    RoundTripBiased,
    /// The capture or recording is cut short.
    CaptureCut,
    /// The capture has unreadable or contradictory parts.
    CaptureDamaged,
    /// Packets have an unsupported encapsulation.
    PacketsNotOpened,
    /// The capture has none of the requested traffic.
    NothingSeen,
    /// Payload is missing from the capture.
    PayloadMissing,
    /// Longwire was too slow and dropped packets.
    PacketsDropped,
    /// Longwire was too slow and dropped or merged exchanges.
    ExchangesDropped,
    /// Connections were open before the observation.
    OpenBefore,
    /// Only one direction of connections is in the capture.
    OneDirection,
    /// The same packets were captured more than once.
    CapturedTwice,
    /// Packets are larger than those on the wire.
    SegmentationOffload,
    /// The clock stepped, or a time is impossible.
    ClockStep,
    /// Keys of TLS sessions are missing, unreadable or unsuitable.
    KeysMissing,
    /// Requests had no, or no certain, reply.
    RequestsUnanswered,
    /// Replies ended with their connection.
    RepliesCut,
    /// A connection to move was not moved by a prediction.
    NothingMoved,
    /// Calls of other services move in predictions without being named.
    CallsMoved,
    /// Measured time exceeds the model's explanation.
    UnexplainedWait,
    /// Senders pace packets, and are replayed with BBR.
    PacedSenders,
    /// A figure was not predicted, or not proved by replays.
    NotPredicted,
    /// Data was left out for lack of room or time.
    LeftOut,
    /// An emulated link was not as requested.
    LinkNotAsAsked,
    /// The machine was too busy or uneven for exact figures.
    MachineBusy,
    /// Operations, runs or streams failed and are not counted.
    OperationsFailed,
    /// Connections or targets were not reached.
    ConnectionsFailed,
    /// An option has no effect.
    NoEffect,
    /// The run differed from the request.
    DoneOtherwise,
    /// The run ended before completion.
    EndedEarly,
    /// An output was lost or not written.
    OutputLost,
    /// Data was left behind on a server.
    LeftBehind,
    /// A kind recorded by another version of longwire.
    OtherVersion,
}

impl WarningKind {
    /// All kinds in this order.
    pub const ALL: &[Self] = &[
        Self::StatementsEncrypted,
        Self::StatementsPreparedBefore,
        Self::StatementsCut,
        Self::StatementsNotDecoded,
        Self::OwnersGuessed,
        Self::OwnersUnknown,
        Self::HostsInferred,
        Self::PoolerInferred,
        Self::RoundTripUnknown,
        Self::RoundTripBiased,
        Self::CaptureCut,
        Self::CaptureDamaged,
        Self::PacketsNotOpened,
        Self::NothingSeen,
        Self::PayloadMissing,
        Self::PacketsDropped,
        Self::ExchangesDropped,
        Self::OpenBefore,
        Self::OneDirection,
        Self::CapturedTwice,
        Self::SegmentationOffload,
        Self::ClockStep,
        Self::KeysMissing,
        Self::RequestsUnanswered,
        Self::RepliesCut,
        Self::NothingMoved,
        Self::CallsMoved,
        Self::UnexplainedWait,
        Self::PacedSenders,
        Self::NotPredicted,
        Self::LeftOut,
        Self::LinkNotAsAsked,
        Self::MachineBusy,
        Self::OperationsFailed,
        Self::ConnectionsFailed,
        Self::NoEffect,
        Self::DoneOtherwise,
        Self::EndedEarly,
        Self::OutputLost,
        Self::LeftBehind,
        Self::OtherVersion,
    ];

    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StatementsEncrypted => "statements-encrypted",
            Self::StatementsPreparedBefore => "statements-prepared-before",
            Self::StatementsCut => "statements-cut",
            Self::StatementsNotDecoded => "statements-not-decoded",
            Self::OwnersGuessed => "owners-guessed",
            Self::OwnersUnknown => "owners-unknown",
            Self::HostsInferred => "hosts-inferred",
            Self::PoolerInferred => "pooler-inferred",
            Self::RoundTripUnknown => "round-trip-unknown",
            Self::RoundTripBiased => "round-trip-biased",
            Self::CaptureCut => "capture-cut",
            Self::CaptureDamaged => "capture-damaged",
            Self::PacketsNotOpened => "packets-not-opened",
            Self::NothingSeen => "nothing-seen",
            Self::PayloadMissing => "payload-missing",
            Self::PacketsDropped => "packets-dropped",
            Self::ExchangesDropped => "exchanges-dropped",
            Self::OpenBefore => "open-before",
            Self::OneDirection => "one-direction",
            Self::CapturedTwice => "captured-twice",
            Self::SegmentationOffload => "segmentation-offload",
            Self::ClockStep => "clock-step",
            Self::KeysMissing => "keys-missing",
            Self::RequestsUnanswered => "requests-unanswered",
            Self::RepliesCut => "replies-cut",
            Self::NothingMoved => "nothing-moved",
            Self::CallsMoved => "calls-moved",
            Self::UnexplainedWait => "unexplained-wait",
            Self::PacedSenders => "paced-senders",
            Self::NotPredicted => "not-predicted",
            Self::LeftOut => "left-out",
            Self::LinkNotAsAsked => "link-not-as-asked",
            Self::MachineBusy => "machine-busy",
            Self::OperationsFailed => "operations-failed",
            Self::ConnectionsFailed => "connections-failed",
            Self::NoEffect => "no-effect",
            Self::DoneOtherwise => "done-otherwise",
            Self::EndedEarly => "ended-early",
            Self::OutputLost => "output-lost",
            Self::LeftBehind => "left-behind",
            Self::OtherVersion => "other-version",
        }
    }

    /// Of versions without kinds.
    const fn unknown() -> Self {
        Self::OtherVersion
    }
}

impl<'de> Deserialize<'de> for WarningKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "kind", |name| {
            Some(Self::from_name(name).unwrap_or(Self::OtherVersion))
        })
    }
}

impl From<NotSeen> for WarningKind {
    fn from(reason: NotSeen) -> Self {
        match reason {
            NotSeen::Encrypted => Self::StatementsEncrypted,
            NotSeen::PreparedBefore => Self::StatementsPreparedBefore,
            NotSeen::Cut => Self::StatementsCut,
            NotSeen::NotDecoded => Self::StatementsNotDecoded,
        }
    }
}
