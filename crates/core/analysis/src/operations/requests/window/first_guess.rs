//! First guess of owners: assigns each connection's runs by start and by the pause before the
//! response.

use super::super::matching::{IMPOSSIBLE, cheapest};
use super::super::runs::{AssignmentUnit, Before, Cutting, Shapes};
use super::{Candidate, Window};
use model::{ConnectionId, ConnectionMap, Timestamp};
use std::collections::HashMap;

impl Window {
    pub(super) fn first_guess(&self, lanes: &[ConnectionId], shapes: &Shapes) -> Vec<Option<u32>> {
        let index = |id: u64| self.candidates.iter().position(|candidate| candidate.id == id);
        let (runs, given) = self.give_out(self.runs(shapes), shapes);
        let mut guessed: ConnectionMap<Vec<Option<u32>>> = ConnectionMap::default();
        for (run, owner) in runs.iter().zip(given) {
            let owner = owner.and_then(|id| Some(index(id)? as u32));
            guessed
                .entry(run.lane)
                .or_default()
                .extend(std::iter::repeat_n(owner, run.length));
        }
        lanes
            .iter()
            .flat_map(|lane| guessed.remove(lane).unwrap_or_default())
            .collect()
    }

    fn runs(&self, shapes: &Shapes) -> Vec<Run> {
        let owners = |started, ended| {
            let possible = self
                .candidates
                .iter()
                .filter(|candidate| candidate.holds(started, ended));
            possible.map(|candidate| candidate.name.clone()).collect()
        };
        let find = |id| self.candidates.iter().find(|candidate| candidate.id == id);
        let cutting = Cutting {
            shapes,
            owners: &owners,
            name_of: &|id| Some(find(id)?.name.clone()),
            may_own: &|id, started, ended| find(id).is_some_and(|candidate| candidate.holds(started, ended)),
            is_open_behind: &|started| {
                let mut open = self
                    .candidates
                    .iter()
                    .filter(|candidate| candidate.answered.is_none());
                open.any(|candidate| candidate.started <= started)
            },
            usual: self.usual_length(),
        };
        let mut runs = Vec::new();
        for (&id, lane) in &self.lanes {
            let cuts = cutting.cut(lane);
            let mut before = lane.before.as_ref().filter(|_| cuts.goes_on);
            let mut from = 0;
            for to in cuts.ends {
                let run = lane
                    .units
                    .get(from..to)
                    .and_then(|run| Run::from_units(id, run, before.take()));
                runs.extend(run);
                from = to;
            }
        }
        runs
    }

    /// Units per request, if all have the same name and need one connection each.
    fn usual_length(&self) -> Option<usize> {
        let first = self.candidates.first()?;
        if self
            .candidates
            .iter()
            .any(|candidate| candidate.name != first.name)
        {
            return None;
        }
        let all = self.lanes.values();
        let before = all
            .clone()
            .flat_map(|lane| &lane.before)
            .map(|before| before.shape.len());
        let waiting = all.map(|lane| lane.units.iter().filter(|unit| !unit.is_setup).count());
        let units: usize = before.chain(waiting).sum::<usize>() + self.decided.0;
        let answered = self
            .candidates
            .iter()
            .filter(|candidate| candidate.answered.is_some())
            .count();
        let under_way = self.candidates.len() - answered;
        // An open one with a connection is on average half done; others wait for one.
        let busy = under_way.min(self.lanes.len());
        let requests = (self.decided.1 + answered) as f64 + busy as f64 / 2.0;
        Some(((units as f64 / requests).round() as usize).max(1))
    }

    fn give_out(&self, runs: Vec<Run>, shapes: &Shapes) -> (Vec<Run>, Vec<Option<u64>>) {
        let mut given: Vec<Option<u64>> = runs.iter().map(|run| run.owner).collect();
        let free = (0..runs.len()).filter(|&run| given[run].is_none() && !runs[run].shape.is_empty());
        let free: Vec<usize> = free.collect();
        let open: Vec<&Candidate> = self
            .candidates
            .iter()
            .filter(|candidate| !given.contains(&Some(candidate.id)))
            .filter(|candidate| !shapes.is_idle(&candidate.name))
            .collect();
        for (run, candidate) in pair(&runs, &free, &open, shapes) {
            given[run] = Some(candidate);
        }
        // A run that no request has room for may belong to several: a connection need not be kept.
        let mut pieces = Vec::new();
        let mut owners = Vec::new();
        for (run, owner) in runs.into_iter().zip(given) {
            match owner {
                Some(_) => {
                    pieces.push(run);
                    owners.push(owner);
                }
                None => {
                    owners.extend(run.times.iter().map(|_| None));
                    pieces.extend(run.split());
                }
            }
        }
        self.give_out_rest(&pieces, &mut owners);
        (pieces, owners)
    }

    /// Assigns the remaining pieces: to the connection's previous request, otherwise to the
    /// longest-waiting one, each only if idle; otherwise to any candidate.
    fn give_out_rest(&self, runs: &[Run], given: &mut [Option<u64>]) {
        let mut rest: Vec<usize> = (0..runs.len()).filter(|&run| given[run].is_none()).collect();
        rest.sort_by_key(|&run| runs[run].started);
        let mut busy = Busy::default();
        for (run, owner) in runs.iter().zip(given.iter()) {
            if let Some(owner) = owner {
                busy.add(*owner, run);
            }
        }
        for index in rest {
            let run = &runs[index];
            let before = index
                .checked_sub(1)
                .filter(|&before| runs[before].lane == run.lane);
            let before = before.and_then(|before| given[before]);
            let holds = |candidate: &&Candidate| candidate.holds(run.started, run.ended);
            let mut possible = self.candidates.iter().filter(holds).peekable();
            let any = possible.peek().map(|candidate| candidate.id);
            let idle = possible.filter_map(|candidate| {
                let since = busy.idle_since(candidate, run)?;
                Some((before != Some(candidate.id), since, candidate.id))
            });
            given[index] = idle.min().map(|(.., id)| id).or(any);
            if let Some(owner) = given[index] {
                busy.add(owner, run);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Busy(HashMap<u64, Vec<(Timestamp, Timestamp)>>);

impl Busy {
    fn add(&mut self, request: u64, run: &Run) {
        self.0.entry(request).or_default().extend(&run.times);
    }

    /// Start of the request's idle time before a run; `None` if it was busy during the run.
    fn idle_since(&self, candidate: &Candidate, run: &Run) -> Option<Timestamp> {
        let times = self.0.get(&candidate.id).map(Vec::as_slice).unwrap_or_default();
        let mut since = candidate.started;
        for &(started, ended) in times {
            if started < run.ended && run.started < ended {
                return None;
            }
            if ended <= run.started {
                since = since.max(ended);
            }
        }
        Some(since)
    }
}

#[derive(Debug)]
struct Run {
    lane: model::ConnectionId,
    length: usize,
    started: Timestamp,
    ended: Timestamp,
    owner: Option<u64>,
    shape: Vec<u64>,
    times: Vec<(Timestamp, Timestamp)>,
}

impl Run {
    fn split(self) -> Vec<Self> {
        // Connecting has no shape.
        let setups = self.times.len() - self.shape.len();
        let pieces = self
            .times
            .iter()
            .enumerate()
            .map(|(index, &(started, ended))| Self {
                lane: self.lane,
                length: 1,
                started,
                ended,
                owner: None,
                shape: index
                    .checked_sub(setups)
                    .and_then(|index| self.shape.get(index))
                    .copied()
                    .into_iter()
                    .collect(),
                times: vec![(started, ended)],
            });
        pieces.collect()
    }

    fn from_units(
        lane: model::ConnectionId,
        units: &[AssignmentUnit],
        before: Option<&Before>,
    ) -> Option<Self> {
        let (first, last) = (units.first()?, units.last()?);
        let shape = units.iter().filter(|unit| !unit.is_setup).map(|unit| unit.shape);
        Some(Self {
            lane,
            length: units.len(),
            started: first.started,
            ended: last.ended,
            owner: before
                .map(|before| before.request)
                .or_else(|| units.iter().find_map(|unit| unit.owner).map(|(id, _)| id)),
            shape: shape.collect(),
            times: units.iter().map(|unit| (unit.started, unit.ended)).collect(),
        })
    }
}

/// Pairs the runs in `free` with candidates: index of the run, number of the request.
fn pair(runs: &[Run], free: &[usize], open: &[&Candidate], shapes: &Shapes) -> Vec<(usize, u64)> {
    let mut free = free.to_vec();
    free.sort_by_key(|&run| runs[run].started);
    let mut open = open.to_vec();
    open.sort_by_key(|candidate| candidate.started);
    let mut scale = Scale::default();
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        found = pair_once(runs, &free, &open, shapes, scale);
        scale = Scale::from_runs(runs, &free, &open, &found);
    }
    found
        .into_iter()
        .map(|(row, column)| (free[row], open[column].id))
        .collect()
}

#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Common displacement in places: earlier runs or requests were not seen.
    displaced: f64,
    /// Places in the order of starts, beyond `displaced`.
    places: f64,
    /// Nanoseconds from the run's end to the reply.
    reply: f64,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            displaced: 0.0,
            places: 1.0,
            reply: 1e6,
        }
    }
}

impl Scale {
    fn from_runs(runs: &[Run], free: &[usize], open: &[&Candidate], found: &[(usize, usize)]) -> Self {
        let places = |&(row, column): &(usize, usize)| row as f64 - column as f64;
        let displaced = quantile(found.iter().map(places), 0.5);
        let answered = found
            .iter()
            .filter(|(_, column)| open[*column].answered.is_some());
        let reply = answered.map(|&(row, column)| to_reply(&runs[free[row]], open[column]));
        Self {
            displaced,
            places: quantile(found.iter().map(|pair| (places(pair) - displaced).abs()), TYPICAL)
                .max(MIN_PLACES),
            reply: quantile(reply, TYPICAL).max(MIN_REPLY_NS),
        }
    }
}

fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at).or(values.last()).copied().unwrap_or(0.0)
}

fn to_reply(run: &Run, candidate: &Candidate) -> f64 {
    candidate
        .answered
        .map_or(0.0, |(replied, _)| replied.since(run.ended).as_nanos() as f64)
}

fn pair_once(
    runs: &[Run],
    free: &[usize],
    open: &[&Candidate],
    shapes: &Shapes,
    scale: Scale,
) -> Vec<(usize, usize)> {
    // After the candidates, a column per unassigned run.
    let columns = open.len() + free.len();
    let mut cost = Vec::with_capacity(free.len() * columns);
    for (row, &run) in free.iter().enumerate() {
        let run = &runs[run];
        for (column, candidate) in open.iter().enumerate() {
            cost.push(if candidate.holds(run.started, run.ended) {
                let strange = shapes.fits(&candidate.name, &run.shape) == Some(false);
                let places = row as f64 - column as f64 - scale.displaced;
                (places / scale.places).powi(2)
                    + (to_reply(run, candidate) / scale.reply).powi(2)
                    + if strange { COST_STRANGE } else { 0.0 }
            } else {
                IMPOSSIBLE
            });
        }
        cost.extend((0..free.len()).map(|other| if other == row { COST_NOBODYS } else { IMPOSSIBLE }));
    }
    let found = cheapest(&cost, free.len(), columns);
    let pairs = found.into_iter().enumerate();
    pairs
        .filter_map(|(row, column)| Some((row, column.filter(|&column| column < open.len())?)))
        .collect()
}

/// Each iteration uses the deviations found before.
const ROUNDS: usize = 3;
const TYPICAL: f64 = 0.8;
const MIN_PLACES: f64 = 0.5;
const MIN_REPLY_NS: f64 = 20_000.0;
/// Costs of a run for a request known to do other work, and for none.
const COST_STRANGE: f64 = 9.0;
const COST_NOBODYS: f64 = 400.0;
