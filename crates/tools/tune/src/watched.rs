//! Predicts the time of an observed run over links from its exchanges.

use super::distance::{Distance, Limits, Unfinished};
use crate::Workbench;
use analysis::fact::Fact;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations, pipelines};
use client::Watch;
use link::LinkDescription;
use model::{Method, Operation, Timestamp, TrialOutcome};
use pipeline::fact_channel::FactChannel;
use predict::{PredictionTarget, Predictor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::Clock;

#[derive(Debug, Clone)]
pub struct Watched {
    /// Slower than other runs, because every byte is decoded.
    pub outcome: TrialOutcome,
    /// Extra time over each link, by replay; empty if the exchanges could not be decoded.
    pub longer: Vec<Duration>,
}

pub fn run(
    workbench: &mut dyn Workbench,
    of: (&Method, Option<u64>),
    links: &[LinkDescription],
    limits: &Limits<'_>,
) -> Result<Watched, Unfinished> {
    let channel = FactChannel::waiting(false)
        .map_err(|error| Unfinished::Failed(crate::Error::Session(error.into())))?;
    let watch = Watch {
        clock: Clock::anchored_now(),
        factory: &channel,
        began: None,
    };
    let (outcome, facts) = while_collecting(&channel, || {
        Distance::here().run(workbench, of, Some(watch), limits)
    });
    let mut outcome = outcome?;
    let mut job = match outcome.span {
        Some(span) => within(facts, span),
        None => job(facts),
    };
    if let Some(window) = outcome.window.and_then(|window| usize::try_from(window).ok()) {
        // Without distance, replies may return before the window is full, so the traffic does not
        // show the limit.
        job.iter_mut()
            .for_each(|part| pipelines::limit_under_way(part, window));
    }
    // A workbench that counts round trips knows the requests in flight; pairing sees a wait for the
    // server in each one.
    if outcome.turns.is_none() && !job.is_empty() {
        outcome.turns = Some(job.iter().map(|part| u64::from(part.turns)).sum());
    }
    let mut longer = longer(&job, links);
    for (longer, link) in longer.iter_mut().zip(links) {
        *longer = (*longer).max(turns_take(outcome.turns, link));
    }
    Ok(Watched { outcome, longer })
}

/// Runs `work` and collects all facts on another thread, because the channel holds only some of
/// them. Their number grows with the job's exchanges.
fn while_collecting<T>(channel: &FactChannel, work: impl FnOnce() -> T) -> (T, Vec<Fact>) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let collecting = scope.spawn(|| {
            let mut facts = Vec::new();
            loop {
                let was_done = is_done.load(Ordering::Acquire);
                facts.extend(channel.facts());
                if was_done {
                    return facts;
                }
                std::thread::sleep(COLLECT);
            }
        });
        let done = work();
        is_done.store(true, Ordering::Release);
        (done, collecting.join().unwrap_or_default())
    })
}

/// Minimum extra time of these round trips over a link. With a window of requests in flight, fewer
/// waits occur without distance than with it.
fn turns_take(turns: Option<u64>, link: &LinkDescription) -> Duration {
    let turns = u32::try_from(turns.unwrap_or_default()).unwrap_or(u32::MAX);
    link.rtt.saturating_mul(turns)
}

/// Exchanges that began within the job's own time, as one operation. Not every server reports
/// transactions of drivers.
fn within(facts: Vec<Fact>, [from, to]: [Timestamp; 2]) -> Vec<Operation> {
    let mut parts = Vec::new();
    let mut operations = Operations::new(Rule::Whole);
    let mut keep = |grouped: Grouped| {
        if let Grouped::Operation(operation) = grouped {
            parts.push(operation);
        }
    };
    for fact in facts {
        let outside = matches!(&fact, Fact::Exchange { exchange, .. } if !(from..=to).contains(&exchange.at));
        if !outside {
            operations.fact(fact, &mut keep);
        }
    }
    operations.finish(&mut keep);
    parts
}

/// The longest transaction is the job itself, without login and preparation.
fn job(facts: Vec<Fact>) -> Vec<Operation> {
    let mut operations = Operations::new(Rule::Transaction);
    let mut parts: Vec<Operation> = Vec::new();
    let mut keep = |grouped: Grouped| {
        if let Grouped::Operation(operation) = grouped {
            parts.push(operation);
        }
    };
    for fact in facts {
        operations.fact(fact, &mut keep);
    }
    operations.finish(&mut keep);
    let whole = |id: u64| {
        let of_it = parts.iter().filter(|part| part.id == id);
        of_it.map(|part| part.duration).sum::<Duration>()
    };
    let longest = parts.iter().map(|part| part.id).max_by_key(|id| whole(*id));
    parts.retain(|part| Some(part.id) == longest);
    parts
}

/// Replay over the link minus replay over none, so that parts missing from a replay cancel out.
fn longer(job: &[Operation], links: &[LinkDescription]) -> Vec<Duration> {
    let none = LinkDescription::with_rtt(Duration::ZERO);
    let targets = [none].into_iter().chain(links.iter().copied());
    let targets = targets.map(|link| PredictionTarget { link, clients: 1 });
    let mut predictor = Predictor::new(targets.collect(), Box::new(|_| true));
    job.iter().for_each(|part| predictor.add(part));
    let mut there = predictor
        .finish()
        .into_iter()
        .map(|prediction| prediction.duration);
    let Some(here) = there.next() else {
        return Vec::new();
    };
    there.map(|duration| duration.saturating_sub(here)).collect()
}

const COLLECT: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_turns_take_five_round_trips_at_least() {
        let link = LinkDescription::with_rtt(Duration::from_millis(5));
        assert_eq!(turns_take(Some(5), &link), Duration::from_millis(25));
        assert_eq!(turns_take(None, &link), Duration::ZERO);
    }
}
