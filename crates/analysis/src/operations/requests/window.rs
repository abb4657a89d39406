//! Statements of one host while several of its requests are under way: whose each is, decided together.
//!
//! Statements wait here, connection by connection, until the requests that could have caused them are answered. A first guess takes each
//! connection's statements for runs ([`super::runs`]) and gives runs to requests ([`super::matching`]) by the order of their beginnings and
//! the pause before the response. From it, and from requests that were alone, is learned how requests go on ([`super::likelihood`]);
//! [`super::search`] then decides about all that waits, with a probability for each.
//!
//! What a response waited for ended before its first byte, unless requests of that name were seen to ask for more while it is sent.

use super::super::Member;
use super::OpenRequest;
use super::likelihood::Likelihood;
use super::lives::{FOREVER, Lives};
use super::matching::{IMPOSSIBLE, cheapest};
use super::runs::{Atom, Before, Cutting, Lane, Shapes, push, united};
use super::search::{self, Earlier, Group, Owner, Request, Work};
use model::{Assigned, ConnectionId, ConnectionMap, Fingerprint, Phase, Share, Timestamp};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A request that could have caused what waits.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) id: u64,
    /// The HTTP connection that it came on.
    pub(super) connection: ConnectionId,
    pub(super) started: Timestamp,
    /// When its reply began and ended; absent while it is not answered.
    pub(super) answered: Option<(Timestamp, Timestamp)>,
    pub(super) name: Fingerprint,
    /// Whether it has statements while its response is sent.
    pub(super) is_streamed: bool,
}

impl Candidate {
    fn holds(&self, started: Timestamp, ended: Timestamp) -> bool {
        self.started <= started && self.work_ended().is_none_or(|until| ended <= until)
    }

    /// When its response no longer waited for any statement.
    fn work_ended(&self) -> Option<Timestamp> {
        let (replied, ended) = self.answered?;
        Some(if self.is_streamed { ended } else { replied })
    }
}

/// What waits on one host.
#[derive(Debug, Default)]
pub(super) struct Window {
    candidates: Vec<Candidate>,
    lanes: ConnectionMap<Lane>,
    waiting: usize,
    /// Statements and transactions decided about so far, and requests.
    decided: (usize, usize),
    likelihood: Likelihood,
    /// How many requests it was learned from that were alone.
    alone: usize,
    /// Names of requests that have statements while their response is sent.
    streamed: HashSet<Fingerprint>,
}

/// A decision: a statement, and the request it was given to; none where no request fits.
pub(super) type Decision = (Member, Option<u64>);

impl Window {
    pub(super) fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.candidates.iter().any(|candidate| candidate.id == id)
    }

    /// The numbers of all candidates.
    pub(super) fn ids(&self) -> Vec<u64> {
        self.candidates.iter().map(|candidate| candidate.id).collect()
    }

    pub(super) fn add_candidate(&mut self, mut candidate: Candidate) {
        candidate.is_streamed = self.streamed.contains(&candidate.name);
        self.candidates.push(candidate);
    }

    /// Keeps a statement; with `owner` where it is proven whose it is. `lane` is what is known of its connection, for the first that is kept
    /// of it.
    pub(super) fn keep(
        &mut self,
        member: Member,
        owner: Option<(u64, Assigned)>,
        lane: impl FnOnce() -> Lane,
    ) {
        self.waiting += 1;
        let lane = self.lanes.entry(member.exchange.connection).or_insert_with(lane);
        lane.is_closed |= member.exchange.phase == Phase::Close;
        push(&mut lane.atoms, member, owner);
    }

    /// A request's reply began at `replied`, and is over.
    pub(super) fn answered(&mut self, id: u64, replied: Timestamp, ended: Timestamp) {
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.id == id) {
            candidate.answered = Some((replied, ended));
        }
    }

    /// Which candidates can be decided about now, at `now`: all when none is under way, otherwise the earlier ones of many, and those
    /// that have waited for long.
    pub(super) fn ripe(&self, now: Timestamp) -> Vec<u64> {
        let mut answered: Vec<(Timestamp, u64)> = Vec::new();
        for candidate in &self.candidates {
            answered.extend(candidate.answered.map(|(_, at)| (at, candidate.id)));
        }
        answered.sort_unstable();
        let count = match answered.len() {
            all if all == self.candidates.len() => all,
            many if many >= MOST_ANSWERED || self.waiting >= MOST_WAITING => many.div_ceil(2),
            _ => {
                let is_old = |(at, _): &&(Timestamp, u64)| now.since(*at) > LONGEST_WAIT;
                answered.iter().take_while(is_old).count()
            }
        };
        answered.into_iter().take(count).map(|(_, id)| id).collect()
    }

    /// Whether more waits than may.
    pub(super) fn is_full(&self) -> bool {
        self.waiting >= MOST_WAITING
            && !self
                .candidates
                .iter()
                .any(|candidate| candidate.answered.is_some())
    }

    /// Learns from a request that was alone: from its beginning and the first byte of its response, and its exchanges.
    pub(super) fn learn_alone(&mut self, request: &OpenRequest, replied: Timestamp, lives: &Lives) {
        let (name, from, members) = (&request.name, request.started, &request.members);
        if self.alone >= MAX_ALONE {
            return;
        }
        self.alone += 1;
        let mut lanes: ConnectionMap<Vec<Atom>> = ConnectionMap::default();
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
        for (connection, atoms) in lanes {
            let atoms = match is_one_life(&atoms, lives) {
                true => united_all(atoms),
                false => atoms,
            };
            let works = atoms.iter().map(|atom| Work {
                owner: Some(0),
                ..work(connection, atom)
            });
            group.work.extend(works);
        }
        if group.work.iter().any(|work| work.ended > replied.as_nanos()) {
            self.streamed.insert(name.clone());
        }
        search::learn_alone(&group, &mut self.likelihood);
    }

    /// Decides about the candidates in `ripe`, and hands out what is theirs, and what no request can have caused.
    pub(super) fn decide(&mut self, ripe: &[u64], shapes: &Shapes, lives: &Lives) -> Vec<Decision> {
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
        let decisions = self.hand_out(&lanes, &owners, ripe);
        self.candidates.retain(|candidate| !ripe.contains(&candidate.id));
        self.waiting = self.waiting.saturating_sub(decisions.len());
        decisions
    }

    /// All that a connection did that lives for one request is that request's. It may be asked for while the response is sent: from PHP, the
    /// end of the page goes out after its connection is closed.
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
            let [life] = lane.atoms.as_slice() else { continue };
            for candidate in &mut holding {
                candidate.is_streamed |= candidate.answered.is_some_and(|(replied, until)| {
                    (life.started..life.ended).contains(&replied) && life.ended <= until
                });
            }
        }
    }

    /// A statement that only fits into the rest of a response shows that this one is sent while it is made.
    fn find_streamed(&mut self) {
        let times: Vec<(Timestamp, Timestamp)> = self
            .lanes
            .values()
            .flat_map(|lane| &lane.atoms)
            .map(|atom| (atom.started, atom.ended))
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

    /// So does one on a connection that the requests of an HTTP connection are known to keep, while the response of one of them is sent.
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
            let is_in_rest = |atom: &Atom| {
                candidate.started <= atom.started && replied < atom.ended && atom.ended <= until
            };
            let is_kept = |lane: &ConnectionId| affinity.is_kept(candidate.connection.0, lane.0);
            if self
                .lanes
                .iter()
                .any(|(id, lane)| lane.atoms.iter().any(is_in_rest) && is_kept(id))
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

    /// What is searched: the work of `lanes`, one after the other.
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
            group.work.extend(lane.atoms.iter().map(|atom| Work {
                owner: atom.owner.and_then(|(id, _)| Some(index(id)? as u32)),
                ..work(*id, atom)
            }));
        }
        group
    }

    /// The first guess, as indices of candidates, in the order of [`Window::group`].
    fn first_guess(&self, lanes: &[ConnectionId], shapes: &Shapes) -> Vec<Option<u32>> {
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

    /// Takes out what is due: that of requests in `ripe`, and what is nobody's.
    fn hand_out(&mut self, lanes: &[ConnectionId], owners: &[Owner], ripe: &[u64]) -> Vec<Decision> {
        let horizon = self.horizon(ripe);
        let mut decisions = Vec::new();
        let mut owners = owners.iter();
        for id in lanes {
            let Some(lane) = self.lanes.remove(id) else {
                continue;
            };
            let mut kept = Lane {
                opened: lane.opened,
                is_closed: lane.is_closed,
                ..Lane::default()
            };
            for (atom, (owner, probability)) in lane.atoms.into_iter().zip(owners.by_ref()) {
                let guess = owner.and_then(|owner| Some(self.candidates.get(owner as usize)?.id));
                let owner = atom.owner.map(|(id, _)| id).or(guess);
                let is_due = match owner {
                    Some(id) => ripe.contains(&id),
                    None => atom.ended < horizon,
                };
                if is_due {
                    self.decided.0 += usize::from(!atom.is_setup);
                    decisions.extend(decided(atom, owner, *probability));
                } else {
                    kept.atoms.push(atom);
                }
            }
            if !kept.atoms.is_empty() {
                kept.before = lane.before.filter(|before| !ripe.contains(&before.request));
                self.lanes.insert(*id, kept);
            }
        }
        decisions
    }

    /// Before this, nothing can be for a request that is not decided about now.
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

    /// The runs of all connections, in order on each.
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
                    .atoms
                    .get(from..to)
                    .and_then(|run| Run::of(id, run, before.take()));
                runs.extend(run);
                from = to;
            }
        }
        runs
    }

    /// Atoms of each request, where all have the same name and one connection each would be enough.
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
        let waiting = all.map(|lane| lane.atoms.iter().filter(|atom| !atom.is_setup).count());
        let atoms: usize = before.chain(waiting).sum::<usize>() + self.decided.0;
        let answered = self
            .candidates
            .iter()
            .filter(|candidate| candidate.answered.is_some())
            .count();
        let under_way = self.candidates.len() - answered;
        // One under way that has a connection is half done, as a rule; others wait for one.
        let busy = under_way.min(self.lanes.len());
        let requests = (self.decided.1 + answered) as f64 + busy as f64 / 2.0;
        Some(((atoms as f64 / requests).round() as usize).max(1))
    }

    /// Which request each run is given to.
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
        // A run that no request has room for may be several requests': a connection need not be kept.
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

    /// What is left, piece by piece: to the request that the connection worked for before, otherwise to the one that has waited
    /// longest, each only when nothing else is under way for it; otherwise to any that was there.
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

/// When each request was waiting for statements.
#[derive(Debug, Default)]
struct Busy(HashMap<u64, Vec<(Timestamp, Timestamp)>>);

impl Busy {
    fn add(&mut self, request: u64, run: &Run) {
        self.0.entry(request).or_default().extend(&run.times);
    }

    /// Since when a request had waited for nothing when a run began; absent when it waited for something during the run.
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

fn decided(atom: Atom, owner: Option<u64>, probability: f64) -> impl Iterator<Item = Decision> {
    let proof = atom.owner.map(|(_, proof)| proof);
    atom.members.into_iter().map(move |mut member| {
        member.assigned = member.assigned.or(proof).or(owner.map(|_| Assigned::Order));
        if member.assigned == Some(Assigned::Order) {
            member.probability = member.probability.or(Share::of_fraction(probability));
        }
        (member, owner)
    })
}

/// Whether a request's work on a connection is all that this one did, and lived for.
fn is_one_life(atoms: &[Atom], lives: &Lives) -> bool {
    let first = atoms.first().and_then(|first| first.members.first());
    first.is_some_and(|first| first.exchange.is_handshake() && lives.are_of_one_request(&first.sides))
}

fn united_all(atoms: Vec<Atom>) -> Vec<Atom> {
    let works = atoms.iter().filter(|atom| !atom.is_farewell());
    let ended = works.map(|atom| atom.ended).max().unwrap_or_default();
    united(atoms, ended, None).into_iter().collect()
}

fn work(connection: ConnectionId, atom: &Atom) -> Work {
    Work {
        connection: connection.0,
        started: atom.started.as_nanos(),
        ended: atom.ended.as_nanos(),
        kind: if atom.is_setup {
            KIND_OF_SETUP
        } else {
            kind(atom.shape)
        },
        owner: None,
    }
}

/// Shapes that are not equal have different kinds, but for one pair in two thousand millions.
fn kind(shape: u64) -> u32 {
    ((shape ^ (shape >> 32)) as u32) >> 1
}

fn number_of(name: &Fingerprint) -> u32 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    kind(hasher.finish())
}

/// Consecutive atoms of a connection.
#[derive(Debug)]
struct Run {
    lane: model::ConnectionId,
    length: usize,
    started: Timestamp,
    ended: Timestamp,
    owner: Option<u64>,
    shape: Vec<u64>,
    /// When each of its atoms began and ended.
    times: Vec<(Timestamp, Timestamp)>,
}

impl Run {
    /// Its atoms, each as a run.
    fn split(self) -> Vec<Self> {
        // What it takes to connect has no shape.
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

    fn of(lane: model::ConnectionId, atoms: &[Atom], before: Option<&Before>) -> Option<Self> {
        let (first, last) = (atoms.first()?, atoms.last()?);
        let shape = atoms.iter().filter(|atom| !atom.is_setup).map(|atom| atom.shape);
        Some(Self {
            lane,
            length: atoms.len(),
            started: first.started,
            ended: last.ended,
            owner: before
                .map(|before| before.request)
                .or_else(|| atoms.iter().find_map(|atom| atom.owner).map(|(id, _)| id)),
            shape: shape.collect(),
            times: atoms.iter().map(|atom| (atom.started, atom.ended)).collect(),
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
        scale = Scale::of(runs, &free, &open, &found);
    }
    found
        .into_iter()
        .map(|(row, column)| (free[row], open[column].id))
        .collect()
}

/// How far pairs deviate from the order, as a rule.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Places by which all are displaced: runs or requests before them were not seen.
    displaced: f64,
    /// Places in the order of beginnings, beyond that.
    places: f64,
    /// Nanoseconds from a run's end to its request's reply.
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
    fn of(runs: &[Run], free: &[usize], open: &[&Candidate], found: &[(usize, usize)]) -> Self {
        let places = |&(row, column): &(usize, usize)| row as f64 - column as f64;
        let displaced = quantile(found.iter().map(places), 0.5);
        let answered = found
            .iter()
            .filter(|(_, column)| open[*column].answered.is_some());
        let reply = answered.map(|&(row, column)| to_reply(&runs[free[row]], open[column]));
        Self {
            displaced,
            places: quantile(found.iter().map(|pair| (places(pair) - displaced).abs()), TYPICAL)
                .max(LEAST_PLACES),
            reply: quantile(reply, TYPICAL).max(LEAST_REPLY),
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
    // Behind the candidates: a place for each run that is given to none.
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

const KIND_OF_SETUP: u32 = 1;
/// Requests that were alone of which is learned.
const MAX_ALONE: usize = 500;
/// How often pairs are looked for, each time with the deviations found before.
const ROUNDS: usize = 3;
/// The share of pairs that deviate no more than is typical.
const TYPICAL: f64 = 0.8;
const LEAST_PLACES: f64 = 0.5;
/// 20 microseconds.
const LEAST_REPLY: f64 = 20_000.0;
/// What it costs to give a run to a request that is known to do other things, and to none.
const COST_STRANGE: f64 = 9.0;
const COST_NOBODYS: f64 = 400.0;
/// Answered requests that wait for those that overlap them.
const MOST_ANSWERED: usize = 256;
/// Statements that wait on one host.
const MOST_WAITING: usize = 4_000;
/// An answered request waits no longer than this for those that overlap it.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
