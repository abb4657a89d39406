//! Replays kept operations with several clients or shared cores.

use super::Predictor;
use super::named::Named;
use crate::at_once;
use crate::closed_loop::{self, ClosedLoopResult, Mix, SimulationConfig};
use crate::connection_pools::PoolLimits;
use crate::cores::Whose;
use crate::locks::{Locked, SimulatedLocks};
use crate::plan::{Openings, Work};
use crate::run::Computing;
use crate::sample_pool::SamplePool;
use crate::target::ComputingByClients;
use crate::wake_up::WakeUp;
use crate::web_servers::{OwnCores, Spans, WebServerCores};
use crate::workers::CapacityLimit;
use model::{DistributionBuilder, Nanos};

struct Possible<'a> {
    config: SimulationConfig<'a>,
    kept: &'a [SamplePool],
}

/// Waits of clients for each other in the measurement.
struct Waits {
    limit: Option<CapacityLimit>,
    locked: Locked,
    shared: PoolLimits,
}

/// Operations where clients and servers have `computing`.
struct Learned<'a> {
    waits: &'a Waits,
    computing: Computing,
    shared: PoolLimits,
    web_server_cores: OwnCores,
    /// Operations of each name, with waits for cores removed too.
    kept: Vec<SamplePool>,
    /// The same for other possible cores of web servers.
    on_other_cores: Vec<(OwnCores, Vec<SamplePool>)>,
}

impl Learned<'_> {
    fn expected(&self, clients: u32, wake_up: WakeUp) -> Possible<'_> {
        let workers = self.waits.limit.as_ref().map(|limit| limit.workers);
        let is_shared = self.has_shown(clients);
        let work_on = self.kept.iter().any(SamplePool::works_after_reply);
        Possible {
            config: SimulationConfig {
                computing: self.computing,
                web_server_cores: self.web_server_cores,
                wake_up,
                workers: workers.filter(|workers| *workers < clients || work_on),
                pools: is_shared.then_some(&self.shared.certain),
                idle_limits: &self.shared.idle,
                locks: (clients > 1).then_some(SimulatedLocks::Certain(&self.waits.locked)),
            },
            kept: &self.kept,
        }
    }

    /// Alternatives where the measurement leaves them open.
    fn others<'a>(&'a self, clients: u32, expected: &Possible<'a>) -> Vec<Possible<'a>> {
        let mut others = Vec::new();
        let mut push = |config, kept| others.push(Possible { config, kept });
        let (config, kept) = (expected.config, expected.kept);
        if clients > 1 && self.waits.locked.is_open() {
            let locks = Some(SimulatedLocks::Possible(&self.waits.locked));
            push(SimulationConfig { locks, ..config }, kept);
        }
        if self.has_shown(clients) && self.shared.certain != self.shared.all {
            let pools = Some(&self.shared.all);
            push(SimulationConfig { pools, ..config }, kept);
        }
        for (web_server_cores, kept) in self.on_other_cores.iter().filter(|_| clients > 1) {
            let config = SimulationConfig {
                web_server_cores: *web_server_cores,
                ..config
            };
            push(config, kept);
        }
        others
    }

    /// Whether so many clients shared connections in the measurement.
    const fn has_shown(&self, clients: u32) -> bool {
        clients > 1 && clients <= self.shared.requests
    }
}

impl Predictor {
    pub(super) fn simulate_contention(&mut self) {
        if !self.meet_others() {
            return;
        }
        let (waits, mut pools) = self.take_waits();
        let mut groups = self.simulated();
        while let Some((computing, targets)) = groups.pop() {
            let is_last = groups.is_empty();
            let pools = if is_last {
                std::mem::take(&mut pools)
            } else {
                pools.clone()
            };
            let learned = self.learned(&waits, pools, computing);
            for (index, clients) in targets {
                let expected = learned.expected(clients, self.wake_up);
                let others = learned.others(clients, &expected);
                self.let_meet_on(index, &expected, &others);
            }
        }
    }

    /// Places and clients of targets that are not replayed alone: one client, then several.
    fn simulated(&self) -> Vec<(Computing, Vec<(usize, u32)>)> {
        let targets = self.targets.iter().enumerate();
        let targets = targets.filter(|(_, target)| !self.is_alone(target));
        let (several, one): (Vec<_>, Vec<_>) = targets
            .map(|(index, target)| (index, target.clients))
            .partition(|(_, clients)| *clients > 1);
        let ComputingByClients {
            one: of_one,
            several: of_several,
        } = self.computing;
        let mut groups = vec![(of_one, one), (of_several, several)];
        groups.retain(|(_, targets)| !targets.is_empty());
        groups
    }

    /// Takes the operations, and removes from them the clients' waits for workers and rows.
    fn take_waits(&mut self) -> (Waits, Vec<SamplePool>) {
        let limit = self.requests.limit(self.workers);
        let locked = std::mem::take(&mut self.locks).conclude();
        let for_worker = |arrived| limit.as_ref().map_or(Nanos::ZERO, |limit| limit.waited(arrived));
        self.load
            .put_off_servers(|arrived| for_worker(arrived).saturating_add(locked.waited(arrived)));
        let mut kept: Vec<SamplePool> = Vec::with_capacity(self.names.len());
        kept.extend(self.names.iter_mut().map(|named| std::mem::take(&mut named.pool)));
        for plan in kept.iter_mut().flat_map(SamplePool::plans) {
            if let Some(limit) = &limit {
                limit.take_out(plan);
            }
            locked.take_out(plan);
        }
        let shared = std::mem::take(&mut self.pools).conclude();
        let waits = Waits {
            limit,
            locked,
            shared,
        };
        (waits, kept)
    }

    fn learned<'a>(&self, waits: &'a Waits, mut kept: Vec<SamplePool>, computing: Computing) -> Learned<'a> {
        let WebServerCores { expected, others } = self.web_server_cores(&mut kept, computing);
        let work_only = |mut kept: Vec<SamplePool>, web_server_cores| {
            let work = self.work(web_server_cores, computing);
            kept.iter_mut().for_each(|pool| pool.keep_work_only(&work));
            kept
        };
        let others = others
            .into_iter()
            .map(|other| (other, work_only(kept.clone(), other)));
        let mut on_other_cores: Vec<(OwnCores, Vec<SamplePool>)> = others.collect();
        let mut kept = work_only(kept, expected);
        for (name, pool) in kept.iter_mut().enumerate() {
            let cold = pool.cold();
            pool.leave_out_first(cold);
            let others = on_other_cores.iter_mut();
            others.for_each(|(_, pools)| pools[name].leave_out_first(cold));
        }
        let mut shared = waits.shared.clone();
        let others = on_other_cores.iter_mut().map(|(_, pools)| pools);
        for pools in std::iter::once(&mut kept).chain(others) {
            open_from_pools(pools, &mut shared);
        }
        Learned {
            waits,
            computing,
            shared,
            web_server_cores: expected,
            kept,
            on_other_cores,
        }
    }

    fn web_server_cores(&self, pools: &mut [SamplePool], computing: Computing) -> WebServerCores {
        let Some(cores) = computing.server else {
            return WebServerCores::default();
        };
        let mut spans = Spans::default();
        for (name, pool) in pools.iter_mut().enumerate() {
            pool.plans().for_each(|plan| spans.add(name, plan));
        }
        spans.cores(&self.load, cores)
    }

    fn work(&self, web_servers: OwnCores, computing: Computing) -> Work {
        let of = |whose: &[Whose], cores: Option<u32>| cores.map(|cores| self.load.work(whose, cores));
        let (clients, servers) = (computing.client, computing.server);
        match web_servers {
            Some(own) => [
                of(&[Whose::Clients], clients),
                of(&[Whose::Servers], servers),
                of(&[Whose::WebServers], Some(own)),
            ],
            None => {
                let all = of(&[Whose::Servers, Whose::WebServers], servers);
                [of(&[Whose::Clients], clients), all.clone(), all]
            }
        }
    }

    /// Runs the clients of one target under expected and alternative conditions; the bounds include
    /// both.
    fn let_meet_on(&mut self, target: usize, expected: &Possible<'_>, others: &[Possible<'_>]) {
        let pauses: Vec<Nanos> = self.names.iter_mut().map(Named::pause).collect();
        for ClosedLoopResult { operations, elapsed } in self.meet(target, expected, &pauses) {
            for (name, whole) in operations {
                let sum = &mut self.names[name].sums[target];
                sum.add(&whole);
                sum.elapsed = Some(elapsed);
            }
        }
        for (named, pool) in self.names.iter_mut().zip(expected.kept) {
            let workers = expected.config.workers.filter(|_| pool.needs_workers());
            named.sums[target].workers = workers;
            named.sums[target].cold = pool.left_out();
        }
        for other in others {
            let mut durations = vec![DistributionBuilder::new(); self.names.len()];
            for ClosedLoopResult { operations, .. } in self.meet(target, other, &pauses) {
                operations
                    .into_iter()
                    .for_each(|(name, whole)| durations[name].add(whole.duration));
            }
            for (named, mut durations) in self.names.iter_mut().zip(durations) {
                named.sums[target].medians.extend(durations.percentile(50));
            }
        }
    }

    /// Runs the clients of each name separately; where they wait for shared workers, those of the
    /// names that need one and were measured at once together, in the measured mix.
    fn meet(&self, target: usize, possible: &Possible<'_>, pauses: &[Nanos]) -> Vec<ClosedLoopResult> {
        let config = possible.config;
        let mut done = Vec::new();
        let mut sharing = Vec::new();
        let meet =
            |mix: &Mix<'_>| closed_loop::closed_loop(&self.targets[target], &self.links[target], mix, config);
        for (name, pool) in possible.kept.iter().enumerate() {
            if config.workers.is_some() && pool.needs_workers() {
                sharing.push((name, pool));
            } else if !pool.operations().is_empty() {
                let mut own = Mix::default();
                own.add(name, pool, pauses[name]);
                done.push(meet(&own));
            }
        }
        for names in at_once::groups(&sharing) {
            let mut mixed = Mix::default();
            for (name, pool) in names {
                mixed.add(name, pool, pauses[name]);
            }
            done.push(meet(&mixed));
        }
        done
    }
}

fn open_from_pools(pools: &mut [SamplePool], shared: &mut PoolLimits) {
    if shared.idle.is_empty() {
        return;
    }
    let plans = pools.iter_mut().flat_map(SamplePool::plans);
    let mut openings = Openings::new(plans.map(|plan| &*plan), |protocol| {
        shared.idle.contains_key(&protocol)
    });
    shared.idle.retain(|protocol, _| openings.knows(*protocol));
    pools
        .iter_mut()
        .for_each(|pool| pool.open_from_pools(&mut openings));
}
