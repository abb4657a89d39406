//! Sums of transactions that stayed open between replies.

use super::MAXIMUM_GROUPS;
use foldhash::HashMap;
use model::{
    Attribution, Distribution, DistributionBuilder, HeldTransactions, Operation, OperationTransaction,
};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// At most [`MAXIMUM_GROUPS`], by the operation's name and their own.
#[derive(Debug, Default)]
pub(super) struct Held {
    groups: HashMap<(Arc<str>, Arc<str>), Group>,
}

#[derive(Debug)]
struct Group {
    sums: HeldTransactions,
    spans: DistributionBuilder,
    rows_held: DistributionBuilder,
}

/// Also names their operations.
const OTHER_TRANSACTIONS: &str = "(other transactions)";

impl Held {
    pub(super) fn operation(&mut self, operation: &Operation) {
        for transaction in operation.ended_transactions() {
            let key = (operation.name.clone(), transaction.name.clone());
            let key = if self.groups.len() >= MAXIMUM_GROUPS && !self.groups.contains_key(&key) {
                (Arc::from(OTHER_TRANSACTIONS), Arc::from(OTHER_TRANSACTIONS))
            } else {
                key
            };
            let group = self.groups.entry(key);
            group
                .or_insert_with_key(|(operation, name)| Group::new(operation.clone(), name.clone()))
                .add(transaction);
        }
    }

    pub(super) fn so_far(&mut self, most: usize) -> Vec<HeldTransactions> {
        let mut all: Vec<&mut Group> = self.groups.values_mut().collect();
        let order = |one: &HeldTransactions| Reverse(one.attribution.total());
        all.sort_by(|one, other| {
            let (one, other) = (&one.sums, &other.sums);
            let names = (&one.operation_name, &one.name).cmp(&(&other.operation_name, &other.name));
            order(one).cmp(&order(other)).then(names)
        });
        all.into_iter().take(most).map(Group::outcome).collect()
    }
}

impl Group {
    fn new(operation_name: Arc<str>, name: Arc<str>) -> Self {
        let sums = HeldTransactions {
            name,
            operation_name,
            count: 0,
            writing: 0,
            writes: 0,
            turns: 0,
            most_turns: 0,
            turns_after_write: 0,
            spread: Distribution::default(),
            median: Duration::ZERO,
            rows_held: None,
            attribution: Attribution::default(),
        };
        Self {
            sums,
            spans: DistributionBuilder::new(),
            rows_held: DistributionBuilder::new(),
        }
    }

    fn add(&mut self, transaction: &OperationTransaction) {
        let (sums, held) = (&mut self.sums, &transaction.held);
        let turns = u64::from(held.turns);
        sums.count += 1;
        sums.writing += u64::from(held.writes > 0);
        sums.writes += u64::from(held.writes);
        sums.turns += turns;
        sums.most_turns = sums.most_turns.max(turns);
        sums.turns_after_write += u64::from(held.turns_after_write);
        sums.attribution.add(&held.attribution());
        self.spans.add(held.total());
        if held.writes > 0 {
            self.rows_held.add(held.after_write.total());
        }
    }

    fn outcome(&mut self) -> HeldTransactions {
        self.sums.median = self.spans.percentile(50).unwrap_or_default();
        self.sums.rows_held = self.rows_held.percentile(50);
        self.sums.spread = self.spans.distribution();
        self.sums.clone()
    }
}
