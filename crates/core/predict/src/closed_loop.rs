//! Several clients share a link; each runs one operation after another.

use crate::client_node::ClientId;
use crate::critical_path;
use crate::links::ReplayConnection;
use crate::locks::SimulatedLocks;
use crate::plan::OperationPlan;
use crate::predictor::ReplayTotals;
use crate::run::{Computing, RunProgress, SimulatedRun, Times};
use crate::sample_pool::{Recorded, SamplePool};
use crate::target::PredictionTarget;
use crate::virtual_time::VirtualTime;
use crate::wake_up::WakeUp;
use link::LinkDescription;
use model::{Nanos, Protocol};
use std::collections::HashMap;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct ClosedLoopResult {
    /// Operations that ended after the warm-up, each with the number of its name.
    pub operations: Vec<(usize, ReplayTotals)>,
    /// Duration of the counted part.
    pub elapsed: Duration,
}

/// Operations of one name, or of several in the measured mix.
#[derive(Debug, Default)]
pub struct Mix<'a> {
    operations: Vec<Mixed<'a>>,
    names: usize,
}

#[derive(Debug)]
struct Mixed<'a> {
    name: usize,
    pause: Nanos,
    recorded: &'a Recorded,
}

impl<'a> Mix<'a> {
    pub fn add(&mut self, name: usize, pool: &'a SamplePool, pause: Nanos) {
        let operations = pool.operations().iter();
        self.operations.extend(operations.map(|recorded| Mixed {
            name,
            pause,
            recorded,
        }));
        self.names += 1;
        if self.names > 1 {
            self.operations.sort_by_key(|mixed| mixed.recorded.began());
        }
    }

    fn mean_cost(&self) -> usize {
        let costs = self.operations.iter().map(|mixed| mixed.recorded.cost());
        costs.sum::<usize>() / self.operations.len().max(1)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SimulationConfig<'a> {
    pub computing: Computing,
    /// Cores of web servers that do not share the servers' cores.
    pub web_server_cores: Option<u32>,
    pub wake_up: WakeUp,
    /// `None` if their number is unlimited.
    pub workers: Option<u32>,
    pub pools: Option<&'a HashMap<Protocol, u32>>,
    pub idle_limits: &'a HashMap<Protocol, u32>,
    pub locks: Option<SimulatedLocks<'a>>,
}

/// Runs the operations of `mix` with the clients of `target`.
///
/// - Each client has separate connections, which keep their windows between operations, unless a
///   pool keeps few idle ones.
/// - The first client starts with the first operation, the others evenly spread over all; each continues
///   with the next operation.
/// - Counting begins after each client has finished [`WARM_UP`] operations.
/// - [`wanted`] determines the end.
pub fn closed_loop(
    target: &PredictionTarget,
    links: &[LinkDescription],
    mix: &Mix<'_>,
    config: SimulationConfig<'_>,
) -> ClosedLoopResult {
    let mut simulation = ClosedLoop::new(target, links, mix, config);
    let wanted = wanted(target, mix);
    let mut done = ClosedLoopResult {
        operations: Vec::new(),
        elapsed: Duration::ZERO,
    };
    let (mut since, mut warm_up) = (None, target.clients as usize * WARM_UP);
    loop {
        match simulation.run.advance() {
            RunProgress::Went => {}
            RunProgress::Over => return done,
            RunProgress::Finished(client) => {
                let Some((whole, end)) = simulation.finished(client) else {
                    continue;
                };
                if simulation.clients[client.index()].operations <= WARM_UP {
                    warm_up -= 1;
                }
                if warm_up > 0 {
                    continue;
                }
                let since = *since.get_or_insert(end);
                if end > since || !done.operations.is_empty() {
                    done.elapsed = done.elapsed.max(end.since(since).into());
                }
                // The first one only sets the start.
                done.operations.push(whole);
                if done.operations.len() > wanted {
                    done.operations.remove(0);
                    return done;
                }
            }
        }
    }
}

/// Operations to count: twenty per client if they replay in about a second, at least three per
/// client.
fn wanted(target: &PredictionTarget, mix: &Mix<'_>) -> usize {
    let least = 3 * target.clients as usize;
    let cost = mix.mean_cost().max(1);
    let many = (20 * target.clients as usize).max(MIN_OPERATIONS) * mix.names;
    many.min(MAX_SIMULATION_COST / cost).max(least)
}

struct ClosedLoop<'a> {
    run: SimulatedRun<'a>,
    links: &'a [LinkDescription],
    mix: &'a Mix<'a>,
    clients: Vec<Client>,
}

struct Client {
    operation: usize,
    part: usize,
    /// Sums the parts before `part`.
    before: ReplayTotals,
    /// By place in the operations.
    connections: Vec<ReplayConnection>,
    operations: usize,
}

impl<'a> ClosedLoop<'a> {
    fn new(
        target: &PredictionTarget,
        links: &'a [LinkDescription],
        mix: &'a Mix<'a>,
        config: SimulationConfig<'a>,
    ) -> Self {
        let run = SimulatedRun::new(links, target.clients, config.computing);
        let mut simulation = Self {
            run: run
                .with_web_servers(config.web_server_cores)
                .with_wake_up(config.wake_up)
                .with_workers(config.workers)
                .with_pools(config.pools, config.idle_limits)
                .with_locks(config.locks),
            links,
            mix,
            clients: Vec::new(),
        };
        let (clients, operations) = (target.clients as usize, mix.operations.len());
        for client in 0..clients {
            simulation.clients.push(Client {
                operation: client * operations / clients,
                part: 0,
                before: ReplayTotals::default(),
                connections: Vec::new(),
                operations: 0,
            });
            // Spread over the first operation: real clients do not start at once either.
            let late = mix.operations[0].recorded.measured() * client as u64 / clients as u64;
            let at = VirtualTime::BEGIN.after(late);
            let connections = simulation.connections(ClientId::new(client));
            let plan = &mix.operations[simulation.clients[client].operation]
                .recorded
                .parts[0]
                .plan;
            simulation.run.add_client(plan, connections, at);
        }
        simulation
    }

    fn connections(&mut self, client: ClientId) -> Vec<ReplayConnection> {
        let this = &mut self.clients[client.index()];
        let part = &self.mix.operations[this.operation].recorded.parts[this.part];
        let places = part.places.iter().zip(&part.plan.links);
        let numbers = places.map(|(&(place, opened), &link)| {
            while this.connections.len() <= place {
                this.connections.push(self.run.add_connection(link, None));
            }
            if opened {
                // A new connection: packets of the previous one may still be in flight.
                this.connections[place] = self.run.add_connection(link, None);
            }
            this.connections[place]
        });
        numbers.collect()
    }

    /// Moves the client to its next plan. Returns the operation that ended, and when.
    fn finished(&mut self, client: ClientId) -> Option<((usize, ReplayTotals), VirtualTime)> {
        let this = &mut self.clients[client.index()];
        let Mixed {
            name,
            recorded: operation,
            ..
        } = &self.mix.operations[this.operation];
        let plan = &operation.parts[this.part].plan;
        let (begin, times) = self.run.times(client);
        let critical_path =
            critical_path::along(plan, begin, times, self.run.client_after(client), self.links);
        this.before.add(
            &critical_path,
            plan.turns_moved.saturating_sub(skipped(plan, times)),
        );
        let end = begin.after(critical_path.duration.into());
        this.part += 1;
        if this.part < operation.parts.len() {
            self.go_on(client, end);
            return None;
        }
        this.part = 0;
        self.run.release_locks(client);
        this.operation = (this.operation + 1) % self.mix.operations.len();
        let pause = self.mix.operations[this.operation].pause;
        this.operations += 1;
        let whole = std::mem::take(&mut this.before);
        self.go_on(client, end.after(pause));
        Some(((*name, whole), end))
    }

    fn go_on(&mut self, client: ClientId, at: VirtualTime) {
        let connections = self.connections(client);
        let this = &self.clients[client.index()];
        let plan = &self.mix.operations[this.operation].recorded.parts[this.part].plan;
        self.run.begin(client, plan, connections, at.max(self.run.now()));
    }
}

fn skipped(plan: &OperationPlan, times: &[Times]) -> u64 {
    let nodes = plan.nodes.iter().zip(times);
    let skipped = nodes.filter(|(_, times)| times.replied.is_none());
    skipped.map(|(node, _)| node.turns_moved()).sum()
}

/// Uncounted operations per client, until windows and queues settle.
const WARM_UP: usize = 2;
const MIN_OPERATIONS: usize = 400;
/// Nodes and packets per prediction: about a second.
const MAX_SIMULATION_COST: usize = 3_000_000;
