//! Replies at a fixed time after their request: sign-ins hide how long they took.

use crate::plan::{OperationPlan, nanos};
use foldhash::{HashMap, HashSet};
use model::{Nanos, Operation};
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Timers {
    replies: HashMap<Arc<str>, Vec<Reply>>,
    timed: HashSet<Arc<str>>,
}

/// Times since the request.
#[derive(Debug, Clone, Copy)]
struct Reply {
    /// Answer to the server's last call.
    called: Nanos,
    replied: Nanos,
}

impl Timers {
    pub fn learn(&mut self, operations: &[Operation]) {
        for operation in operations {
            let Some(reply) = Reply::from_operation(operation) else {
                continue;
            };
            let name = Arc::clone(&operation.name);
            let replies = self.replies.entry(name).or_default();
            if replies.len() < MAX_REPLIES {
                replies.push(reply);
            }
        }
        let timed = self.replies.iter().filter(|(_, replies)| are_timed(replies));
        self.timed = timed.map(|(name, _)| Arc::clone(name)).collect();
    }

    pub fn set(&self, name: &str, plan: &mut OperationPlan) {
        let Some(request) = plan.request.filter(|_| self.timed.contains(name)) else {
            return;
        };
        let measured = &mut plan.nodes[request.index()].measured;
        let [asked, replied] = measured.computed_at;
        measured.server_before = Nanos::ZERO;
        let arrived = asked.plus(measured.round_trip / 2);
        plan.timer = Some(replied.nanos_since(arrived));
    }
}

impl Reply {
    fn from_operation(operation: &Operation) -> Option<Self> {
        let request = operation.steps.iter().find(|step| step.reply_after.is_some())?;
        let step = request.exchange.steps().last()?;
        let replied = nanos(step.reply_started?.since(step.request_started));
        let waited = nanos(step.server.saturating_sub(step.server_inside_reply));
        Some(Self {
            called: replied.saturating_sub(waited),
            replied,
        })
    }
}

/// Whether a wait follows the calls that makes up for their varying time.
fn are_timed(replies: &[Reply]) -> bool {
    let of = |time: fn(&Reply) -> Nanos| spread(replies.iter().map(time).collect());
    let ((called, calls_vary), (replied, replies_vary)) =
        (of(|reply| reply.called), of(|reply| reply.replied));
    replies.len() >= MIN_REPLIES
        && replied.saturating_sub(called) >= MIN_WAIT
        && replies_vary.as_f64() * MIN_RATIO < calls_vary.as_f64()
}

/// Median, and median distance from it.
fn spread(mut times: Vec<Nanos>) -> (Nanos, Nanos) {
    let median = |times: &mut Vec<Nanos>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    let middle = median(&mut times);
    let away = |time: &Nanos| time.saturating_sub(middle).max(middle.saturating_sub(*time));
    let mut distances: Vec<Nanos> = times.iter().map(away).collect();
    (middle, median(&mut distances))
}

const MIN_REPLIES: usize = 6;
const MAX_REPLIES: usize = 1000;
const MIN_WAIT: Nanos = Nanos::from_millis(10);
/// Of the variations of calls and replies.
const MIN_RATIO: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(called: [u64; 8], replied: impl Fn(usize, u64) -> u64) -> bool {
        let reply = |(index, called): (usize, &u64)| Reply {
            called: Nanos::from_millis(*called),
            replied: Nanos::from_millis(replied(index, *called)),
        };
        are_timed(&called.iter().enumerate().map(reply).collect::<Vec<_>>())
    }

    #[test]
    fn a_wait_that_makes_up_for_varying_calls_is_a_timer_s() {
        let called = [101, 113, 96, 104, 99, 108, 93, 105];
        assert!(timed(called, |index, _| 500 + index as u64 % 2));
        // Fixed and varying waits, and a short one.
        assert!(!timed(called, |_, called| called + 400));
        assert!(!timed(called, |index, called| called
            + 400
            + 5 * (index as u64 % 3)));
        assert!(!timed(called, |_, _| 113));
        assert!(!timed([100; 8], |_, _| 500));
    }
}
