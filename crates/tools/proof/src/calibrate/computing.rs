//! Computing times of one side, from the exchanges that it saw.

use analysis::fact::Fact;
use model::{ConnectionId, Phase, Side, Summary, Timestamp};
use predict::calibration::ComputingSample;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// A time with one delay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) round: u32,
    pub(super) delay: Duration,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct ComputingTimes {
    waits: Vec<Wait>,
    blocks: Vec<Block>,
}

/// One request and its reply.
#[derive(Debug, Clone, Copy)]
struct Wait {
    connection: ConnectionId,
    statement: u64,
    sent: Timestamp,
    sent_all: Timestamp,
    answered: Timestamp,
    answered_all: Timestamp,
}

impl ComputingTimes {
    pub(super) fn add_block(&mut self, block: Block) {
        self.blocks.push(block);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    pub(super) fn add_fact(&mut self, fact: &Fact) {
        let Fact::Exchange { exchange, .. } = fact else {
            return;
        };
        if exchange.phase != Phase::Work || self.waits.len() >= MAX_WAITS {
            return;
        }
        let mut hasher = DefaultHasher::new();
        match &exchange.fingerprint {
            Some(text) => text.hash(&mut hasher),
            None => exchange.request_bytes.hash(&mut hasher),
        }
        let mut statement = hasher.finish();
        for step in exchange.steps() {
            let (Some(answered), Some(answered_all)) = (step.reply_started, step.reply_ended) else {
                continue;
            };
            self.waits.push(Wait {
                connection: exchange.connection,
                statement,
                sent: step.request_started,
                sent_all: step.request_ended,
                answered,
                answered_all,
            });
            statement = statement.wrapping_add(1);
        }
    }

    pub(super) fn totals(&self) -> Summary {
        let waits = self.waits.len() as u64;
        let first = self.waits.iter().map(|wait| wait.sent).min();
        let last = self.waits.iter().map(|wait| wait.answered_all).max();
        Summary {
            turns: waits,
            exchanges: waits,
            duration: first
                .zip(last)
                .map_or(Duration::ZERO, |(first, last)| last.since(first)),
            ..Summary::default()
        }
    }

    /// Computing of `side` while nothing else was in flight, in the order of time.
    pub(super) fn samples(mut self, side: Side) -> Vec<ComputingSample> {
        self.waits.sort_unstable_by_key(|wait| wait.sent);
        match side {
            Side::Client => self.of_client(),
            Side::Server => self.of_server(),
        }
    }

    /// From the last reply to the next request, whichever connections they are on.
    fn of_client(&self) -> Vec<ComputingSample> {
        let mut samples = Vec::new();
        let mut last: Option<&Wait> = None;
        for wait in &self.waits {
            if let Some(last) = last
                && last.answered_all <= wait.sent
                && wait.sent.since(last.answered_all) < MAX_COMPUTING
            {
                let mut hasher = DefaultHasher::new();
                (last.statement, wait.statement).hash(&mut hasher);
                let computed = (last.answered_all, wait.sent);
                let rested = (last.sent_all, last.answered);
                samples.extend(self.sample(hasher.finish(), rested, computed));
            }
            if last.is_none_or(|last| last.answered_all <= wait.answered_all) {
                last = Some(wait);
            }
        }
        samples
    }

    /// From a request to its reply, if no other was in flight; rests of the connection.
    fn of_server(&self) -> Vec<ComputingSample> {
        let mut samples = Vec::new();
        let mut before: HashMap<ConnectionId, Timestamp> = HashMap::new();
        let mut busy_until = Timestamp::default();
        for (index, wait) in self.waits.iter().enumerate() {
            let next = self.waits.get(index + 1);
            let is_alone = busy_until <= wait.sent && next.is_none_or(|next| wait.answered_all <= next.sent);
            busy_until = busy_until.max(wait.answered_all);
            let before = before.insert(wait.connection, wait.answered_all);
            if let Some(before) = before.filter(|_| is_alone)
                && wait.answered.since(wait.sent_all) < MAX_COMPUTING
            {
                let (rested, computed) = ((before, wait.sent), (wait.sent_all, wait.answered));
                samples.extend(self.sample(wait.statement, rested, computed));
            }
        }
        samples
    }

    /// `None` unless all of it was in one block.
    fn sample(
        &self,
        statement: u64,
        (rested_from, rested_until): (Timestamp, Timestamp),
        (from, until): (Timestamp, Timestamp),
    ) -> Option<ComputingSample> {
        let after = self.blocks.partition_point(|block| block.from <= rested_from);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        (until <= block.until).then(|| ComputingSample {
            statement,
            round: block.round,
            delay: block.delay,
            computing: until.nanos_since(from),
            rest: rested_until.nanos_since(rested_from),
        })
    }
}

/// A longer pause of a client is a user's, and in longer computing an effect of rest is not seen.
const MAX_COMPUTING: Duration = Duration::from_millis(50);
const MAX_WAITS: usize = 1_000_000;
