//! Waits of clients that send requests before they have the replies to earlier ones.
//!
//! A client need not have waited for a reply that arrived before its next request. All requests of
//! a connection show:
//!
//! 1. A client that once sent a statement behind another without the reply does not need that reply. Only
//!    such pairs of statements are inspected; all others wait as in [`super::dependencies`].
//! 2. Pauses with replies nearly always end only when all replies have arrived, and begin with the
//!    same number of requests in flight: batches, which wait for their last reply.
//! 3. They are no longer than others, or requests repeatedly follow replies sooner than the client takes to
//!    send one behind another: it waited for none, as it must read a reply before it can send.
//! 4. They are longer, and one in three begins with about the maximum in flight: the client has a window, and
//!    a request waits for the reply to the one a window before it.
//! 5. Otherwise each pause is judged alone: one that begins with clearly fewer requests in flight than at
//!    other times was not a wait, while replies are still expected.

use super::moment::Moment;
use super::span;
use foldhash::HashMap;
use model::{ConnectionId, Operation, OperationStep, Phase, Timestamp};
use std::time::Duration;

/// A request that did not need the reply to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pipelined {
    pub behind: u32,
    /// The step a window earlier; its reply was waited for.
    pub window: Option<u32>,
}

impl Pipelined {
    pub(super) fn since(self, moments: &[Moment]) -> Timestamp {
        let behind = moments[self.behind as usize].started;
        self.window
            .map_or(behind, |window| behind.max(moments[window as usize].ended))
    }
}

/// One entry per step; empty if no step was pipelined.
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

/// Makes the steps of `operation` wait as with at most `window` requests in flight, for a known
/// window that need not show in the traffic.
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

#[derive(Debug, Default)]
struct Train {
    places: Vec<usize>,
}

#[derive(Debug)]
struct Sent {
    /// Expected replies when this and the previous request were sent.
    pending: usize,
    pending_before: usize,
    /// A reply came between the two.
    resumed: bool,
    /// Since the previous request's end.
    pause: Duration,
    /// Since the last reply.
    reaction: Duration,
    /// Proven to need no reply (rule 1).
    is_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// Rule 4 above applies.
    Window(usize),
    /// Rule 2 above applies.
    Batches,
    /// Rule 3 above applies.
    None,
    /// Rule 5, with the maximum seen in flight.
    Unknown(usize),
}

fn trains(steps: &[OperationStep], moments: &[Moment]) -> Vec<Train> {
    let mut trains: Vec<Train> = Vec::new();
    let mut of: HashMap<ConnectionId, usize> = HashMap::default();
    for (place, (step, moment)) in steps.iter().zip(moments).enumerate() {
        if moment.replied.is_none() || step.exchange.is_handshake() || step.has_stream() {
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
                pending: number + 1 - now,
                pending_before: number + 1 - before,
                resumed: now > before,
                pause: sent.since(ended_before),
                reaction: sent.since(last_reply),
                is_open: false,
            });
        }
        self.open(&mut requests, steps, parents);
        requests
    }

    fn open(&self, requests: &mut [Sent], steps: &[OperationStep], parents: &[Option<u32>]) {
        let kind = |number: usize| {
            let [before, now] = [self.places[number], self.places[number + 1]];
            let [first, second] = [&steps[before].exchange, &steps[now].exchange];
            let is_plain = first.more.is_empty() && second.phase == Phase::Work;
            let same_parent = parents[before] == parents[now];
            (is_plain && same_parent).then_some((&first.fingerprint, &second.fingerprint))
        };
        let mut seen: HashMap<_, (usize, usize)> = HashMap::default();
        for (number, sent) in requests.iter().enumerate() {
            if let Some(kind) = kind(number) {
                let (all, unwaited) = seen.entry(kind).or_default();
                *all += 1;
                *unwaited += usize::from(sent.pending > 0);
            }
        }
        for (number, sent) in requests.iter_mut().enumerate() {
            let counts = kind(number).and_then(|kind| seen.get(&kind));
            sent.is_open =
                counts.is_some_and(|(all, unwaited)| *unwaited > 0 && unwaited * SHARE_UNWAITED >= *all);
        }
    }

    fn conclude(&self, requests: &[Sent], limit: Limit, moments: &[Moment], found: &mut [Option<Pipelined>]) {
        for (number, sent) in requests.iter().enumerate() {
            let place = self.places[number + 1];
            let waits_as_seen = match limit {
                Limit::Batches => true,
                Limit::Unknown(most) => sent.pending == 0 || is_near(sent.pending_before, most),
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
    const fn is_unwaited(&self) -> bool {
        self.pending > 0 && !self.resumed
    }
}

impl Limit {
    fn from_requests(requests: &[Sent]) -> Self {
        let open = || requests.iter().filter(|sent| sent.is_open);
        let most = open().map(|sent| sent.pending + 1).max().unwrap_or_default();
        let resumed =
            |which: &dyn Fn(&Sent) -> bool| open().filter(|sent| sent.resumed && which(sent)).count();
        let all = resumed(&|_| true);
        let full = resumed(&|sent| sent.pending_before == most);
        let near = resumed(&|sent| is_near(sent.pending_before, most));
        if all < MIN_PAUSES {
            return Self::Unknown(most);
        }
        if resumed(&|sent| sent.pending == 0) == all && full * 20 >= all * 17 {
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

/// Allows for replies that were still on their way to the client when it sent.
const fn is_near(pending: usize, most: usize) -> bool {
    pending * 5 >= most * 4
}

/// When the request's first and last byte left the client, and the reply's last byte arrived. Near
/// the client, wire order is the client's order; the kernel's round trip to it is longer than the
/// time from reply to request.
fn times(step: &OperationStep, moment: &Moment) -> [Timestamp; 3] {
    let first = &step.exchange.first;
    let side = span::client_side(first);
    match moment.replied {
        Some(replied) if side < NEXT_TO_CLIENT => [moment.at, first.request_ended, replied],
        _ => [moment.started, first.request_ended.before(side / 2), moment.ended],
    }
}

/// Minimum share of unwaited requests in an open pair, as a divisor: reordered packets in captures
/// are rarer.
const SHARE_UNWAITED: usize = 16;
const MIN_PAUSES: usize = 3;
const NEXT_TO_CLIENT: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
