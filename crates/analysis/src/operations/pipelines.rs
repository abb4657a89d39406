//! What clients waited for that send requests before they have the replies to earlier ones (pipelining).
//!
//! A reply that arrived before the next request left need not have been waited for. What a connection's
//! requests show together:
//!
//! 1. A client that was seen to send a statement behind another without having the other's reply does not
//!    need that reply. Only of such pairs of statements is more concluded; all others wait as
//!    [`super::dependencies`] says.
//! 2. Pauses in which replies come end, nearly each time, only when all replies are there, and begin with
//!    exactly as many requests in flight: batches, which wait for their last reply.
//! 3. They are no longer than others, or requests follow replies sooner than the client takes to send one
//!    behind another, time and again: it waited for none. A client that waits has to read the reply before it
//!    can send.
//! 4. They are longer, and one in three begins with about the most requests that ever were in progress: the
//!    client has a window, and a request waits for the reply to the one a window before it.
//! 5. Otherwise, as far as the single pause shows: one that began with clearly fewer requests in flight than
//!    there were at other times was not a wait for replies while some are owed.

use super::dependencies::Moment;
use super::span;
use foldhash::HashMap;
use model::{ConnectionId, Operation, OperationStep, Phase, Timestamp};
use std::time::Duration;

/// What a request waited for whose client did not need the reply to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pipelined {
    /// The request that it was sent behind.
    pub behind: u32,
    /// The step a window before it, whose reply it waited for.
    pub window: Option<u32>,
}

impl Pipelined {
    /// Since when its client could send it.
    pub(super) fn since(self, moments: &[Moment]) -> Timestamp {
        let behind = moments[self.behind as usize].started;
        self.window
            .map_or(behind, |window| behind.max(moments[window as usize].ended))
    }
}

/// Finds what was pipelined, by what the steps show; one entry a step, none at all where nothing was.
pub(super) fn find(
    steps: &[OperationStep],
    moments: &[Moment],
    parents: &[Option<u32>],
) -> Vec<Option<Pipelined>> {
    let is_behind = |moment: &Moment| !moment.begins_turn && moment.replied.is_some();
    if !moments.iter().any(is_behind) {
        return Vec::new();
    }
    let mut found = vec![None; steps.len()];
    for train in trains(steps, moments) {
        let requests = train.requests(steps, moments, parents);
        let limit = Limit::from_requests(&requests);
        train.conclude(&requests, limit, moments, &mut found);
    }
    found
}

/// Lets the steps of `operation` wait as a client makes them wait that has no more than `window` requests in
/// flight: where that is known, what was seen need not show it.
pub fn limit_under_way(operation: &mut Operation, window: usize) {
    let moments: Vec<Moment> = operation.steps.iter().map(Moment::from_step).collect();
    let parents = vec![None; moments.len()];
    let mut found = vec![None; moments.len()];
    for train in trains(&operation.steps, &moments) {
        let requests = train.requests(&operation.steps, &moments, &parents);
        train.conclude(&requests, Limit::Window(window), &moments, &mut found);
    }
    for ((step, moment), found) in operation.steps.iter_mut().zip(&moments).zip(found) {
        let Some(pipelined) = found else { continue };
        (step.after, step.after_start) = (Some(pipelined.behind), true);
        step.also_after = pipelined.window.into_iter().collect();
        step.client_before = moment.started.since(pipelined.since(&moments));
    }
}

/// The steps of one connection that have replies, in the order of their requests.
#[derive(Debug, Default)]
struct Train {
    places: Vec<usize>,
}

/// How a request was sent that is not the first of its connection.
#[derive(Debug)]
struct Sent {
    /// Replies owed when it was sent, and when the one before it had been.
    owed: usize,
    owed_before: usize,
    /// Whether a reply came between the two.
    resumed: bool,
    /// From the end of the one before it.
    pause: Duration,
    /// From the last reply before it.
    reaction: Duration,
    /// Whether its client was seen to need no reply to send it (rule 1).
    is_open: bool,
}

/// What bounds the requests that a client has in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// Rule 4.
    Window(usize),
    /// Rule 2.
    Batches,
    /// Rule 3.
    None,
    /// Rule 5, with the most that were in progress.
    Unknown(usize),
}

fn trains(steps: &[OperationStep], moments: &[Moment]) -> Vec<Train> {
    let mut trains: Vec<Train> = Vec::new();
    let mut of: HashMap<ConnectionId, usize> = HashMap::default();
    for (place, (step, moment)) in steps.iter().zip(moments).enumerate() {
        if moment.replied.is_none() || step.exchange.is_handshake() {
            continue;
        }
        let train = *of.entry(moment.connection).or_insert_with(|| {
            trains.push(Train::default());
            trains.len() - 1
        });
        trains[train].places.push(place);
    }
    trains
}

impl Train {
    /// How each request but the first was sent.
    fn requests(&self, steps: &[OperationStep], moments: &[Moment], parents: &[Option<u32>]) -> Vec<Sent> {
        let times: Vec<[Timestamp; 3]> = self
            .places
            .iter()
            .map(|&place| times(&steps[place], &moments[place]))
            .collect();
        let mut replies: Vec<Timestamp> = times.iter().map(|[.., replied]| *replied).collect();
        replies.sort_unstable();
        let answered = |at: Timestamp, sent: usize| replies.partition_point(|reply| *reply <= at).min(sent);
        let mut requests = Vec::with_capacity(times.len());
        for (number, pair) in times.windows(2).enumerate() {
            let [[sent_before, ended_before, _], [sent, ..]] = [pair[0], pair[1]];
            let [before, now] = [answered(sent_before, number), answered(sent, number + 1)];
            let last_reply = now.checked_sub(1).map_or(sent_before, |last| replies[last]);
            requests.push(Sent {
                owed: number + 1 - now,
                owed_before: number + 1 - before,
                resumed: now > before,
                pause: sent.since(ended_before),
                reaction: sent.since(last_reply),
                is_open: false,
            });
        }
        self.open(&mut requests, steps, parents);
        requests
    }

    /// Rule 1.
    fn open(&self, requests: &mut [Sent], steps: &[OperationStep], parents: &[Option<u32>]) {
        let kind = |number: usize| {
            let [before, now] = [self.places[number], self.places[number + 1]];
            let [first, second] = [&steps[before].exchange, &steps[now].exchange];
            let is_plain = first.more.is_empty() && second.phase == Phase::Work;
            let same_parent = parents[before] == parents[now];
            (is_plain && same_parent).then_some((&first.fingerprint, &second.fingerprint))
        };
        let mut seen: HashMap<_, [usize; 2]> = HashMap::default();
        for (number, sent) in requests.iter().enumerate() {
            if let Some(kind) = kind(number) {
                let [all, unwaited] = seen.entry(kind).or_default();
                *all += 1;
                *unwaited += usize::from(sent.owed > 0);
            }
        }
        for (number, sent) in requests.iter_mut().enumerate() {
            let counts = kind(number).and_then(|kind| seen.get(&kind));
            sent.is_open =
                counts.is_some_and(|[all, unwaited]| *unwaited > 0 && unwaited * SHARE_UNWAITED >= *all);
        }
    }

    fn conclude(&self, requests: &[Sent], limit: Limit, moments: &[Moment], found: &mut [Option<Pipelined>]) {
        for (number, sent) in requests.iter().enumerate() {
            let place = self.places[number + 1];
            let waits_as_seen = match limit {
                Limit::Batches => true,
                Limit::Unknown(most) => sent.owed == 0 || is_near(sent.owed_before, most),
                Limit::Window(_) | Limit::None => false,
            };
            if !sent.is_open || waits_as_seen {
                continue;
            }
            let window = match limit {
                Limit::Window(size) => (number + 1).checked_sub(size).map(|before| self.places[before]),
                Limit::Batches | Limit::None | Limit::Unknown(_) => None,
            };
            let was_there = |window: &usize| moments[*window].ended <= moments[place].started;
            found[place] = Some(Pipelined {
                behind: self.places[number] as u32,
                window: window.filter(was_there).map(|window| window as u32),
            });
        }
    }
}

impl Sent {
    /// Whether it was certainly sent without waiting for a reply.
    const fn is_unwaited(&self) -> bool {
        self.owed > 0 && !self.resumed
    }
}

impl Limit {
    fn from_requests(requests: &[Sent]) -> Self {
        let open = || requests.iter().filter(|sent| sent.is_open);
        let most = open().map(|sent| sent.owed + 1).max().unwrap_or_default();
        let resumed =
            |which: &dyn Fn(&Sent) -> bool| open().filter(|sent| sent.resumed && which(sent)).count();
        let all = resumed(&|_| true);
        let full = resumed(&|sent| sent.owed_before == most);
        let near = resumed(&|sent| is_near(sent.owed_before, most));
        if all < MIN_PAUSES {
            return Self::Unknown(most);
        }
        if resumed(&|sent| sent.owed == 0) == all && full * 20 >= all * 17 {
            return Self::Batches;
        }
        let pauses = |which: &dyn Fn(&Sent) -> bool| {
            let mut pauses: Vec<Duration> =
                open().filter(|sent| which(sent)).map(|sent| sent.pause).collect();
            pauses.sort_unstable();
            pauses.get(pauses.len() / 2).copied()
        };
        let is_unwaited = Sent::is_unwaited;
        let held_up = pauses(&is_unwaited)
            .is_none_or(|own| 2 * pauses(&|sent| sent.resumed).unwrap_or_default() > 3 * own);
        let is_full = near >= MIN_PAUSES && near * 3 >= all;
        if held_up && is_full {
            return Self::Window(most);
        }
        let pace = pauses(&|sent| is_unwaited(sent) && !sent.pause.is_zero()).unwrap_or_default();
        let sooner = resumed(&|sent| sent.reaction < pace);
        match !held_up || (sooner >= MIN_PAUSES && sooner * 5 >= all) {
            true => Self::None,
            false => Self::Unknown(most),
        }
    }
}

/// Whether so many are about the most: replies that are on their way to the client while it sends are not
/// owed any more.
const fn is_near(owed: usize, most: usize) -> bool {
    owed * 5 >= most * 4
}

/// When a request's first and last byte left its client, and when the last of its reply arrived. Next to the
/// client, the order on the wire is the order at the client; the round trip to it that the kernel measures is
/// longer than it takes from a reply to a request.
fn times(step: &OperationStep, moment: &Moment) -> [Timestamp; 3] {
    let first = &step.exchange.first;
    let side = span::client_side(first);
    match moment.replied {
        Some(replied) if side < NEXT_TO_CLIENT => [moment.at, first.request_ended, replied],
        _ => [moment.started, first.request_ended.before(side / 2), moment.ended],
    }
}

/// A pair of statements is open where one in so many was sent without the reply: packets that a capture has
/// in the wrong order are rarer.
const SHARE_UNWAITED: usize = 16;
/// Fewer pauses show no rule.
const MIN_PAUSES: usize = 3;
const NEXT_TO_CLIENT: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
