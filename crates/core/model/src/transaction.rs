//! Transactions, and how long they held locks.

use crate::serde_units::ns;
use crate::{Attribution, ConnectionId, LinkRates};
use crate::{Distribution, Operation};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// A transaction open between at least two replies, or an operation's part of one, with the
/// server's times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationTransaction {
    /// Name of its first reading or writing statement.
    pub name: Arc<str>,
    /// Connection of the transaction.
    pub connection: ConnectionId,
    /// Index of the opening step, if opened here.
    pub opened_by: Option<u32>,
    /// Index of the ending step, if ended here.
    pub ended_by: Option<u32>,
    /// Index of the first step that writes or locks.
    pub first_write: Option<u32>,
    /// Time open up to here.
    pub held: HeldTime,
}

impl OperationTransaction {
    /// Whether it ended here, where it counts.
    pub const fn is_over(&self) -> bool {
        self.ended_by.is_some()
    }
}

/// Time a transaction was open at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldTime {
    /// From the opening request's arrival to that of the first write, or the end.
    pub before_write: Attribution,
    /// From the first write to the end, while rows were held.
    pub after_write: Attribution,
    /// Round trips of its exchanges except the first.
    pub turns: u32,
    /// Round trips after the first write.
    pub turns_after_write: u32,
    /// Executions that write or lock rows, by their text.
    pub writes: u32,
}

impl HeldTime {
    /// Total time it was open.
    pub fn total(&self) -> Duration {
        self.before_write.total() + self.after_write.total()
    }

    /// Parts of that time.
    pub fn attribution(&self) -> Attribution {
        let mut all = self.before_write;
        all.add(&self.after_write);
        all
    }
}

/// Transactions of one name in operations of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldTransactions {
    /// Name of the transactions.
    #[serde(rename = "transaction_name")]
    pub name: Arc<str>,
    /// Operations in which they ended.
    pub operation_name: Arc<str>,
    /// Number of these transactions.
    pub count: u64,
    /// Transactions that write or lock rows.
    pub writing: u64,
    /// Executions that write or lock rows.
    pub writes: u64,
    /// Round trips inside all of them ([`HeldTime::turns`]).
    pub turns: u64,
    /// Maximum round trips inside one.
    pub most_turns: u64,
    /// Round trips after the first write of each.
    pub turns_after_write: u64,
    /// Median open time, never withheld.
    #[serde(rename = "held_ns", with = "ns")]
    pub median: Duration,
    /// Median time that rows are held, if one writes.
    #[serde(rename = "rows_held_ns", with = "ns", skip_serializing_if = "Option::is_none")]
    pub rows_held: Option<Duration>,
    /// Sum of their open times by part.
    #[serde(flatten)]
    pub attribution: Attribution,
    /// Spread of their open times.
    #[serde(flatten)]
    pub spread: Distribution,
}

/// Open time of transactions on another link.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldPrediction {
    /// Name of the transactions.
    pub name: Arc<str>,
    /// Operations in which they ended.
    pub operation_name: Arc<str>,
    /// Number of replays used.
    pub replays: u64,
    /// Round-trip time of the link.
    pub rtt: Duration,
    /// Rates of the link.
    pub rate: LinkRates,
    /// The complete link in its text form.
    pub link: Arc<str>,
    /// Predicted median open time with a single client.
    pub median: Duration,
    /// Predicted median time that rows are held, if one writes.
    pub rows_held: Option<Duration>,
    /// Longest predicted open time.
    pub longest: Duration,
}

impl Operation {
    /// The transactions that ended in it.
    pub fn ended_transactions(&self) -> impl Iterator<Item = &OperationTransaction> {
        self.transactions
            .iter()
            .filter(|transaction| transaction.is_over())
    }
}
