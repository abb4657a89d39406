//! Findings: something wasteful seen on the wire, with what its remedy would save on a given link.

use crate::{Evidence, Fingerprint, OperationGroup, Share};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One kind of waste in one place: a fingerprint, an operation's name, or a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of waste.
    pub kind: FindingKind,
    /// The statement it is about; `None` if it is about no single one (round trips of BEGIN and COMMIT,
    /// connections).
    pub fingerprint: Option<Fingerprint>,
    /// The name of the operations it was seen in. Seen in operations of several names, it is several
    /// findings.
    pub operation_name: Arc<str>,
    /// Operations it was seen in.
    pub operations: u64,
    /// Whether its round trips are known to be those of these operations.
    pub owners: FindingOwners,
    /// Of repeated statements: whether each was asked after the reply to another statement of the same loop,
    /// so that it may need what that replied. True of a row of different statements, which may too. `None`
    /// for other kinds.
    pub dependent: Option<bool>,
    /// How often it was seen: executions, fetches, connections, by kind (docs/findings.md).
    pub count: u64,
    /// Round trips that what is found cost in all.
    pub turns: u64,
    /// Round trips that the remedy would save. 0 for waste that is not round trips (rate, window, delayed
    /// ACK).
    pub saves_turns: u64,
    /// Round trips that it would save at most: more than `saves_turns` where it does not show whether a
    /// driver makes them, which the remedy spares, or its program.
    pub saves_turns_most: u64,
    /// Time saved with the remedy over all operations at each round trip asked, ascending: by replays without
    /// what falls away, or where there were none `saves_turns` round trips and what else the kind reports,
    /// which misleads where these overlapped with others on another connection. Of
    /// [`FindingKind::HeldTransaction`] it is time for which rows are held, which others may wait for, and
    /// not to be added.
    pub savings: Vec<Saving>,
    /// The client software of the connections it was seen on, as it introduced itself; `None` if it did not.
    pub driver: Option<Arc<str>>,
    /// What to do, for the driver seen where one was: one or two sentences, no literal of the traffic in
    /// them.
    pub remedy: String,
}

/// Whether the round trips of a finding are known to be those of the operations it was seen in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FindingOwners {
    /// Known of [`Evidence::ENOUGH`] of them, or that many are their own, most likely.
    #[default]
    Known,
    /// Of all round trips of the operations, this share is their own, most likely.
    Guessed(Share),
    /// Likewise, and the finding may be made of others' statements: fewer than half of the operations have
    /// it, or it compares statements of one operation ([`FindingKind::compares_statements`]) where too few
    /// are its own for a prediction.
    Doubtful(Share),
}

impl FindingOwners {
    /// Those of a finding in so many of the operations with its name, which `groups` has.
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
        match own.as_fraction() {
            _ if is_rare || is_blurred => Self::Doubtful(own),
            own if own >= Evidence::ENOUGH => Self::Known,
            _ => Self::Guessed(own),
        }
    }

    /// Of all round trips of the operations, the share that is their own, most likely. `None` where that is
    /// known.
    pub const fn likely_right(self) -> Option<Share> {
        match self {
            Self::Known => None,
            Self::Guessed(own) | Self::Doubtful(own) => Some(own),
        }
    }
}

/// What a remedy saves at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving {
    /// Round trip requested.
    pub rtt: Duration,
    /// Time saved over all operations that were observed.
    pub saves: Duration,
    /// Bounds of that, where operations were replayed with and without what the remedy leaves out; otherwise
    /// it is a number of round trips times the distance, which is too much where they overlapped with others.
    pub bounds: Option<[Duration; 2]>,
    /// What an operation takes with the remedy, likewise.
    pub remedied: Option<Remedied>,
}

/// What an operation takes with a remedy at one distance: the median of those that were replayed, and its
/// bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remedied {
    /// The operation.
    pub duration: Duration,
    /// No less, if client and server have nothing to do any more about what falls away.
    pub low: Duration,
    /// No more, if they have the most to do.
    pub high: Duration,
}

/// What a remedy leaves of a round trip that it saves: its work, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    /// Client and server do the same, in another round trip that has its own bytes.
    Work,
    /// The same, and its bytes come with another round trip.
    WorkAndBytes,
    /// One statement does it for all: its rows are read or written as before, and what each statement costs
    /// by itself falls away.
    Rows,
    /// The client goes on as before, without asking.
    Client,
    /// Nothing: client and server did it for the round trip alone.
    Nothing,
}

/// What makes findings one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingKey {
    /// What kind of waste.
    pub kind: FindingKind,
    /// The statement it is about; `None` if it is about no single one.
    pub fingerprint: Option<Fingerprint>,
    /// The name of the operations it was seen in.
    pub operation_name: Arc<str>,
}

/// What the remedy of a finding leaves out of one operation. Nothing, where it is no exchange as a whole:
/// then no replay shows what it saves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The finding.
    pub finding: FindingKey,
    /// Steps whose round trips fall away, by their place in the operation.
    pub steps: Vec<u32>,
    /// Steps whose bytes are not held back for a delayed acknowledgement any more.
    pub held_back: Vec<u32>,
}

impl LeftOut {
    /// Whether nothing falls away that could be replayed.
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty() && self.held_back.is_empty()
    }
}

impl Finding {
    /// Whether it may be made of other operations' statements: then it is no fact about these.
    pub const fn may_be_others(&self) -> bool {
        matches!(self.owners, FindingOwners::Doubtful(_))
    }

    /// `5`, or `3 to 6` where it is not known how many round trips the remedy saves.
    pub fn saves_turns_words(&self) -> String {
        match self.saves_turns_most > self.saves_turns {
            true => format!("{} to {}", self.saves_turns, self.saves_turns_most),
            false => self.saves_turns.to_string(),
        }
    }

    /// The saving at the longest round trip asked: what findings are ranked by.
    pub fn most(&self) -> Duration {
        self.savings
            .iter()
            .map(|saving| saving.saves)
            .max()
            .unwrap_or_default()
    }
}

/// The kinds of waste, in no order of importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// The same statement asked again and again in an operation, for one row (or few) of a result each.
    NPlusOne,
    /// One row inserted (updated, deleted) by each round trip, by the program's own loop.
    RowByRow,
    /// A batch of the driver's that goes over the wire as one round trip a row.
    UnrewrittenBatch,
    /// A result fetched in more round trips than its size asks for.
    SmallFetch,
    /// Statements prepared, run once and closed: two or three round trips where one does.
    OneShotPrepare,
    /// Statements prepared anew each time, because a comment in their text carries an identifier that
    /// changes.
    CommentDefeatsCache,
    /// BEGIN, COMMIT, SET, `SELECT 1` and similar statements as round trips of their own.
    ControlTurns,
    /// A connection made (and logged in) for every operation.
    Reconnect,
    /// The same question with the same answer more than once in an operation.
    RepeatedRead,
    /// Queries that did not need each other's results, asked one after another.
    Sequential,
    /// Much compressible data on a slow link, not compressed.
    NoCompression,
    /// A client that waits for an acknowledgement before it sends the rest of a request (Nagle against
    /// delayed ACK).
    AckStall,
    /// Transfers that wait for the receiver's window instead of the link.
    WindowLimited,
    /// A listener that answers a connection with RESEND or REDIRECT: a round trip more.
    ListenerTurn,
    /// A command that the server answers with the place of another server: a round trip for nothing.
    Redirected,
    /// A driver that can compress and did not ask for it.
    CompressionNotAsked,
    /// A transaction that goes on for many round trips, or while its client thinks, after its first write.
    HeldTransaction,
}

impl FindingKind {
    /// All of them.
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
        Self::ListenerTurn,
        Self::Redirected,
        Self::CompressionNotAsked,
        Self::HeldTransaction,
    ];

    /// The kind of this name, as [`FindingKind::name`] has it or as older versions had it.
    pub fn from_name(word: &str) -> Option<Self> {
        match word {
            "control-turns" => Some(Self::ControlTurns),
            "listener-turn" => Some(Self::ListenerTurn),
            _ => Self::ALL.iter().copied().find(|kind| kind.name() == word),
        }
    }

    /// The word for it on the command line, in records and in reports.
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
            Self::ListenerTurn => "listener-round-trip",
            Self::Redirected => "redirected",
            Self::CompressionNotAsked => "compression-not-asked",
            Self::HeldTransaction => "held-transaction",
        }
    }
}

impl FindingKind {
    /// Whether it rests on which other statements the same operation sent. A loop of one statement on its
    /// connection is a loop whoever waited for it.
    pub const fn compares_statements(self) -> bool {
        matches!(self, Self::RepeatedRead | Self::Sequential)
    }

    /// What the remedy leaves of the round trips that it saves.
    pub const fn remains(self) -> Remains {
        match self {
            Self::NPlusOne | Self::RowByRow | Self::UnrewrittenBatch => Remains::Rows,
            Self::SmallFetch | Self::Sequential => Remains::WorkAndBytes,
            Self::RepeatedRead | Self::Redirected => Remains::Client,
            Self::Reconnect | Self::ListenerTurn => Remains::Nothing,
            // The server does what a COMMIT did, and what a statement is prepared for, all the same; others
            // save no round trips.
            _ => Remains::Work,
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
