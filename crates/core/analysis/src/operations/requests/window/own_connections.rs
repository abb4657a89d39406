//! Assigns connections whole, where programs open their own for each request and go on using them
//! after the reply.
//!
//! Each request is paired with the connection that its program opened for it, all together and at
//! the lowest cost ([`cheapest`]): by the order of arrivals and openings, and by the statements
//! between which replies to requests of this name came, learned over [`ROUNDS`]. A connection left
//! over is a further one of the program that closes it together with another, and never uses both
//! at once.

mod connection;

use super::super::matching::{IMPOSSIBLE, cheapest};
use super::super::runs::ConnectionUnits;
use super::super::search::MAX_PROBABILITY;
use super::{Candidate, Decision, Lives, Window, number_of};
use crate::operations::member::Member;
use connection::{Exchanged, KIND_OF_END, OwnConnection};
use model::{Assigned, ConnectionId, Share, Timestamp};
use std::collections::HashMap;

pub(super) type Own = Vec<(ConnectionId, ConnectionUnits)>;

impl Window {
    fn own_connections(&self, may_be: impl Fn(&ConnectionUnits) -> bool) -> bool {
        let mut opened = self.lanes.values().filter(|lane| lane.opened.is_some());
        opened.any(may_be)
    }

    pub(super) fn has_own_connections(&self, lives: &Lives) -> bool {
        self.own_connections(|lane| is_own(lane, lives))
    }

    /// Whether a connection may still show more of its owner.
    pub(super) fn has_unfinished(&self, lives: &Lives) -> bool {
        self.own_connections(|lane| {
            let is_undecided = lane.sides().is_some_and(|sides| lives.are_undecided(sides));
            is_undecided || (!lane.is_closed && is_own(lane, lives))
        })
    }

    pub(super) fn take_own_connections(&mut self, lives: &Lives) -> Own {
        let own = |lane: &&ConnectionId| self.lanes.get(lane).is_some_and(|lane| is_own(lane, lives));
        let ids: Vec<ConnectionId> = self.sorted_lanes().iter().filter(own).copied().collect();
        let take = |id| Some((id, self.lanes.remove(&id)?));
        ids.into_iter().filter_map(take).collect()
    }

    /// Emits the connections of requests in `ripe`, and old ones without an owner; the others wait on.
    pub(super) fn decide_own_connections(&mut self, own: Own, ripe: &[u64], out: &mut Vec<Decision>) {
        if own.is_empty() {
            return;
        }
        let connections: Vec<OwnConnection> = own.iter().map(|(_, lane)| OwnConnection::new(lane)).collect();
        let owners = Assignment::new(&self.candidates, &connections).owners();
        let horizon = self.horizon(ripe);
        for (((id, lane), connection), owner) in own.into_iter().zip(&connections).zip(owners) {
            let request = owner.request.map(|request| self.candidates[request].id);
            let is_due = match request {
                Some(request) => ripe.contains(&request),
                None => connection.closed < horizon,
            };
            if !is_due {
                self.lanes.insert(id, lane);
                continue;
            }
            let units = lane.units.into_iter();
            let members = units.flat_map(|unit| unit.members);
            out.extend(members.map(|member| (owner.assigned(member), request)));
        }
    }
}

fn is_own(lane: &ConnectionUnits, lives: &Lives) -> bool {
    lane.opened.is_some() && lane.sides().is_some_and(|sides| lives.go_on_after_reply(sides))
}

/// Where replies to requests of one name come on their connections, as assigned so far.
#[derive(Default)]
struct Courses {
    around: HashMap<(u32, u32, u32), f64>,
    names: HashMap<u32, f64>,
    /// From the end of the last exchange to the reply, by name and kind, in seconds.
    pauses: HashMap<(u32, u32), Vec<f64>>,
    /// By their first statements: connections of requests, and further ones.
    beginnings: HashMap<u32, [f64; 2]>,
}

impl Courses {
    fn finish(&mut self) {
        self.pauses
            .values_mut()
            .for_each(|pauses| pauses.sort_by(f64::total_cmp));
    }

    fn median(&self, name: u32, kind: u32) -> Option<f64> {
        let pauses = self.pauses.get(&(name, kind))?;
        pauses.get(pauses.len() / 2).copied()
    }

    /// Costs of being a request's connection, and a further one.
    fn costs_of(&self, beginning: u32) -> [f64; 2] {
        let counts = self.beginnings.get(&beginning).copied().unwrap_or_default();
        let all = counts[0] + counts[1] + 1.0;
        counts.map(|count| -((count + 0.3) / all).ln())
    }
}

struct Assignment<'a> {
    candidates: &'a [Candidate],
    names: Vec<u32>,
    connections: &'a [OwnConnection],
    /// For each connection, those of the same program before it, perhaps, with the cost, cheapest first.
    siblings: Vec<Vec<(f64, usize)>>,
    usual_seconds: f64,
    courses: Courses,
}

struct OwnOwner {
    request: Option<usize>,
    assigned: Assigned,
    probability: f64,
}

impl OwnOwner {
    fn assigned(&self, mut member: Member) -> Member {
        let is_proven = member
            .assigned
            .is_some_and(|assigned| assigned == Assigned::Identifier);
        if !is_proven {
            member.assigned = self.request.map(|_| self.assigned);
            let probability = Share::of_fraction(self.probability);
            member.probability = probability.filter(|_| member.assigned == Some(Assigned::Order));
        }
        member
    }
}

impl<'a> Assignment<'a> {
    fn new(candidates: &'a [Candidate], connections: &'a [OwnConnection]) -> Self {
        let siblings = connections.iter().map(|connection| {
            let others = connections.iter().enumerate();
            let costs = others.filter_map(|(other, first)| Some((connection.cost_as_sibling(first)?, other)));
            let mut costs: Vec<(f64, usize)> = costs.filter(|(cost, _)| *cost < COST_NOBODYS).collect();
            costs.sort_by(|one, other| one.0.total_cmp(&other.0));
            costs
        });
        let durations = candidates.iter().filter_map(|candidate| {
            let (replied, _) = candidate.answered?;
            Some(replied.since(candidate.started))
        });
        let usual = model::median(durations).unwrap_or_default().as_secs_f64();
        Self {
            candidates,
            names: candidates
                .iter()
                .map(|candidate| number_of(&candidate.name))
                .collect(),
            connections,
            siblings: siblings.collect(),
            usual_seconds: usual.max(1e-6),
            courses: Courses::default(),
        }
    }

    fn owners(mut self) -> Vec<OwnOwner> {
        let mut pairs = self.pairs();
        for _ in 1..ROUNDS {
            self.learn(&pairs);
            pairs = self.pairs();
        }
        (0..self.connections.len())
            .map(|connection| self.owner(connection, &pairs))
            .collect()
    }

    /// The request of each connection; `None` for further ones.
    fn pairs(&self) -> Vec<Option<usize>> {
        let (requests, rows) = (self.candidates.len(), self.connections.len());
        let columns = requests + rows;
        let mut costs = vec![IMPOSSIBLE; rows * columns];
        for row in 0..rows {
            for request in 0..requests {
                if let Some(cost) = self.cost(row, request) {
                    costs[row * columns + request] = cost;
                }
            }
            costs[row * columns + requests + row] = COST_WITHOUT + self.cost_as_further(row);
        }
        let found = cheapest(&costs, rows, columns);
        found
            .into_iter()
            .map(|column| column.filter(|column| *column < requests))
            .collect()
    }

    fn cost_as_further(&self, connection: usize) -> f64 {
        let least = self.siblings[connection]
            .first()
            .map_or(COST_NOBODYS, |(cost, _)| *cost);
        let [_, further] = self.courses.costs_of(self.connections[connection].beginning);
        (least + further).min(COST_NOBODYS)
    }

    /// Cost of a connection as the first of a request; `None` if it cannot be.
    fn cost(&self, connection: usize, request: usize) -> Option<f64> {
        let (own, candidate) = (&self.connections[connection], &self.candidates[request]);
        if own.owner.is_some_and(|owner| owner != candidate.id) || candidate.started > own.opened {
            return None;
        }
        let waited = own.opened.since(candidate.started).as_secs_f64() / self.usual_seconds;
        let [first, _] = self.courses.costs_of(own.beginning);
        let begins = first + 0.5 * waited.powi(2);
        let Some((replied, _)) = candidate.answered else {
            return Some(begins + COST_UNANSWERED);
        };
        (own.opened <= replied).then(|| begins + self.cost_of_reply(own, self.names[request], replied))
    }

    fn cost_of_reply(&self, own: &OwnConnection, name: u32, replied: Timestamp) -> f64 {
        let (before, next) = own.around(replied);
        let kind_before = before.map_or(KIND_OF_END, |before| before.kind);
        let known = self
            .courses
            .around
            .get(&(name, kind_before, next))
            .copied()
            .unwrap_or_default();
        let of_name = self.courses.names.get(&name).copied().unwrap_or_default();
        let course = -((known + 0.2) / (of_name + 4.0)).ln();
        let Some(before) = before else { return course };
        if before.ended > replied {
            return course + COST_IN_FLIGHT;
        }
        let pause = pause_before(before, replied);
        let unusual = match self.courses.median(name, kind_before) {
            Some(usual) => 0.5 * ((pause / usual).ln() / SPREAD_OF_PAUSES).powi(2),
            None => (pause / self.usual_seconds).powi(2),
        };
        course + unusual.min(MAX_COST_OF_PAUSE)
    }

    fn learn(&mut self, pairs: &[Option<usize>]) {
        let mut courses = Courses::default();
        for (own, request) in self.connections.iter().zip(pairs) {
            courses.beginnings.entry(own.beginning).or_default()[usize::from(request.is_none())] += 1.0;
            let Some(request) = *request else { continue };
            let Some((replied, _)) = self.candidates[request].answered else {
                continue;
            };
            let (name, (before, next)) = (self.names[request], own.around(replied));
            let kind_before = before.map_or(KIND_OF_END, |before| before.kind);
            *courses.around.entry((name, kind_before, next)).or_default() += 1.0;
            *courses.names.entry(name).or_default() += 1.0;
            if let Some(before) = before {
                let pauses = courses.pauses.entry((name, kind_before)).or_default();
                pauses.push(pause_before(before, replied));
            }
        }
        courses.finish();
        self.courses = courses;
    }

    fn owner(&self, connection: usize, pairs: &[Option<usize>]) -> OwnOwner {
        if let Some(owner) = self.connections[connection].owner {
            return OwnOwner {
                request: self.candidates.iter().position(|candidate| candidate.id == owner),
                assigned: Assigned::Only,
                probability: 1.0,
            };
        }
        let (mut first, mut probability) = (connection, 1.0);
        for _ in 0..MAX_SIBLING_HOPS {
            let Some(&(least, sibling)) = self.siblings[first].first().filter(|_| pairs[first].is_none())
            else {
                break;
            };
            let others = self.siblings[first]
                .iter()
                .skip(1)
                .map(|(cost, _)| (least - cost).exp());
            probability /= 1.0 + others.sum::<f64>();
            first = sibling;
        }
        let possible = (0..self.candidates.len()).filter(|request| self.cost(first, *request).is_some());
        let is_only = first == connection && self.siblings[first].is_empty() && possible.count() == 1;
        OwnOwner {
            request: pairs[first],
            assigned: if is_only { Assigned::Only } else { Assigned::Order },
            probability: (probability * self.probability(first, pairs)).min(MAX_PROBABILITY),
        }
    }

    /// Probability of a request's first connection, against exchanging it for another request's.
    fn probability(&self, connection: usize, pairs: &[Option<usize>]) -> f64 {
        let Some(request) = pairs[connection] else {
            return 0.0;
        };
        let own = self.cost(connection, request).unwrap_or_default();
        let exchanged = pairs.iter().enumerate().filter_map(|(other, theirs)| {
            let theirs = theirs.filter(|theirs| *theirs != request)?;
            let instead = self.cost(connection, theirs)? + self.cost(other, request)?;
            Some((own + self.cost(other, theirs)? - instead).exp())
        });
        1.0 / (1.0 + exchanged.sum::<f64>())
    }
}

fn pause_before(before: &Exchanged, replied: Timestamp) -> f64 {
    replied.since(before.ended).as_secs_f64().max(MIN_PAUSE_SECONDS)
}

const ROUNDS: usize = 4;
/// Further connections that lead from one to another.
const MAX_SIBLING_HOPS: usize = 4;
/// Costs: a request without a connection, a connection without a request, a statement in flight when the
/// reply comes, a request without a reply.
const COST_WITHOUT: f64 = 6.0;
const COST_NOBODYS: f64 = 14.0;
const COST_IN_FLIGHT: f64 = 2.0;
const COST_UNANSWERED: f64 = 2.0;
const MIN_PAUSE_SECONDS: f64 = 2e-5;
const SPREAD_OF_PAUSES: f64 = 0.7;
const MAX_COST_OF_PAUSE: f64 = 4.0;
