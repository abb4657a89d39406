//! Assigns statements of one host to several requests in flight, all together.
//!
//! Statements wait, by connection, until their candidates are answered. A first guess cuts each
//! connection into runs ([`super::runs`]) and assigns them ([`super::matching`]) by start and by
//! the pause before the response. From it, and from requests that ran alone, [`super::likelihood`]
//! learns the course of requests; [`super::search`] then decides, with a probability for each
//! statement.
//!
//! A statement ends before the first byte of its response, unless requests of that name query while
//! streaming, or programs work on after their replies: their connections are assigned whole
//! ([`own_connections`]).

mod first_guess;
mod own_connections;

use super::super::member::Member;
use super::OpenRequest;
use super::likelihood::Likelihood;
use super::lives::{FOREVER, Lives};
use super::runs::{AssignmentUnit, ConnectionUnits, Shapes, push, united};
use super::search::{self, Earlier, Group, Owner, Request, Work};
use foldhash::HashSet;
use model::{Assigned, ConnectionId, ConnectionMap, Fingerprint, Phase, Share, Timestamp};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) connection: ConnectionId,
    pub(super) started: Timestamp,
    /// Start and end of the reply, or `None` while unanswered.
    pub(super) answered: Option<(Timestamp, Timestamp)>,
    pub(super) name: Fingerprint,
    pub(super) is_streamed: bool,
}

impl Candidate {
    fn holds(&self, started: Timestamp, ended: Timestamp) -> bool {
        self.started <= started && self.work_ended().is_none_or(|until| ended <= until)
    }

    /// End of the time in which the response could wait for statements.
    fn work_ended(&self) -> Option<Timestamp> {
        let (replied, ended) = self.answered?;
        Some(if self.is_streamed { ended } else { replied })
    }
}

#[derive(Debug, Default)]
pub(super) struct Window {
    candidates: Vec<Candidate>,
    lanes: ConnectionMap<ConnectionUnits>,
    waiting: usize,
    /// Statements or transactions decided so far, and requests.
    decided: (usize, usize),
    likelihood: Likelihood,
    alone: usize,
    streamed: HashSet<Fingerprint>,
}

/// A statement and its request; `None` if no request fits.
pub(super) type Decision = (Member, Option<u64>);

impl Window {
    pub(super) fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.candidates.iter().any(|candidate| candidate.id == id)
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.candidates.iter().map(|candidate| candidate.id).collect()
    }

    pub(super) fn add_candidate(&mut self, mut candidate: Candidate) {
        candidate.is_streamed = self.streamed.contains(&candidate.name);
        self.candidates.push(candidate);
    }

    /// Stores a statement, with `owner` if proven. `lane` describes the connection, for its first
    /// statement.
    pub(super) fn keep(
        &mut self,
        member: Member,
        owner: Option<(u64, Assigned)>,
        lane: impl FnOnce() -> ConnectionUnits,
    ) {
        self.waiting += 1;
        let lane = self.lanes.entry(member.exchange.connection).or_insert_with(lane);
        lane.is_closed |= member.exchange.phase == Phase::Close;
        push(&mut lane.units, member, owner);
    }

    pub(super) fn answered(&mut self, id: u64, replied: Timestamp, ended: Timestamp) {
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.id == id) {
            candidate.answered = Some((replied, ended));
        }
    }

    /// Candidates to decide at `now`: all if none is in flight, otherwise the earlier of many, and
    /// long-waiting ones.
    pub(super) fn ripe(&self, now: Timestamp, lives: &Lives) -> Vec<u64> {
        let mut answered: Vec<(Timestamp, u64)> = Vec::new();
        for candidate in &self.candidates {
            answered.extend(candidate.answered.map(|(_, at)| (at, candidate.id)));
        }
        answered.sort_unstable();
        let are_whole = self.has_own_connections(lives);
        let enough = if are_whole {
            MAX_ANSWERED_PROGRAMS
        } else {
            MAX_ANSWERED_REQUESTS
        };
        let is_full = self.waiting >= MAX_WAITING || (are_whole && self.lanes.len() >= MAX_WHOLE_CONNECTIONS);
        let count = match answered.len() {
            all if all == self.candidates.len() && !self.has_unfinished(lives) => all,
            many if many >= enough || is_full => many.div_ceil(2),
            _ => {
                let is_old = |(at, _): &&(Timestamp, u64)| now.since(*at) > MAX_WAIT;
                answered.iter().take_while(is_old).count()
            }
        };
        answered.into_iter().take(count).map(|(_, id)| id).collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting >= MAX_WAITING
            && !self
                .candidates
                .iter()
                .any(|candidate| candidate.answered.is_some())
    }

    /// Learns from a request that ran alone: its start, the first byte of its response, and its
    /// exchanges.
    pub(super) fn learn_alone(&mut self, request: &OpenRequest, replied: Timestamp, lives: &Lives) {
        let (name, from, members) = (&request.name, request.started, &request.members);
        if self.alone >= MAX_ALONE {
            return;
        }
        self.alone += 1;
        let mut lanes: ConnectionMap<Vec<AssignmentUnit>> = ConnectionMap::default();
        let is_sure = |member: &&Member| {
            member.protocol.is_database() && member.assigned.is_some_and(Assigned::is_proof)
        };
        for member in members.iter().filter(is_sure) {
            push(
                lanes.entry(member.exchange.connection).or_default(),
                member.clone(),
                None,
            );
        }
        let mut group = Group::default();
        group.requests.push(Request {
            arrived: from.as_nanos(),
            responded: Some(replied.as_nanos()),
            name: number_of(name),
            asker: request.connection.0,
        });
        for (connection, units) in lanes {
            let units = match is_one_life(&units, lives) {
                true => united_all(units),
                false => units,
            };
            let works = units.iter().map(|unit| Work {
                owner: Some(0),
                ..work(connection, unit)
            });
            group.work.extend(works);
        }
        if group.work.iter().any(|work| work.ended > replied.as_nanos()) {
            self.streamed.insert(name.clone());
        }
        search::learn_alone(&group, &mut self.likelihood);
    }

    /// Decides the candidates in `ripe`; emits their statements, and those without an owner.
    pub(super) fn decide(&mut self, ripe: &[u64], shapes: &Shapes, lives: &Lives) -> Vec<Decision> {
        let own = self.take_own_connections(lives);
        self.unite_lives(lives);
        self.find_streamed();
        let lanes = self.sorted_lanes();
        let first = self.first_guess(&lanes, shapes);
        let group = self.group(&lanes);
        let mut owners = search::assign(&group, &first, &mut self.likelihood);
        if self.find_streamed_where_kept() {
            owners = search::assign(&self.group(&lanes), &first, &mut self.likelihood);
        }
        self.likelihood.keep_current();
        self.decided.1 += ripe.len();
        let mut decisions = self.emit_decisions(&lanes, &owners, ripe);
        self.decide_own_connections(own, ripe, &mut decisions);
        self.candidates.retain(|candidate| !ripe.contains(&candidate.id));
        self.waiting = self.waiting.saturating_sub(decisions.len());
        decisions
    }

    /// Merges the work of connections that live for one request. It may continue during the
    /// response: PHP sends the end of the page after closing its connection.
    fn unite_lives(&mut self, lives: &Lives) {
        for lane in self.lanes.values_mut() {
            let is_one = lane.sides().is_some_and(|sides| lives.are_of_one_request(sides));
            let Some(opened) = lane.opened.filter(|_| is_one) else {
                continue;
            };
            let holding = self
                .candidates
                .iter_mut()
                .filter(|candidate| candidate.started <= opened);
            let ended = |candidate: &Candidate| candidate.answered.map_or(FOREVER, |(_, ended)| ended);
            let mut holding: Vec<&mut Candidate> = holding.collect();
            let Some(held) = holding.iter().map(|candidate| ended(candidate)).max() else {
                continue;
            };
            let before = lane.before.as_ref().map(|before| before.request);
            if before.is_some_and(|before| !holding.iter().any(|candidate| candidate.id == before)) {
                continue;
            }
            lane.unite(held);
            let [life] = lane.units.as_slice() else { continue };
            for candidate in &mut holding {
                candidate.is_streamed |= candidate.answered.is_some_and(|(replied, until)| {
                    (life.started..life.ended).contains(&replied) && life.ended <= until
                });
            }
        }
    }

    /// A statement that only fits into the rest of a response shows that its request streams.
    fn find_streamed(&mut self) {
        let times: Vec<(Timestamp, Timestamp)> = self
            .lanes
            .values()
            .flat_map(|lane| &lane.units)
            .map(|unit| (unit.started, unit.ended))
            .collect();
        for (started, ended) in times {
            if self
                .candidates
                .iter()
                .any(|candidate| candidate.holds(started, ended))
            {
                continue;
            }
            let sends = |candidate: &&mut Candidate| {
                candidate.started <= started && candidate.answered.is_some_and(|(_, until)| ended <= until)
            };
            let mut sending = self.candidates.iter_mut().filter(sends);
            if let (Some(candidate), None) = (sending.next(), sending.next()) {
                candidate.is_streamed = true;
            }
        }
    }

    /// So does a statement on the kept connection of an HTTP connection, during a response of its
    /// requests.
    fn find_streamed_where_kept(&mut self) -> bool {
        let affinity = &self.likelihood.affinity;
        let mut found = false;
        for candidate in self
            .candidates
            .iter_mut()
            .filter(|candidate| !candidate.is_streamed)
        {
            let Some((replied, until)) = candidate.answered else {
                continue;
            };
            let is_in_rest = |unit: &AssignmentUnit| {
                candidate.started <= unit.started && replied < unit.ended && unit.ended <= until
            };
            let is_kept = |lane: &ConnectionId| affinity.is_kept(candidate.connection.0, lane.0);
            if self
                .lanes
                .iter()
                .any(|(id, lane)| lane.units.iter().any(is_in_rest) && is_kept(id))
            {
                candidate.is_streamed = true;
                self.streamed.insert(candidate.name.clone());
                found = true;
            }
        }
        found
    }

    fn sorted_lanes(&self) -> Vec<ConnectionId> {
        let mut lanes: Vec<ConnectionId> = self.lanes.keys().copied().collect();
        lanes.sort_unstable();
        lanes
    }

    fn group(&self, lanes: &[ConnectionId]) -> Group {
        let index = |id: u64| self.candidates.iter().position(|candidate| candidate.id == id);
        let mut group = Group::default();
        group
            .requests
            .extend(self.candidates.iter().map(|candidate| Request {
                arrived: candidate.started.as_nanos(),
                responded: candidate.work_ended().map(Timestamp::as_nanos),
                name: number_of(&candidate.name),
                asker: candidate.connection.0,
            }));
        for id in lanes {
            let Some(lane) = self.lanes.get(id) else { continue };
            if let Some(before) = &lane.before
                && let Some(request) = index(before.request)
            {
                group.earlier.push(Earlier {
                    request: request as u32,
                    connection: id.0,
                    ended: before.ended.as_nanos(),
                    kinds: before.shape.iter().copied().map(kind).collect(),
                });
            }
            group.work.extend(lane.units.iter().map(|unit| Work {
                owner: unit.owner.and_then(|(id, _)| Some(index(id)? as u32)),
                ..work(*id, unit)
            }));
        }
        group
    }

    /// Removes the work of requests in `ripe`, and work without an owner.
    fn emit_decisions(&mut self, lanes: &[ConnectionId], owners: &[Owner], ripe: &[u64]) -> Vec<Decision> {
        let horizon = self.horizon(ripe);
        let mut decisions = Vec::new();
        let mut owners = owners.iter();
        for id in lanes {
            let Some(lane) = self.lanes.remove(id) else {
                continue;
            };
            let mut kept = ConnectionUnits {
                opened: lane.opened,
                is_closed: lane.is_closed,
                ..ConnectionUnits::default()
            };
            for (unit, (owner, probability)) in lane.units.into_iter().zip(owners.by_ref()) {
                let guess = owner.and_then(|owner| Some(self.candidates.get(owner as usize)?.id));
                let owner = unit.owner.map(|(id, _)| id).or(guess);
                let is_due = match owner {
                    Some(id) => ripe.contains(&id),
                    None => unit.ended < horizon,
                };
                if is_due {
                    self.decided.0 += usize::from(!unit.is_setup);
                    decisions.extend(decided(unit, owner, *probability));
                } else {
                    kept.units.push(unit);
                }
            }
            if !kept.units.is_empty() {
                kept.before = lane.before.filter(|before| !ripe.contains(&before.request));
                self.lanes.insert(*id, kept);
            }
        }
        decisions
    }

    /// Earlier work can only belong to requests decided now.
    fn horizon(&self, ripe: &[u64]) -> Timestamp {
        let others = self
            .candidates
            .iter()
            .filter(|candidate| !ripe.contains(&candidate.id));
        others
            .map(|candidate| candidate.started)
            .min()
            .unwrap_or(Timestamp::from_nanos(u64::MAX))
    }
}

fn decided(unit: AssignmentUnit, owner: Option<u64>, probability: f64) -> impl Iterator<Item = Decision> {
    let proof = unit.owner.map(|(_, proof)| proof);
    unit.members.into_iter().map(move |mut member| {
        let carries = member
            .exchange
            .tags
            .as_ref()
            .is_some_and(|tags| tags.request.is_some());
        let proof = match proof {
            Some(Assigned::Identifier) if !carries => Some(Assigned::Transaction),
            proof => proof,
        };
        member.assigned = member.assigned.or(proof).or(owner.map(|_| Assigned::Order));
        if member.assigned == Some(Assigned::Order) {
            member.probability = member.probability.or(Share::of_fraction(probability));
        }
        (member, owner)
    })
}

/// Whether a request's work on a connection is the connection's whole life.
fn is_one_life(units: &[AssignmentUnit], lives: &Lives) -> bool {
    let first = units.first().and_then(|first| first.members.first());
    first.is_some_and(|first| first.exchange.is_handshake() && lives.are_of_one_request(&first.sides))
}

fn united_all(units: Vec<AssignmentUnit>) -> Vec<AssignmentUnit> {
    let works = units.iter().filter(|unit| !unit.is_farewell());
    let ended = works.map(|unit| unit.ended).max().unwrap_or_default();
    united(units, ended, None).into_iter().collect()
}

fn work(connection: ConnectionId, unit: &AssignmentUnit) -> Work {
    Work {
        connection: connection.0,
        started: unit.started.as_nanos(),
        ended: unit.ended.as_nanos(),
        kind: if unit.is_setup {
            KIND_OF_SETUP
        } else {
            kind(unit.shape)
        },
        owner: None,
    }
}

/// Collisions are one pair in two thousand million.
fn kind(shape: u64) -> u32 {
    ((shape ^ (shape >> 32)) as u32) >> 1
}

fn number_of(name: &Fingerprint) -> u32 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    kind(hasher.finish())
}

const KIND_OF_SETUP: u32 = 1;
const MAX_ALONE: usize = 500;
/// Answered requests waiting for overlapping ones.
const MAX_ANSWERED_REQUESTS: usize = 256;
/// Fewer where connections are assigned whole: the cost grows by the cube of both.
const MAX_ANSWERED_PROGRAMS: usize = 64;
const MAX_WHOLE_CONNECTIONS: usize = 256;
const MAX_WAITING: usize = 4_000;
const MAX_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
