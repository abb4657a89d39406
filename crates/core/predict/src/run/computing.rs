//! Time that clients and servers compute, on cores of their own or shared ones.

use super::shared_cores::SharedCores;
use super::{NodeEvent, SimulatedRun, Wake};
use crate::client_node::ClientNode;
use crate::cores::Whose;
use crate::plan::{After, Crossing, nanos};
use crate::wake_up::{Rest, Waking};
use model::{Nanos, Side};

impl SimulatedRun<'_> {
    pub(super) const fn cores_of(&self, whose: Whose) -> Whose {
        match whose {
            Whose::WebServers if self.computing[whose.index()].is_none() => Whose::Servers,
            Whose::Clients | Whose::Servers | Whose::WebServers => whose,
        }
    }

    pub(super) fn start_after_computing(&mut self, id: ClientNode) {
        if self.needs_no_opening(id) {
            return self.start(id);
        }
        let what = self.node(id);
        let before = what.dependencies.after;
        let longer = match what.dependencies.after_what {
            After::Completion => self.longer(before.map_or(id, |after| self.beside(id, after))),
            After::RequestSent => Nanos::ZERO,
            After::RequestArrived => self.longer(id),
        };
        let own = what.measured.rested[0].saturating_add(longer);
        let waking = self.waking(id, Side::Client, what.measured.client_before, own);
        self.progress(id).wake_client(id.node(), waking);
        let work = what.measured.client_before.saturating_add(waking.expected);
        let [whose, _] = what.whose();
        self.compute(whose, work, Wake::Node(id, NodeEvent::Start));
    }

    /// Additional rest of both sides while they wait for each other on the connection of `id`.
    fn longer(&self, id: ClientNode) -> Nanos {
        let what = self.node(id);
        match what.crossing {
            Crossing::Measured { .. } => Nanos::ZERO,
            Crossing::Handshake | Crossing::Moved => {
                nanos(self.link_of(id).rtt).saturating_sub(what.measured.round_trip)
            }
        }
    }

    /// Allowance before the reply: the server has waited for the request, or for its last own call.
    pub(super) fn server_waking(&self, id: ClientNode) -> Waking {
        let what = self.node(id);
        let call = what.dependencies.reply_after;
        let waited_for = call.map_or(id, |call| self.beside(id, call));
        let own = what.measured.rested[1].saturating_add(self.longer(waited_for));
        self.waking(id, Side::Server, what.measured.server_before, own)
    }

    /// Allowance for `work` at one `side` of the connection of `id` that rested `own`, or longer if
    /// it also waited for a core.
    fn waking(&self, id: ClientNode, side: Side, work: Nanos, own: Nanos) -> Waking {
        let now = self.now();
        let what = self.node(id);
        let shared = self.shared_cores(what.whose()[side as usize]);
        let before = shared.and_then(|_| self.computed_at.get(self.connection(id).index())?[side as usize]);
        let rest = Rest {
            measured: what.measured.rested[side as usize],
            own: before.map_or(own, |before| own.max(now.since(before))),
            processor: shared.and_then(|shared| shared.rest_of_next(now)),
        };
        self.wake_up.waking(side, work, rest)
    }

    /// `None` if each job has a core of its own.
    pub(super) fn shared_cores(&self, whose: Whose) -> Option<&SharedCores<Wake>> {
        self.computing[self.cores_of(whose).index()].as_ref()
    }

    /// `side` has computed until now.
    pub(super) fn mark_computed(&mut self, id: ClientNode, side: Side) {
        if self.computing.iter().all(Option::is_none) {
            return;
        }
        let connection = self.connection(id).index();
        if self.computed_at.len() <= connection {
            self.computed_at.resize(connection + 1, [None; 2]);
        }
        self.computed_at[connection][side as usize] = Some(self.now());
    }

    pub(super) fn compute(&mut self, whose: Whose, work: Nanos, then: Wake) {
        let whose = self.cores_of(whose);
        let now = self.now();
        match &mut self.computing[whose.index()] {
            Some(shared) if !work.is_zero() => {
                shared.begin(now, work, then);
                self.schedule_check(whose);
            }
            _ => self.network.wake_at(now.after(work), then),
        }
    }

    fn schedule_check(&mut self, whose: Whose) {
        if let Some(shared) = &mut self.computing[whose.index()]
            && let Some(at) = shared.next_check()
        {
            self.network.wake_at(at, Wake::CheckCores(whose));
        }
    }

    pub(super) fn check_cores(&mut self, whose: Whose) {
        let now = self.now();
        if let Some(shared) = &mut self.computing[whose.index()] {
            shared.checked(now);
            while let Some(job) = shared.ended(now) {
                self.network.wake_at(now, job);
            }
        }
        self.schedule_check(whose);
    }

    pub(super) fn inside_reply(&self, whose: Whose, inside: Nanos) -> Nanos {
        match self.shared_cores(whose) {
            Some(shared) if !inside.is_zero() => Nanos::from_f64(inside.as_f64() * shared.slowdown_of_next()),
            _ => inside,
        }
    }
}
