//! What it costs to compute after a longer rest than in the measurement.
//!
//! Over a longer link client and server rest longer between two messages. Meanwhile their processor has
//! slept, and others have used its caches: the same work takes longer than at no distance, where one message
//! follows the other at once. How much longer depends on how long it takes at all, because what has to be
//! loaded again is what the work touches: docs/prediction.md#waking-up.
//!
//! Where many share a processor it rests less than each of them. What they have in common stays loaded then,
//! and what each has of its own (a connection's process, its memory) does not.

use crate::plan::{After, OperationPlan, nanos};
use model::{Operation, Step, Timestamp};
use std::time::Duration;

/// Whether a prediction allows for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WakeUp {
    /// By the assumed figures of this module.
    #[default]
    Assumed,
    /// Client and server compute as fast as measured, however long they have rested.
    None,
}

/// How long one that computes has rested before, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// In the measurement.
    pub measured: u64,
    /// On the target.
    pub own: u64,
    /// The processor that it gets there; `None` if it has one for itself.
    pub processor: Option<u64>,
}

/// How much longer than measured some work takes, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waking {
    /// By what is known of the processor that it gets.
    pub expected: u64,
    /// On a processor of its own, which rests as long as it does itself.
    pub alone: u64,
}

impl WakeUp {
    /// How much longer than measured `work` takes after such a rest.
    pub fn waking(self, work: u64, rest: Rest) -> Waking {
        let alone = Rest {
            processor: None,
            ..rest
        };
        Waking {
            expected: self.allowance(work, rest),
            alone: self.allowance(work, alone),
        }
    }

    /// The same as expected. Nanoseconds.
    fn allowance(self, work: u64, rest: Rest) -> u64 {
        if self == Self::None {
            return 0;
        }
        let colder = |rested: u64| (coldness(rested) - coldness(rest.measured)).max(0.0);
        let most = most_for(work);
        let own = colder(rest.own);
        let allowance = match rest.processor.filter(|rested| *rested < rest.own) {
            None => own * most,
            Some(rested) => {
                let apart = at_most(work as f64 * OWN_FACTOR, MAX_CONNECTION_ALLOWANCE).min(most);
                own * apart + colder(rested) * (most - apart)
            }
        };
        allowance as u64
    }
}

/// Fills in how long clients and servers had rested before they computed, as far as the operation shows it:
/// who comes first on a connection is taken not to have rested, as where one operation follows the other.
pub fn set_rests(plan: &mut OperationPlan, operation: &Operation) {
    let parts = operation.steps.iter().flat_map(|step| step.exchange.steps());
    let mut replied: Vec<Option<Timestamp>> = vec![None; plan.connections.len()];
    let mut waits = Vec::with_capacity(plan.nodes.len());
    for (node, part) in plan.nodes.iter_mut().zip(parts) {
        let before = &mut replied[node.connection as usize];
        let to_server = part.server_side_rtt.unwrap_or_default();
        node.rested[1] = before.map_or(0, |before| nanos(part.request_started.since(before) + to_server));
        *before = part.reply_ended.or(*before);
        waits.push(nanos(wait_of_client(part)));
    }
    for node in &mut plan.nodes {
        if let (Some(after), After::Completion) = (node.after, node.after_what) {
            node.rested[0] = waits[after.index()];
        }
        if let Some(reply_after) = node.reply_after {
            node.rested[1] = waits[reply_after.index()];
        }
    }
}

fn wait_of_client(part: &Step) -> Duration {
    let seen = part
        .reply_started
        .map(|started| started.since(part.request_ended));
    seen.unwrap_or_default() + part.client_side_rtt.unwrap_or_default()
}

/// How cold caches are after a rest of this length: 0 is as hot as they get, 1 is as cold.
fn coldness(rested: u64) -> f64 {
    let rested = rested as f64;
    rested / (rested + HALF_COLD.as_nanos() as f64)
}

/// What `work` takes longer when all is cold, in nanoseconds.
fn most_for(work: u64) -> f64 {
    at_most(work as f64 * COLD_FACTOR, MAX_ALLOWANCE)
}

/// `nanos`, and ever less of it the nearer it comes to `most`.
fn at_most(nanos: f64, most: Duration) -> f64 {
    let most = most.as_nanos() as f64;
    nanos * most / (nanos + most)
}

/// The rest after which half of what can be lost is lost.
pub const HALF_COLD: Duration = Duration::from_micros(6_000);
/// Short work takes this much longer, in multiples of itself, when all is cold.
pub const COLD_FACTOR: f64 = 3.5;
/// However long the work is, it does not take longer by more than this: by then all that it needs is loaded.
pub const MAX_ALLOWANCE: Duration = Duration::from_millis(2);
/// The part of that which is loaded for one connection alone, likewise: in multiples of short work.
pub const OWN_FACTOR: f64 = 1.5;
/// However long the work is, no more than this of it is one connection's own.
pub const MAX_CONNECTION_ALLOWANCE: Duration = Duration::from_micros(150);

/// How much less, and how much more, than that it may be, as shares of it: nine in ten programs.
pub const FEWER: f64 = 1.0;
/// See [`FEWER`].
pub const MORE: f64 = 1.0;
/// How much more it may be for every round trip, however short the work: client, server and link each have a
/// processor that sleeps deeper the longer nothing comes.
pub const SLEEP: Duration = Duration::from_micros(150);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn allowance(work: u64, measured: u64, own: u64, processor: Option<u64>) -> u64 {
        let rest = Rest {
            measured,
            own,
            processor,
        };
        assert_eq!(WakeUp::None.allowance(work, rest), 0);
        WakeUp::Assumed.allowance(work, rest)
    }

    #[test]
    fn who_rests_no_longer_needs_no_longer() {
        assert_eq!(allowance(MS, 5 * MS, 5 * MS, None), 0);
        assert_eq!(allowance(MS, 5 * MS, MS, Some(0)), 0);
        assert_eq!(allowance(0, 0, 20 * MS, None), 0);
    }

    #[test]
    fn the_allowance_grows_with_the_rest_and_with_the_work_up_to_a_limit() {
        assert!(allowance(100_000, 0, 5 * MS, None) < allowance(100_000, 0, 20 * MS, None));
        assert!(allowance(100_000, 0, 20 * MS, None) < allowance(200_000, 0, 20 * MS, None));
        assert!(allowance(100_000, 20 * MS, 40 * MS, None) < allowance(100_000, 0, 20 * MS, None) / 4);
        assert!(allowance(u64::MAX, 0, u64::MAX, None) <= MAX_ALLOWANCE.as_nanos() as u64);
    }

    #[test]
    fn a_processor_that_others_keep_awake_leaves_what_is_a_connections_own() {
        let alone = allowance(400_000, 0, 20 * MS, None);
        assert_eq!(allowance(400_000, 0, 20 * MS, Some(20 * MS)), alone);
        let busy = allowance(400_000, 0, 20 * MS, Some(0));
        assert!(busy < alone / 4 && busy <= MAX_CONNECTION_ALLOWANCE.as_nanos() as u64);
        assert!((busy..alone).contains(&allowance(400_000, 0, 20 * MS, Some(MS))));
    }
}
