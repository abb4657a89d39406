//! Which statements that follow each other on a connection are one request's: runs.
//!
//! A program that keeps a connection for its request uses it in runs, one request after another. What is in a
//! transaction is never cut (an [`AssignmentUnit`]). Where runs begin shows in what requests whose statements
//! are proven did ([`Shapes`]); without any, in how many statements there are for each request, and in the
//! pauses between them.

use super::super::Member;
use super::Sides;
use model::{Assigned, Fingerprint, Phase, Timestamp, TransactionState};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Exchanges of one connection that certainly belong to one request: a transaction, a statement outside of
/// any, or what it takes to connect.
#[derive(Debug)]
pub(super) struct AssignmentUnit {
    pub(super) members: Vec<Member>,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    /// What it does: equal for equal statements.
    pub(super) shape: u64,
    /// The request that it is proven to belong to.
    pub(super) owner: Option<(u64, Assigned)>,
    /// Connecting and logging in, no work.
    pub(super) is_setup: bool,
    /// A transaction that is not over.
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

    /// It ends its connection: nothing waits for it.
    pub(super) fn is_farewell(&self) -> bool {
        self.members
            .iter()
            .all(|member| member.exchange.phase == Phase::Close)
    }

    fn add(&mut self, member: Member, owner: Option<(u64, Assigned)>) {
        self.ended = self.ended.max(member.exchange.ended());
        self.is_open = is_in_transaction(&member);
        self.owner = self.owner.or(owner);
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

/// Adds an exchange to a connection's atoms.
pub(super) fn push(units: &mut Vec<AssignmentUnit>, member: Member, owner: Option<(u64, Assigned)>) {
    match units.last_mut() {
        Some(last) if last.is_open || (last.is_setup && member.exchange.phase < Phase::Work) => {
            last.add(member, owner);
        }
        _ => units.push(AssignmentUnit::new(member, owner)),
    }
}

/// The atoms of one connection, in order.
#[derive(Debug, Default)]
pub(super) struct ConnectionUnits {
    /// What the connection did before, proven and emitted, for a request that is not answered yet.
    pub(super) before: Option<Before>,
    /// When it was opened, if that was seen.
    pub(super) opened: Option<Timestamp>,
    pub(super) is_closed: bool,
    pub(super) units: Vec<AssignmentUnit>,
}

impl ConnectionUnits {
    pub(super) fn sides(&self) -> Option<&Sides> {
        let first = self.units.first()?.members.first()?;
        Some(&first.sides)
    }

    /// Makes one atom of all, which ends with what ended by `held`, the end of the requests that it may be
    /// for: what follows is not waited for, but the same request's, if the connection has ended.
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

/// One atom of all these, in order, which ends at `ended`.
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

/// What a connection did for a request before the first of its atoms.
#[derive(Debug, Clone)]
pub(super) struct Before {
    pub(super) request: u64,
    pub(super) shape: Vec<u64>,
    /// When the last of it ended.
    pub(super) ended: Timestamp,
}

impl Before {
    /// Of the exchanges that a request has from this connection.
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

/// Where a lane is cut.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// Where runs end, in order; the last is the number of atoms.
    pub(super) ends: Vec<usize>,
    /// Whether the first run goes on with what was before.
    pub(super) goes_on: bool,
}

/// What requests of each name do on a connection, as far as is proven.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: HashMap<Fingerprint, Vec<Vec<u64>>>,
}

impl Shapes {
    /// Notes what a request of this name did, connection by connection, when all of it is proven.
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

    /// Whether a request of this name may do this on one connection; `None` if nothing is known of the name.
    pub(super) fn fits(&self, name: &Fingerprint, shape: &[u64]) -> Option<bool> {
        let known = self.known.get(name)?;
        Some(known.iter().any(|known| known == shape))
    }

    /// Whether a request of this name may do this on one connection, and go on.
    fn begins(&self, name: &Fingerprint, shape: &[u64]) -> bool {
        let known = self.known.get(name);
        known.is_some_and(|known| known.iter().any(|known| known.starts_with(shape)))
    }

    /// Whether requests of this name are known to do nothing here.
    pub(super) fn is_idle(&self, name: &Fingerprint) -> bool {
        self.known.get(name).is_some_and(Vec::is_empty)
    }
}

fn is_work(member: &Member) -> bool {
    member.protocol.is_database() && member.exchange.phase == Phase::Work
}

/// Where a run lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The usual pause of its connection, in nanoseconds.
    pause: u64,
    /// Nothing came after it so far.
    is_last: bool,
}

/// What cuts a connection's atoms into runs.
pub(super) struct Cutting<'a> {
    pub(super) shapes: &'a Shapes,
    /// Requests that may own what lies between two times: their names.
    pub(super) owners: &'a dyn Fn(Timestamp, Timestamp) -> Vec<Fingerprint>,
    /// The name of a request.
    pub(super) name_of: &'a dyn Fn(u64) -> Option<Fingerprint>,
    /// Whether a request may own what lies between two times.
    pub(super) may_own: &'a dyn Fn(u64, Timestamp, Timestamp) -> bool,
    /// Whether a request is in flight that may own what began at a time and is not over.
    pub(super) is_open_behind: &'a dyn Fn(Timestamp) -> bool,
    /// How many atoms a request has on average, where all have as many.
    pub(super) usual: Option<usize>,
}

impl Cutting<'_> {
    /// By dynamic programming: the cuts whose runs cost least in all.
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

    /// What it costs that a request's run was over with what was seen before.
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

/// The median pause between two atoms, in nanoseconds.
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

/// A pause so many times the usual one lies between two requests, as a rule.
const LONG_PAUSE: u64 = 4;
/// What a run costs: nobody can own it, no known request does this, as long as usual, of another length.
const COST_NOBODYS: f64 = 20.0;
const COST_STRANGE: f64 = 5.0;
const COST_USUAL: f64 = 0.5;
const COST_UNUSUAL: f64 = 2.0;

/// Most atoms of a run that is looked for.
pub(super) const MAX_SHAPE_LEN: usize = 256;
const MAX_SHAPES: usize = 64;
const MAX_NAMES: usize = 2_000;
