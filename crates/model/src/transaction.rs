//! Transactions, and how long they held what they had locked.

use crate::{Attribution, ConnectionId, LinkRates};
use crate::{Distribution, Operation};
use std::sync::Arc;
use std::time::Duration;

/// A transaction that was open between two replies at least, or what an operation has of it.
///
/// All times are the server's: half a round trip from the observation point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationTransaction {
    /// Its name: that of its first statement that reads or writes, so far.
    pub name: Arc<str>,
    /// The connection it is on.
    pub connection: ConnectionId,
    /// Index of the step that opened it; `None` if it was open before this operation, or this part of one.
    pub opened_by: Option<u32>,
    /// Index of the step that ended it; `None` if it was open after this operation, or this part of one.
    pub ended_by: Option<u32>,
    /// Index of its first step that writes or locks rows; `None` if that is in none of these steps.
    pub first_write: Option<u32>,
    /// How long it was open, from its beginning up to here.
    pub held: HeldTime,
}

impl OperationTransaction {
    /// Whether it ended here: counted once, where it ended.
    pub const fn is_over(&self) -> bool {
        self.ended_by.is_some()
    }
}

/// How long a transaction was open, as its server saw it, and what it did meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldTime {
    /// Where the time went from the arrival of the request that opened it to that of its first statement that
    /// writes; without such a statement, to its end.
    pub before_write: Attribution,
    /// Where the time went from then on, to the end: the time for which it held rows.
    pub after_write: Attribution,
    /// Round trips between its beginning and its end: the round trips of its exchanges but the first.
    pub turns: u32,
    /// Of these, the ones after its first statement that writes.
    pub turns_after_write: u32,
    /// Executions of statements that write or lock rows, as far as their text shows.
    pub writes: u32,
}

impl HeldTime {
    /// How long it was open.
    pub fn total(&self) -> Duration {
        self.before_write.total() + self.after_write.total()
    }

    /// Where that time went.
    pub fn attribution(&self) -> Attribution {
        let mut all = self.before_write;
        all.add(&self.after_write);
        all
    }
}

/// All transactions of one name in the operations of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTransactions {
    /// Their name.
    pub name: Arc<str>,
    /// The name of the operations in which they ended.
    pub operation_name: Arc<str>,
    /// How many.
    pub count: u64,
    /// Of these, the ones with a statement that writes or locks rows.
    pub writing: u64,
    /// Executions of such statements.
    pub writes: u64,
    /// Round trips inside all of them ([`HeldTime::turns`]).
    pub turns: u64,
    /// Round trips inside the one with most.
    pub most_turns: u64,
    /// Round trips after the first write of each.
    pub turns_after_write: u64,
    /// Spread of how long they were open.
    pub spread: Distribution,
    /// Median of how long they were open; not withheld, however few they are.
    pub median: Duration,
    /// Median of how long those that write held rows: from the arrival of their first write to their end.
    /// `None` if none writes.
    pub rows_held: Option<Duration>,
    /// Where the time went in which they were open, summed.
    pub attribution: Attribution,
}

/// How long transactions would be open on another link.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldPrediction {
    /// The name of the transactions.
    pub name: Arc<str>,
    /// The name of the operations in which they ended.
    pub operation_name: Arc<str>,
    /// Replays of such transactions that it was made from: one each, more where the link draws what happens.
    pub replays: u64,
    /// Round trip of the link.
    pub rtt: Duration,
    /// Its rate each way.
    pub rate: LinkRates,
    /// The whole link in its text form.
    pub link: Arc<str>,
    /// Predicted median of how long they are open, by one client alone.
    pub median: Duration,
    /// Predicted median of how long those that write hold rows; `None` if none writes.
    pub rows_held: Option<Duration>,
    /// The longest.
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
