//! Waste seen on the wire, and savings of its remedies.

use crate::{Evidence, Fingerprint, OperationGroup, Share};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One kind of waste in one place: a fingerprint, operation name or server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of waste.
    pub kind: FindingKind,
    /// The statement, if there is a single one.
    pub fingerprint: Option<Fingerprint>,
    /// Name of the operations; each name has a separate finding.
    pub operation_name: Arc<str>,
    /// Operations with this waste.
    pub operations: u64,
    /// Whether the round trips certainly belong to these operations.
    pub owners: FindingOwners,
    /// Whether repeated statements each followed another statement's reply, and so may need its
    /// data. `None` for other kinds.
    pub dependent: Option<bool>,
    /// Number of executions, fetches or connections, by kind (docs/findings.md).
    pub count: u64,
    /// Cost in round trips.
    pub turns: u64,
    /// Round trips that the remedy saves, 0 for other waste.
    pub saves_turns: u64,
    /// Maximum of `saves_turns`, as round trips may be a driver's, which the remedy avoids, or the
    /// program's.
    pub saves_turns_most: u64,
    /// Time saved over all operations, by ascending round-trip time. Without replays, `saves_turns`
    /// overstates overlapping round trips. For [`FindingKind::HeldTransaction`] it is time that
    /// rows are held, and must not be summed.
    pub savings: Vec<Saving>,
    /// Client software as reported on its connections.
    pub driver: Option<Arc<str>>,
    /// One or two sentences for the driver, if known; without literals of the traffic.
    pub remedy: String,
}

/// Whether a finding's round trips certainly belong to its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FindingOwners {
    /// Known, or most likely right, of [`Evidence::ENOUGH`] of them.
    #[default]
    Known,
    /// Too many are guessed; with the expected share of own round trips, if enough guesses have a
    /// probability.
    Guessed(Option<Share>),
    /// As `Guessed`, and the finding may consist of others' statements: less than half of the
    /// operations have it, or it compares statements of one operation and too few are its own for
    /// a prediction.
    Doubtful(Option<Share>),
}

impl FindingOwners {
    /// For a finding and the operation counts in `groups`.
    pub fn new(finding: &Finding, groups: &[OperationGroup]) -> Self {
        let (mut evidence, mut count) = (Evidence::default(), 0);
        for group in groups.iter().filter(|group| group.name == finding.operation_name) {
            evidence.add(&group.evidence);
            count += group.count;
        }
        let Some(own) = evidence.own().filter(|_| !evidence.shows_owners()) else {
            return Self::Known;
        };
        let is_rare = finding.operations * 2 < count;
        let is_blurred = finding.kind.compares_statements() && evidence.enough_own().is_err();
        let rated = Some(own).filter(|_| evidence.is_rated());
        match rated {
            _ if is_rare || is_blurred => Self::Doubtful(rated),
            Some(own) if own.as_fraction() >= Evidence::ENOUGH => Self::Known,
            _ => Self::Guessed(rated),
        }
    }

    /// Whether the owners are not certain.
    pub fn are_guessed(self) -> bool {
        self != Self::Known
    }

    /// Whether they are guessed without a probability.
    pub fn are_unrated(self) -> bool {
        self.are_guessed() && self.likely_right().is_none()
    }

    /// Expected share of own round trips, if guessed with a probability.
    pub const fn likely_right(self) -> Option<Share> {
        match self {
            Self::Known => None,
            Self::Guessed(own) | Self::Doubtful(own) => own,
        }
    }
}

/// Savings of a remedy at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving {
    /// The requested round-trip time.
    pub rtt: Duration,
    /// Time saved over all observed operations.
    pub saves: Duration,
    /// Bounds of `saves` from replays. Without them, `saves` overstates overlapping round trips.
    pub bounds: Option<[Duration; 2]>,
    /// Operation time with the remedy, from the same replays.
    pub remedied: Option<Remedied>,
}

/// Operation time with a remedy at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remedied {
    /// Median of the replayed operations.
    pub duration: Duration,
    /// Lower bound, without remaining work.
    pub low: Duration,
    /// Upper bound, with the most remaining work.
    pub high: Duration,
}

/// Work and bytes that remain of a saved round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    /// The same work, in another round trip without additional bytes.
    Work,
    /// The same work, and the bytes move to another round trip.
    WorkAndBytes,
    /// One statement handles all rows as before; the overhead per statement is saved.
    Rows,
    /// The client continues without the request.
    Client,
    /// No work, as both sides worked only for the round trip.
    Nothing,
}

/// Identity of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingKey {
    /// The kind of waste.
    pub kind: FindingKind,
    /// The statement, if there is a single one.
    pub fingerprint: Option<Fingerprint>,
    /// Name of the operations.
    pub operation_name: Arc<str>,
}

/// Parts of an operation that a remedy leaves out; empty if it is no whole exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The finding to remedy.
    pub finding: FindingKey,
    /// Indexes of steps without their round trips.
    pub steps: Vec<u32>,
    /// Indexes of steps no longer held back for a delayed acknowledgement.
    pub held_back: Vec<u32>,
}

impl LeftOut {
    /// Whether there is no effect to replay.
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty() && self.held_back.is_empty()
    }
}

/// Excludes findings that may belong to other operations.
pub fn sure_findings(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| !finding.may_be_others())
}

impl Finding {
    /// Whether the statements may belong to other operations.
    pub const fn may_be_others(&self) -> bool {
        matches!(self.owners, FindingOwners::Doubtful(_))
    }

    /// `5`, or `3 to 6` if the number is uncertain.
    pub fn saves_turns_words(&self) -> String {
        match self.saves_turns_most > self.saves_turns {
            true => format!("{} to {}", self.saves_turns, self.saves_turns_most),
            false => self.saves_turns.to_string(),
        }
    }

    /// The saving at the longest round-trip time, for ranking.
    pub fn most(&self) -> Duration {
        self.savings
            .iter()
            .map(|saving| saving.saves)
            .max()
            .unwrap_or_default()
    }
}

/// The kinds of waste, in no particular order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// The same statement repeated in an operation, with one row (or few) each.
    NPlusOne,
    /// One row written per round trip by the program.
    RowByRow,
    /// A driver's batch with one round trip per row.
    UnrewrittenBatch,
    /// A result fetched in more round trips than its size requires.
    SmallFetch,
    /// Statements prepared, run once and closed: two or three round trips instead of one.
    OneShotPrepare,
    /// Statements prepared each time because an identifier in their comment changes.
    CommentDefeatsCache,
    /// BEGIN, COMMIT, SET, `SELECT 1` and similar as separate round trips.
    ControlTurns,
    /// A connection opened (and logged in) per operation.
    Reconnect,
    /// The same query and result several times in an operation.
    RepeatedRead,
    /// Independent queries that run in sequence.
    Sequential,
    /// Compressible data, uncompressed on a slow link.
    NoCompression,
    /// The client waits for an acknowledgement (Nagle against delayed ACK).
    AckStall,
    /// Transfers limited by the receiver's window instead of the link.
    WindowLimited,
    /// DATA of HTTP/2 waits for a WINDOW_UPDATE.
    FlowControl,
    /// A listener's RESEND or REDIRECT costs a round trip.
    ListenerTurn,
    /// A command redirected to another server costs a round trip.
    Redirected,
    /// A driver with compression that did not request it.
    CompressionNotAsked,
    /// A transaction with many round trips or client pauses after its first write.
    HeldTransaction,
    /// Similar requests in sequence over a protocol that is not decoded: perhaps one for each key.
    SimilarRequests,
}

impl FindingKind {
    /// All kinds, in no particular order.
    pub const ALL: &[Self] = &[
        Self::NPlusOne,
        Self::RowByRow,
        Self::UnrewrittenBatch,
        Self::SmallFetch,
        Self::OneShotPrepare,
        Self::CommentDefeatsCache,
        Self::ControlTurns,
        Self::Reconnect,
        Self::RepeatedRead,
        Self::Sequential,
        Self::NoCompression,
        Self::AckStall,
        Self::WindowLimited,
        Self::FlowControl,
        Self::ListenerTurn,
        Self::Redirected,
        Self::CompressionNotAsked,
        Self::HeldTransaction,
        Self::SimilarRequests,
    ];

    /// Kind with this current or older name.
    pub fn from_name(word: &str) -> Option<Self> {
        match word {
            "control-turns" => Some(Self::ControlTurns),
            "listener-turn" => Some(Self::ListenerTurn),
            _ => Self::ALL.iter().copied().find(|kind| kind.name() == word),
        }
    }

    /// Name in commands, records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NPlusOne => "n+1",
            Self::RowByRow => "row-by-row",
            Self::UnrewrittenBatch => "unrewritten-batch",
            Self::SmallFetch => "small-fetch",
            Self::OneShotPrepare => "one-shot-prepare",
            Self::CommentDefeatsCache => "comment-defeats-cache",
            Self::ControlTurns => "control-round-trips",
            Self::Reconnect => "reconnect",
            Self::RepeatedRead => "repeated-read",
            Self::Sequential => "sequential",
            Self::NoCompression => "no-compression",
            Self::AckStall => "ack-stall",
            Self::WindowLimited => "window-limited",
            Self::FlowControl => "flow-control",
            Self::ListenerTurn => "listener-round-trip",
            Self::Redirected => "redirected",
            Self::CompressionNotAsked => "compression-not-asked",
            Self::HeldTransaction => "held-transaction",
            Self::SimilarRequests => "similar-requests",
        }
    }
}

impl FindingKind {
    /// Whether it depends on the other statements of the operation. A loop of one statement on one
    /// connection is a loop whoever owns it.
    pub const fn compares_statements(self) -> bool {
        matches!(self, Self::RepeatedRead | Self::Sequential)
    }

    /// Work that remains of the saved round trips.
    pub const fn remains(self) -> Remains {
        match self {
            Self::NPlusOne | Self::RowByRow | Self::UnrewrittenBatch | Self::SimilarRequests => Remains::Rows,
            Self::SmallFetch | Self::Sequential => Remains::WorkAndBytes,
            Self::RepeatedRead | Self::Redirected => Remains::Client,
            Self::Reconnect | Self::ListenerTurn => Remains::Nothing,
            // The server still does the work of a COMMIT, or of the prepared statement.
            Self::OneShotPrepare | Self::CommentDefeatsCache | Self::ControlTurns => Remains::Work,
            // They save no round trips.
            Self::NoCompression
            | Self::AckStall
            | Self::WindowLimited
            | Self::FlowControl
            | Self::CompressionNotAsked
            | Self::HeldTransaction => Remains::Work,
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
