//! Uses of pooled connections, from opening or taking one to its return.

use super::{After, Crossing, Dependencies, NodeId, OperationPlan, PlanConnection, PlanNode};
use model::{Nanos, Phase, Protocol};
use std::collections::HashMap;

/// Measured openings of the pools that keep few idle connections, in turn.
#[derive(Debug, Default)]
pub struct Openings(HashMap<Protocol, OfPool>);

#[derive(Debug, Default)]
struct OfPool {
    openings: Vec<Opening>,
    next: usize,
    before_returns: Vec<Nanos>,
    before_return: Nanos,
}

#[derive(Debug, Clone)]
struct Opening {
    nodes: Vec<PlanNode>,
    before_use: Nanos,
}

/// By the last node of a use, its return and the client time before.
type Returns = HashMap<NodeId, (NodeId, Nanos)>;

#[derive(Debug, Clone, Copy)]
struct Use {
    connection: PlanConnection,
    protocol: Protocol,
    first: usize,
    last: Option<usize>,
    opens: bool,
    works: bool,
    closes: bool,
}

impl Openings {
    pub fn new<'a>(
        plans: impl Iterator<Item = &'a OperationPlan>,
        is_pooled: impl Fn(Protocol) -> bool,
    ) -> Self {
        let mut openings = Self::default();
        plans.for_each(|plan| openings.learn(plan, &is_pooled));
        openings.0.retain(|_, pool| !pool.openings.is_empty());
        for pool in openings.0.values_mut() {
            pool.before_returns.sort_unstable();
            let median = pool.before_returns.get(pool.before_returns.len() / 2);
            pool.before_return = median.copied().unwrap_or_default();
        }
        openings
    }

    pub fn knows(&self, protocol: Protocol) -> bool {
        self.0.contains_key(&protocol)
    }

    pub fn concern(&self, node: &PlanNode) -> bool {
        node.pool.is_some_and(|protocol| self.knows(protocol))
    }

    fn learn(&mut self, plan: &OperationPlan, is_pooled: impl Fn(Protocol) -> bool) {
        let mut opening: Vec<Vec<PlanNode>> = vec![Vec::new(); plan.connections.len()];
        for node in &plan.nodes {
            let Some(protocol) = node.pool.filter(|protocol| is_pooled(*protocol)) else {
                continue;
            };
            let nodes = &mut opening[node.connection.index()];
            if node.opens() {
                nodes.push(node.clone());
                continue;
            }
            let nodes = std::mem::take(nodes);
            let pool = self.0.entry(protocol).or_default();
            if node.phase == Phase::Close {
                pool.before_returns.push(node.measured.client_before);
            }
            if node.phase == Phase::Work
                && nodes
                    .first()
                    .is_some_and(|first| first.crossing == Crossing::Handshake)
            {
                let before_use = node.measured.client_before;
                pool.openings.push(Opening { nodes, before_use });
            }
        }
    }

    fn before_return(&self, protocol: Protocol) -> Nanos {
        self.0
            .get(&protocol)
            .map_or(Nanos::ZERO, |pool| pool.before_return)
    }

    fn next(&mut self, protocol: Protocol) -> Option<&Opening> {
        let pool = self.0.get_mut(&protocol)?;
        pool.next += 1;
        pool.openings.get((pool.next - 1) % pool.openings.len())
    }
}

impl OperationPlan {
    /// Separates the uses of pooled connections. Each is opened, which a replay skips if one is
    /// idle, and returned.
    #[must_use]
    pub fn with_openings(&self, openings: &mut Openings) -> Self {
        let (of_nodes, uses) = self.uses(openings);
        let mut plan = Self {
            nodes: Vec::with_capacity(2 * self.nodes.len()),
            roots: Vec::new(),
            ..self.clone()
        };
        let connections: Vec<PlanConnection> = uses.iter().map(|one| plan.copy_connection(one)).collect();
        let (mut places, mut starts) = (Vec::new(), Vec::new());
        let mut returns = Returns::new();
        for (index, before) in self.nodes.iter().enumerate() {
            starts.push(NodeId::new(plan.nodes.len()));
            let mut node = after_returns(before, &places, &returns);
            let of_pool = openings.concern(before);
            match of_nodes[index].filter(|of| uses[*of].works) {
                Some(of) => {
                    node.connection = connections[of];
                    if uses[of].first == index && !uses[of].opens {
                        plan.insert_opening(openings.next(uses[of].protocol), &mut node);
                    }
                }
                None if of_pool => node.phase = Phase::Close,
                None => {}
            }
            let place = NodeId::new(plan.nodes.len());
            places.push(place);
            plan.nodes.push(node);
            let of = of_nodes[index].map(|of| uses[of]);
            if let Some(of) = of.filter(|of| of.last == Some(index) && !of.closes) {
                let spent = openings
                    .before_return(of.protocol)
                    .min(self.client_before_next(before));
                returns.insert(place, (plan.insert_return(place, spent), spent));
            }
        }
        plan.restore_dependencies(self, &places, starts);
        plan
    }

    fn uses(&self, openings: &Openings) -> (Vec<Option<usize>>, Vec<Use>) {
        let mut uses: Vec<Use> = Vec::new();
        let mut current: Vec<Option<usize>> = vec![None; self.connections.len()];
        let mut of_nodes = Vec::with_capacity(self.nodes.len());
        for (first, node) in self.nodes.iter().enumerate() {
            let Some(protocol) = node.pool.filter(|protocol| openings.knows(*protocol)) else {
                of_nodes.push(None);
                continue;
            };
            let current = &mut current[node.connection.index()];
            if node.phase == Phase::Close {
                let closed = current.take();
                closed.into_iter().for_each(|of| uses[of].closes = true);
                of_nodes.push(closed);
                continue;
            }
            let of = *current.insert(current.filter(|of| uses[*of].last.is_none()).unwrap_or_else(|| {
                uses.push(Use {
                    connection: node.connection,
                    protocol,
                    first,
                    last: None,
                    opens: false,
                    works: false,
                    closes: false,
                });
                uses.len() - 1
            }));
            uses[of].opens |= node.opens();
            uses[of].works |= !node.opens();
            of_nodes.push(Some(of));
            if !node.keeps_connection {
                uses[of].last = Some(first);
            }
        }
        (of_nodes, uses)
    }

    fn client_before_next(&self, node: &PlanNode) -> Nanos {
        let next = node.dependencies.first_dependent;
        next.map_or(Nanos::ZERO, |next| {
            self.nodes[next.index()].measured.client_before
        })
    }

    fn copy_connection(&mut self, one: &Use) -> PlanConnection {
        let of = one.connection.index();
        self.connections.push(self.connections[of]);
        self.links.push(self.links[of]);
        self.windows.push(self.windows[of]);
        self.first_windows.push(self.first_windows[of]);
        PlanConnection::new(self.connections.len() - 1)
    }

    fn insert_opening(&mut self, opening: Option<&Opening>, node: &mut PlanNode) {
        let Some(opening) = opening else { return };
        for (place, opens) in opening.nodes.iter().enumerate() {
            let mut opens = opens.clone();
            opens.connection = node.connection;
            opens.dependencies = node.dependencies.clone();
            if place == 0 {
                opens.measured.client_before = node.measured.client_before;
                opens.measured.rested[0] = node.measured.rested[0];
            }
            self.turns_moved += opens.turns_moved();
            let opened = NodeId::new(self.nodes.len());
            self.nodes.push(opens);
            node.dependencies = Dependencies::new(Some(opened), After::Completion);
        }
        node.measured.client_before = opening.before_use;
    }

    fn insert_return(&mut self, last: NodeId, client_before: Nanos) -> NodeId {
        let mut returns = self.nodes[last.index()].clone();
        returns.phase = Phase::Close;
        returns.has_reply = false;
        returns.measured.client_before = client_before;
        returns.dependencies = Dependencies::new(Some(last), After::Completion);
        self.nodes.push(returns);
        NodeId::new(self.nodes.len() - 1)
    }

    fn restore_dependencies(&mut self, before: &Self, places: &[NodeId], starts: Vec<NodeId>) {
        let place = |node: NodeId| places[node.index()];
        let start = |node: NodeId| starts[node.index()];
        for (node, place_now) in before.nodes.iter().zip(places) {
            self.nodes[place_now.index()].dependencies.reply_after = node.dependencies.reply_after.map(place);
        }
        self.joins = before.joins.map(start, place);
        self.reply_joins = before.reply_joins.map(place, place);
        self.request = before.request.map(place);
        self.first_nodes = before.first_nodes.iter().map(|first| start(*first)).collect();
        self.link_dependents();
    }
}

/// Waits for the return of a connection in place of its last use.
fn after_returns(before: &PlanNode, places: &[NodeId], returns: &Returns) -> PlanNode {
    let mut node = before.clone();
    let Dependencies {
        after, after_what, ..
    } = before.dependencies;
    let mut after = after.map(|after| places[after.index()]);
    let returned = after.and_then(|after| returns.get(&after));
    if let Some((returned, spent)) = returned.filter(|_| after_what == After::Completion) {
        after = Some(*returned);
        node.measured.client_before = node.measured.client_before.saturating_sub(*spent);
    }
    node.dependencies = Dependencies::new(after, after_what);
    node
}
