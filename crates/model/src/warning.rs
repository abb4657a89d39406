//! Warnings: what a reader of figures must know, by kind.

use crate::NotSeen;

/// Something a reader of the figures must know: what is missing, what was assumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about: programs decide by this, never by the text.
    pub kind: WarningKind,
    /// One sentence: who, what, where, and what next.
    pub text: String,
}

impl Warning {
    /// A warning of this kind.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    /// The same, of one among several things that are named: `NAME: text`.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        let text = format!("{name}: {}", self.text);
        Self { text, ..self }
    }
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningKind {
    /// Statements were not seen, because they were encrypted.
    StatementsEncrypted,
    /// Statements were not seen, because they were prepared before the observation.
    StatementsPreparedBefore,
    /// Statements were not seen, because payload is missing.
    StatementsCut,
    /// Statements were not seen, because their protocol is not decoded, or not to its end.
    StatementsNotDecoded,
    /// Exchanges were assigned to their requests by a guess.
    OwnersGuessed,
    /// Round trips belong to no request, though there are requests.
    OwnersUnknown,
    /// Which addresses are one host was inferred, became doubtful or stays open.
    HostsInferred,
    /// What is a pooler was inferred.
    PoolerInferred,
    /// Connections have no round-trip time that was measured on them.
    RoundTripUnknown,
    /// A round-trip time, or what stands for a round trip, is not what it would be without what stands in
    /// between.
    RoundTripBiased,
    /// The capture or recording ends before its end: cut short while it was written or copied.
    CaptureCut,
    /// The capture has places, packets or fragments that cannot be read or contradict others.
    CaptureDamaged,
    /// Packets are carried in something that is not opened.
    PacketsNotOpened,
    /// The capture has nothing of what was requested.
    NothingSeen,
    /// Payload passed that is not in the capture.
    PayloadMissing,
    /// Packets were dropped because longwire did not keep up.
    PacketsDropped,
    /// Exchanges were dropped, or several summed up as one, because longwire did not keep up.
    ExchangesDropped,
    /// Connections were open before the observation.
    OpenBefore,
    /// Connections of which one direction is in the capture.
    OneDirection,
    /// The same packets were captured more than once.
    CapturedTwice,
    /// Packets larger than those on the wire.
    SegmentationOffload,
    /// The clock stepped, or a time is impossible.
    ClockStep,
    /// Keys of TLS sessions are missing, unreadable or fit nothing.
    KeysMissing,
    /// Requests that had no reply, or of which it is not certain.
    RequestsUnanswered,
    /// Replies that ended with their connection.
    RepliesCut,
    /// Something is not moved by a prediction, though it was to be.
    NothingMoved,
    /// What operations took beyond what the model explains where they were measured.
    UnexplainedWait,
    /// Senders that pace their packets, which predictions do not replay.
    PacedSenders,
    /// Something was not predicted, or not proved by replays.
    NotPredicted,
    /// Not all was used, because there is no room or time for more.
    LeftOut,
    /// An emulated link was not as requested.
    LinkNotAsAsked,
    /// The machine was too busy or too uneven for exact figures.
    MachineBusy,
    /// Operations, runs or streams failed; they are in no figure.
    OperationsFailed,
    /// Connections or targets were not reached.
    ConnectionsFailed,
    /// What was given has no effect.
    NoEffect,
    /// What was done differs from what was requested, and how.
    DoneOtherwise,
    /// The run was ended before all was done.
    EndedEarly,
    /// An output was lost or not written.
    OutputLost,
    /// Something was left behind on a server.
    LeftBehind,
    /// A recording of another version of longwire has it, without a kind that this version knows.
    OtherVersion,
}

impl WarningKind {
    /// All of them.
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

    /// The word for it in records.
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

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
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
