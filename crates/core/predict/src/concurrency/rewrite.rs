//! Rewrites an operation by the dependencies of its steps.

use super::family::{Family, Pair};
use super::queue::Queue;
use model::{Operation, Timestamp};

/// Makes each step of `family` wait for the earlier ones selected by `waits`, for the previous one
/// on its connection and, in a `queue`, for a free connection.
pub fn rewrite(operation: &mut Operation, family: &Family<'_>, waits: &dyn Fn(Pair) -> bool, queue: &Queue) {
    let count = family.members.len();
    let mut before: Vec<Places> = Vec::with_capacity(count);
    let mut joined = Places::default();
    for place in 0..count {
        let mut all = Places::default();
        if family.is_pipelined(place) {
            if let Some(own) = family.before_on_connection(place) {
                all.join(&before[own]);
            }
        } else {
            let waited = waited_for(family, queue, waits, place);
            waited.iter().for_each(|one| all.join(&before[*one]));
            let direct: Vec<usize> = waited.iter().copied().filter(|one| !all.has(*one)).collect();
            waited.iter().for_each(|one| all.add(*one));
            set(operation, family, queue, place, &direct);
        }
        joined.join(&all);
        before.push(all);
    }
    if let Some(parent) = family.parent {
        let leaves: Vec<usize> = (0..count).filter(|place| !joined.has(*place)).collect();
        let (last, others) = last_of(family, &leaves);
        let step = &mut operation.steps[parent as usize];
        step.reply_after = last.map(|last| family.members[last]);
        step.reply_also_after = others.iter().map(|other| family.members[*other]).collect();
    }
}

/// Places that a step waits for, directly or not.
fn waited_for(family: &Family<'_>, queue: &Queue, waits: &dyn Fn(Pair) -> bool, place: usize) -> Vec<usize> {
    let own = match queue.before(place) {
        Some(freed) => Some(freed),
        None if queue.is_moved(place, family.connection(place)) => None,
        None => family.before_on_connection(place),
    };
    let begun = family.exchange(place).at;
    let is_waited = |&earlier: &usize| {
        let pair = Pair {
            earlier,
            later: place,
        };
        let answered = family.exchange(earlier).ended() <= begun;
        !family.is_on_one_connection(pair) && answered && !queue.has_both(pair) && waits(pair)
    };
    let mut waited: Vec<usize> = (0..place).filter(is_waited).collect();
    waited.extend(own.filter(|own| !waited.contains(own)));
    waited
}

fn last_of(family: &Family<'_>, places: &[usize]) -> (Option<usize>, Vec<usize>) {
    let last = places
        .iter()
        .copied()
        .max_by_key(|place| (ended(family, *place), *place));
    let others = places.iter().copied().filter(|place| Some(*place) != last);
    (last, others.collect())
}

fn set(operation: &mut Operation, family: &Family<'_>, queue: &Queue, place: usize, direct: &[usize]) {
    let started = family.exchange(place).at.before(client_side(family, place) / 2);
    let (last, others) = last_of(family, direct);
    // A queued step took its measured connection when that was free.
    let took = queue.before(place).is_some() || queue.is_moved(place, family.connection(place));
    let since = match (took, last) {
        (true, _) => family.before_on_connection(place).map(|own| ended(family, own)),
        (false, Some(last)) => Some(ended(family, last)),
        (false, None) => None,
    };
    let origin = match family.parent {
        Some(parent) => {
            let request = &operation.steps[parent as usize].exchange.first;
            request
                .request_ended
                .after(request.server_side_rtt.unwrap_or_default() / 2)
        }
        None => operation.at,
    };
    let connection = queue.connection(place).unwrap_or(family.connection(place));
    let step = &mut operation.steps[family.members[place] as usize];
    step.exchange.connection = connection;
    (step.after, step.after_start) = match (last, family.parent) {
        (Some(last), _) => (Some(family.members[last]), false),
        (None, Some(parent)) => (Some(parent), true),
        (None, None) => (None, false),
    };
    step.also_after = others.iter().map(|other| family.members[*other]).collect();
    if place > 0 || family.parent.is_some() {
        step.client_before = started.since(since.unwrap_or(origin));
    }
}

fn ended(family: &Family<'_>, place: usize) -> Timestamp {
    family
        .exchange(place)
        .ended()
        .after(client_side(family, place) / 2)
}

fn client_side(family: &Family<'_>, place: usize) -> std::time::Duration {
    family.exchange(place).first.client_side_rtt.unwrap_or_default()
}

#[derive(Debug, Default, Clone, Copy)]
struct Places([u64; 4]);

impl Places {
    fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn has(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }
}
