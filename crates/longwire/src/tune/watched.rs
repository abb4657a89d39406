//! A run that is watched: what it would take over links, by its exchanges.

use super::distance::{Distance, Limits, Unfinished};
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
use tune::Workbench;

/// The result of a watched run.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The run itself. It is slower than others: every byte is decoded meanwhile.
    pub outcome: TrialOutcome,
    /// For each link, how much longer it would have taken there, by a replay of its exchanges; empty when
    /// they were not understood.
    pub longer: Vec<Duration>,
}

/// Runs a job at the existing distance, and replays it over `links`.
///
/// # Errors
/// When it did not complete.
pub fn run(
    workbench: &mut dyn Workbench,
    of: (&Method, Option<u64>),
    links: &[LinkDescription],
    limits: &Limits<'_>,
) -> Result<Watched, Unfinished> {
    let channel = FactChannel::waiting(false);
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
        // Without distance replies may be back before it is full, so that nothing seen shows it.
        job.iter_mut()
            .for_each(|part| pipelines::limit_under_way(part, window));
    }
    // A workbench that counts round trips knows what was in progress when; pairing sees a wait for the server
    // wherever it had one.
    if outcome.turns.is_none() && !job.is_empty() {
        outcome.turns = Some(job.iter().map(|part| u64::from(part.turns)).sum());
    }
    let mut longer = longer(&job, links);
    for (longer, link) in longer.iter_mut().zip(links) {
        *longer = (*longer).max(turns_take(outcome.turns, link));
    }
    Ok(Watched { outcome, longer })
}

/// Runs `work`, whose facts arrive in `channel`, and returns them all: they are taken on another thread,
/// because the channel has room for a part of them only. They are as many as the job has exchanges.
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

/// The minimum extra time of this many round trips over a link. A window of requests in flight shows fewer
/// waits without distance than it has with distance: replies are back before it is full.
fn turns_take(turns: Option<u64>, link: &LinkDescription) -> Duration {
    let turns = u32::try_from(turns.unwrap_or_default()).unwrap_or(u32::MAX);
    link.rtt.saturating_mul(turns)
}

/// The exchanges that began within the job's own time, as one operation: for drivers, whose transactions not
/// every server reports.
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

/// The parts of the longest transaction: the job, however long logging in and preparing took in addition.
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

/// What a link adds: the replay over it minus the replay over none, so that what a replay leaves out is in
/// neither.
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

/// How often facts are taken while a job runs.
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
