//! Cuts each connection's statements into runs that belong to one request.
//!
//! A program that keeps a connection for a request uses it in runs. Transactions are never cut (an
//! [`AssignmentUnit`]). Cuts follow requests with proven statements ([`Shapes`]); without any, the
//! number of statements per request and the pauses.

use super::super::member::{Member, Sides};
use foldhash::HashMap;
use model::{Assigned, Fingerprint, Phase, Timestamp, TransactionState};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Exchanges that certainly belong to one request: a transaction, a statement outside one, or
/// connecting.
#[derive(Debug)]
pub(super) struct AssignmentUnit {
    pub(super) members: Vec<Member>,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) shape: u64,
    pub(super) owner: Option<(u64, Assigned)>,
    pub(super) is_setup: bool,
    pub(super) is_open: bool,
}

impl AssignmentUnit {
    fn new(member: Member, owner: Option<(u64, Assigned)>) -> Self {
        let mut unit = Self {
            started: member.exchange.at,
            ended: member.exchange.ended(),
            shape: 0,
            owner,
            is_setup: member.exchange.phase < Phase::Work,
            is_open: false,
            members: Vec::new(),
        };
        unit.add(member, owner);
        unit
    }

    /// It ends its connection, and no reply follows.
    pub(super) fn is_farewell(&self) -> bool {
        self.members
            .iter()
            .all(|member| member.exchange.phase == Phase::Close)
    }

    fn add(&mut self, member: Member, owner: Option<(u64, Assigned)>) {
        self.ended = self.ended.max(member.exchange.ended());
        self.is_open = is_in_transaction(&member);
        let proofs = self.owner.into_iter().chain(owner);
        self.owner = proofs.min_by_key(|(_, proof)| *proof);
        self.shape = mixed(self.shape, member.exchange.fingerprint.as_ref());
        self.members.push(member);
    }
}

fn is_in_transaction(member: &Member) -> bool {
    matches!(
        member.exchange.transaction,
        Some(TransactionState::Open | TransactionState::Failed)
    )
}

fn mixed(shape: u64, fingerprint: Option<&Fingerprint>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (shape, fingerprint).hash(&mut hasher);
    hasher.finish()
}

pub(super) fn push(units: &mut Vec<AssignmentUnit>, member: Member, owner: Option<(u64, Assigned)>) {
    match units.last_mut() {
        Some(last) if last.is_open || (last.is_setup && member.exchange.phase < Phase::Work) => {
            last.add(member, owner);
        }
        _ => units.push(AssignmentUnit::new(member, owner)),
    }
}

#[derive(Debug, Default)]
pub(super) struct ConnectionUnits {
    /// Earlier work, proven and emitted, for an unanswered request.
    pub(super) before: Option<Before>,
    pub(super) opened: Option<Timestamp>,
    pub(super) is_closed: bool,
    pub(super) units: Vec<AssignmentUnit>,
}

impl ConnectionUnits {
    pub(super) fn sides(&self) -> Option<&Sides> {
        let first = self.units.first()?.members.first()?;
        Some(&first.sides)
    }

    /// Merges all units. The merged unit ends with the exchanges before `held`, the end of the
    /// candidates: later ones are not waited for, but belong to the same request if the connection
    /// has ended.
    pub(super) fn unite(&mut self, held: Timestamp) {
        let within = self.units.iter().take_while(|unit| unit.ended <= held).count();
        let is_all = within == self.units.len();
        let works = self.units[..within].iter().filter(|unit| !unit.is_farewell());
        let Some(ended) = works
            .map(|unit| unit.ended)
            .max()
            .filter(|_| is_all || self.is_closed)
        else {
            return;
        };
        let before = self.before.as_ref().map(|before| before.request);
        let owners = self.units.iter().filter_map(|unit| unit.owner);
        let first = owners.clone().next();
        let owner = before.or(first.map(|(id, _)| id));
        if owners.clone().any(|(id, _)| Some(id) != owner) {
            return;
        }
        let proof = first.map_or(Assigned::Order, |(_, proof)| proof);
        let owner = owner.map(|id| (id, proof));
        self.units = united(std::mem::take(&mut self.units), ended, owner)
            .into_iter()
            .collect();
    }
}

pub(super) fn united(
    units: Vec<AssignmentUnit>,
    ended: Timestamp,
    owner: Option<(u64, Assigned)>,
) -> Option<AssignmentUnit> {
    let mut hasher = DefaultHasher::new();
    let shapes = units.iter().filter(|unit| !unit.is_setup).map(|unit| unit.shape);
    shapes.for_each(|shape| shape.hash(&mut hasher));
    Some(AssignmentUnit {
        started: units.first()?.started,
        ended,
        shape: hasher.finish(),
        owner,
        is_setup: units.iter().all(|unit| unit.is_setup),
        is_open: units.last()?.is_open,
        members: units.into_iter().flat_map(|unit| unit.members).collect(),
    })
}

#[derive(Debug, Clone)]
pub(super) struct Before {
    pub(super) request: u64,
    pub(super) shape: Vec<u64>,
    pub(super) ended: Timestamp,
}

impl Before {
    pub(super) fn from_members(
        request: u64,
        members: &[Member],
        connection: model::ConnectionId,
    ) -> Option<Self> {
        let mut units = Vec::new();
        for member in members
            .iter()
            .filter(|member| member.exchange.connection == connection && is_work(member))
        {
            push(&mut units, member.clone(), None);
        }
        let shape: Vec<u64> = units.iter().map(|unit| unit.shape).collect();
        let ended = units.last()?.ended;
        Some(Self {
            request,
            shape,
            ended,
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// The last is the number of units.
    pub(super) ends: Vec<usize>,
    pub(super) goes_on: bool,
}

/// Proven work per connection, by request name.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: HashMap<Fingerprint, Vec<Vec<u64>>>,
}

impl Shapes {
    /// Records a request's work by connection, if all of it is proven.
    pub(super) fn learn(&mut self, name: &Fingerprint, members: &[Member]) {
        let is_known = self.known.contains_key(name);
        if !is_known && self.known.len() >= MAX_NAMES {
            return;
        }
        let mut lanes: Vec<(model::ConnectionId, Vec<AssignmentUnit>)> = Vec::new();
        for member in members.iter().filter(|member| is_work(member)) {
            if !member.assigned.is_some_and(Assigned::is_proof) {
                return;
            }
            let id = member.exchange.connection;
            match lanes.iter_mut().find(|(connection, _)| *connection == id) {
                Some((_, units)) => push(units, member.clone(), None),
                None => {
                    let mut units = Vec::new();
                    push(&mut units, member.clone(), None);
                    lanes.push((id, units));
                }
            }
        }
        let shapes = self.known.entry(name.clone()).or_default();
        for (_, units) in lanes {
            let shape: Vec<u64> = units.iter().map(|unit| unit.shape).collect();
            if shape.len() <= MAX_SHAPE_LEN && shapes.len() < MAX_SHAPES && !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
    }

    /// Whether a request of this name may do this on a connection; `None` if the name is unknown.
    pub(super) fn fits(&self, name: &Fingerprint, shape: &[u64]) -> Option<bool> {
        let known = self.known.get(name)?;
        Some(known.iter().any(|known| known == shape))
    }

    fn begins(&self, name: &Fingerprint, shape: &[u64]) -> bool {
        let known = self.known.get(name);
        known.is_some_and(|known| known.iter().any(|known| known.starts_with(shape)))
    }

    pub(super) fn is_idle(&self, name: &Fingerprint) -> bool {
        self.known.get(name).is_some_and(Vec::is_empty)
    }
}

fn is_work(member: &Member) -> bool {
    member.protocol.is_database() && member.exchange.phase == Phase::Work
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// Usual pause of the connection, in nanoseconds.
    pause: u64,
    is_last: bool,
}

pub(super) struct Cutting<'a> {
    pub(super) shapes: &'a Shapes,
    /// Names of requests that may own the span between two times.
    pub(super) owners: &'a dyn Fn(Timestamp, Timestamp) -> Vec<Fingerprint>,
    pub(super) name_of: &'a dyn Fn(u64) -> Option<Fingerprint>,
    /// Whether a request may own the span between two times.
    pub(super) may_own: &'a dyn Fn(u64, Timestamp, Timestamp) -> bool,
    /// Whether an open request may own unfinished work that began at a time.
    pub(super) is_open_behind: &'a dyn Fn(Timestamp) -> bool,
    /// Mean units per request, if all have equally many.
    pub(super) usual: Option<usize>,
}

impl Cutting<'_> {
    /// Minimum-cost cuts, by dynamic programming.
    pub(super) fn cut(&self, lane: &ConnectionUnits) -> Cuts {
        let units = &lane.units;
        let pause = usual_pause(units);
        let mut least = vec![f64::INFINITY; units.len() + 1];
        let mut from = vec![0; units.len() + 1];
        let mut goes_on = vec![false; units.len() + 1];
        let over = lane
            .before
            .as_ref()
            .map_or(0.0, |before| self.cost_of_ending(before));
        least[0] = 0.0;
        for end in 1..=units.len() {
            for start in (end.saturating_sub(MAX_SHAPE_LEN)..end).rev() {
                let run = &units[start..end];
                let place = Place {
                    pause,
                    is_last: end == units.len(),
                };
                let (mut cost, mut going_on) = (self.cost(run, &[], place), false);
                if let (0, Some(before)) = (start, &lane.before) {
                    let on = self.cost_of_going_on(run, before, place);
                    (cost, going_on) = if on <= cost + over {
                        (on, true)
                    } else {
                        (cost + over, false)
                    };
                }
                // A longer run has no owner either.
                if cost.is_infinite() {
                    break;
                }
                if least[start] + cost < least[end] {
                    least[end] = least[start] + cost;
                    from[end] = start;
                    goes_on[end] = going_on;
                }
            }
        }
        let mut cuts = Cuts::default();
        let mut end = units.len();
        while end > 0 {
            cuts.ends.push(end);
            cuts.goes_on = goes_on[end];
            end = from[end];
        }
        cuts.ends.reverse();
        cuts
    }

    fn cost_of_ending(&self, before: &Before) -> f64 {
        match (self.name_of)(before.request).and_then(|name| self.shapes.fits(&name, &before.shape)) {
            Some(true) => 0.0,
            Some(false) => COST_STRANGE,
            None => match self.usual {
                Some(usual) if usual == before.shape.len() => COST_USUAL,
                Some(usual) => COST_UNUSUAL + usual.abs_diff(before.shape.len()) as f64,
                None => COST_UNUSUAL,
            },
        }
    }

    fn cost_of_going_on(&self, run: &[AssignmentUnit], before: &Before, place: Place) -> f64 {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return 0.0;
        };
        let is_anothers = run
            .iter()
            .any(|unit| unit.owner.is_some_and(|(id, _)| id != before.request));
        match is_anothers || !(self.may_own)(before.request, first.started, last.ended) {
            true => f64::INFINITY,
            false => self.cost(run, &before.shape, place),
        }
    }

    fn cost(&self, run: &[AssignmentUnit], before: &[u64], place: Place) -> f64 {
        let mut owners = run.iter().filter_map(|unit| unit.owner).map(|(id, _)| id);
        if let Some(first) = owners.next()
            && owners.any(|other| other != first)
        {
            return f64::INFINITY;
        }
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return 0.0;
        };
        let possible = (self.owners)(first.started, last.ended);
        if possible.is_empty() {
            return if run.len() == 1 {
                COST_NOBODYS
            } else {
                f64::INFINITY
            };
        }
        let work = run.iter().filter(|unit| !unit.is_setup).map(|unit| unit.shape);
        let shape: Vec<u64> = before.iter().copied().chain(work).collect();
        let fits: Vec<Option<bool>> = possible
            .iter()
            .map(|name| self.shapes.fits(name, &shape))
            .collect();
        if fits.contains(&Some(true)) {
            return 0.0;
        }
        let goes_on = place.is_last && (self.is_open_behind)(first.started);
        if goes_on && possible.iter().any(|name| self.shapes.begins(name, &shape)) {
            return COST_USUAL;
        }
        if fits.iter().all(|fit| *fit == Some(false)) {
            return COST_STRANGE * run.len() as f64;
        }
        let pauses = run
            .windows(2)
            .map(|pair| gap(pair) > LONG_PAUSE * place.pause.max(1));
        let broken = pauses.filter(|is_long| *is_long).count();
        match self.usual {
            Some(usual) if usual == shape.len() || (goes_on && usual > shape.len()) => COST_USUAL,
            Some(usual) if usual < shape.len() => COST_UNUSUAL + 2.0 * (shape.len() - usual) as f64,
            Some(usual) => COST_UNUSUAL + (usual - shape.len()) as f64,
            None => COST_UNUSUAL + 2.0 * COST_UNUSUAL * broken as f64,
        }
    }
}

/// Median pause between units, in nanoseconds.
fn usual_pause(units: &[AssignmentUnit]) -> u64 {
    let pauses = units.windows(2).map(|pair| Duration::from_nanos(gap(pair)));
    let median = model::median(pauses).unwrap_or_default();
    u64::try_from(median.as_nanos()).unwrap_or(u64::MAX)
}

fn gap(pair: &[AssignmentUnit]) -> u64 {
    match pair {
        [before, after] => u64::try_from(after.started.since(before.ended).as_nanos()).unwrap_or(u64::MAX),
        _ => 0,
    }
}

/// A pause this many times the usual one probably separates requests.
const LONG_PAUSE: u64 = 4;
/// Costs of a run: without an owner, of no known shape, of usual length, of another length.
const COST_NOBODYS: f64 = 20.0;
const COST_STRANGE: f64 = 5.0;
const COST_USUAL: f64 = 0.5;
const COST_UNUSUAL: f64 = 2.0;

pub(super) const MAX_SHAPE_LEN: usize = 256;
const MAX_SHAPES: usize = 64;
const MAX_NAMES: usize = 2_000;
