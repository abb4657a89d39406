//! Time that clients and servers compute, on cores of their own or shared ones.

use super::{NodeEvent, SimulatedRun, Wake};
use crate::cores::Whose;
use crate::plan::{After, Crossing, nanos};
use crate::wake_up::{Rest, Waking};

impl SimulatedRun<'_> {
    pub(super) fn cores_of(&self, whose: Whose) -> usize {
        let own = whose.index();
        match whose {
            Whose::WebServers if self.computing[own].is_none() => Whose::Servers.index(),
            Whose::Clients | Whose::Servers | Whose::WebServers => own,
        }
    }

    pub(super) fn start_after_computing(&mut self, id: u64) {
        let what = self.node(id);
        let [whose, _] = what.whose();
        let longer = match what.after_what {
            After::Completion => self.longer(what.after.map_or(id, |after| self.beside(id, after))),
            After::RequestSent => 0,
            After::RequestArrived => self.longer(id),
        };
        let own = what.rested[0].saturating_add(longer);
        let waking = self.waking(id, whose, 0, what.client_before, own);
        self.times_of(id).waking[0] = waking;
        let work = what.client_before.saturating_add(waking.expected);
        self.compute(whose, work, Wake::Node(id, NodeEvent::Start));
    }

    /// Additional rest of both sides while they wait for each other on the connection of `id`.
    pub(super) fn longer(&self, id: u64) -> u64 {
        let what = self.node(id);
        match what.crossing {
            Crossing::Measured { .. } => 0,
            Crossing::Handshake | Crossing::Moved => {
                nanos(self.link_of(id).rtt).saturating_sub(what.round_trip)
            }
        }
    }

    /// Allowance before the reply: the server has waited for the request, or for its last own call.
    pub(super) fn server_waking(&self, id: u64) -> Waking {
        let what = self.node(id);
        let waited_for = what.reply_after.map_or(id, |call| self.beside(id, call));
        let longer = self.longer(waited_for);
        let [_, whose] = what.whose();
        self.waking(
            id,
            whose,
            1,
            what.server_before,
            what.rested[1].saturating_add(longer),
        )
    }

    /// Allowance for `work` at one `side` of the connection of `id` that rested `own`, or longer if
    /// it also waited for a core.
    pub(super) fn waking(&self, id: u64, whose: Whose, side: usize, work: u64, own: u64) -> Waking {
        let now = self.network.now();
        let shared = self.computing[self.cores_of(whose)].as_ref();
        let before = shared.and_then(|_| self.computed_at.get(self.connection(id) as usize)?[side]);
        let rest = Rest {
            measured: self.node(id).rested[side],
            own: before.map_or(own, |before| own.max(now.saturating_sub(before))),
            processor: shared.and_then(|shared| shared.rest_of_next(now)),
        };
        self.wake_up.waking(work, rest)
    }

    pub(super) fn computed(&mut self, id: u64, side: usize) {
        if self.computing.iter().all(Option::is_none) {
            return;
        }
        let connection = self.connection(id) as usize;
        if self.computed_at.len() <= connection {
            self.computed_at.resize(connection + 1, [None; 2]);
        }
        self.computed_at[connection][side] = Some(self.network.now());
    }

    pub(super) fn compute(&mut self, whose: Whose, work: u64, then: Wake) {
        let whose = self.cores_of(whose);
        let now = self.network.now();
        match &mut self.computing[whose] {
            Some(shared) if work > 0 => {
                shared.begin(now, work, then);
                self.look_later(whose);
            }
            _ => self.network.wake_at(now.saturating_add(work), then),
        }
    }

    pub(super) fn look_later(&mut self, whose: usize) {
        if let Some(shared) = &mut self.computing[whose]
            && let Some(at) = shared.look_at()
        {
            self.network.wake_at(at, Wake::Look(whose as u8));
        }
    }

    pub(super) fn check_cores(&mut self, whose: u8) {
        let now = self.network.now();
        if let Some(shared) = &mut self.computing[usize::from(whose)] {
            shared.looked(now);
            while let Some(job) = shared.ended(now) {
                self.network.wake_at(now, job);
            }
        }
        self.look_later(usize::from(whose));
    }

    pub(super) fn inside_reply(&self, whose: Whose, inside: u64) -> u64 {
        match &self.computing[self.cores_of(whose)] {
            Some(shared) if inside > 0 => (inside as f64 * shared.slowdown_of_next()) as u64,
            _ => inside,
        }
    }
}
