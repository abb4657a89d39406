//! Learns pauses, order and statements from an assignment.

use super::super::likelihood::{Likelihood, Pause};
use super::{Event, Group, MAX_RANK, Owner, Request, Work, events};

pub(super) fn learn(group: &Group, owners: &[Owner], likelihood: &mut Likelihood) {
    likelihood.forget_current();
    let mut learning = Learning {
        group,
        open: Vec::new(),
        arrivals: Vec::new(),
        begun: 0,
        active: Vec::new(),
    };
    for (at, event) in events(group) {
        match event {
            Event::Arrived(request) => {
                learning.open.push(request);
                learning.arrivals.push(at);
            }
            Event::Started(work) => {
                if let (Some(owner), _) = owners[work as usize] {
                    learning.started(owner, &group.work[work as usize], likelihood);
                }
            }
            Event::Responded(request) => learning.responded(request, at, likelihood),
        }
    }
}

struct Learning<'a> {
    group: &'a Group,
    open: Vec<u32>,
    arrivals: Vec<u64>,
    begun: usize,
    active: Vec<Active>,
}

struct Active {
    request: u32,
    ended: u64,
    last_started: u64,
    connection: u32,
    kinds: Vec<u32>,
}

impl Learning<'_> {
    fn rank(&self, ended: u64) -> usize {
        self.active.iter().filter(|active| active.ended < ended).count()
    }

    fn waiting(&self, ended: u64) -> usize {
        let waiting = self.arrivals.get(self.begun..).unwrap_or_default();
        waiting
            .iter()
            .take(MAX_RANK)
            .take_while(|arrived| **arrived < ended)
            .count()
    }

    fn started(&mut self, owner: u32, work: &Work, likelihood: &mut Likelihood) {
        let Some(position) = self.active.iter().position(|active| active.request == owner) else {
            let arrived = self.arrivals.get(self.begun).copied().unwrap_or(work.started);
            likelihood.observe_pause(
                Pause::BeforeFirst,
                work.started.saturating_sub(arrived),
                self.rank(arrived),
            );
            self.begun += 1;
            self.active.push(Active {
                request: owner,
                ended: work.ended,
                last_started: work.started,
                connection: work.connection,
                kinds: vec![work.kind],
            });
            return;
        };
        let active = &self.active[position];
        let (ended, last_started) = (active.ended, active.last_started);
        if ended <= work.started {
            let pause = match active.connection == work.connection {
                true => Pause::SameConnection,
                false => Pause::OtherConnection,
            };
            likelihood.observe_pause(
                pause,
                work.started - ended,
                self.rank(ended) + self.waiting(ended),
            );
        } else {
            likelihood.observe_pause(Pause::AtOnce, work.started.saturating_sub(last_started), 0);
        }
        let active = &mut self.active[position];
        active.kinds.push(work.kind);
        active.last_started = work.started;
        if work.ended >= active.ended {
            active.ended = work.ended;
            active.connection = work.connection;
        }
    }

    fn responded(&mut self, request: u32, at: u64, likelihood: &mut Likelihood) {
        let place = self.open.iter().position(|open| *open == request).unwrap_or(0);
        self.open.retain(|open| *open != request);
        let Request { name, asker, .. } = self.group.requests[request as usize];
        let Some(position) = self.active.iter().position(|active| active.request == request) else {
            self.begun += 1;
            likelihood.observe_request(name, &[]);
            return;
        };
        likelihood.observe_place(position, place);
        let rank = self.rank(self.active[position].ended);
        let active = self.active.remove(position);
        if active.ended <= at {
            likelihood.observe_pause(Pause::BeforeResponse, at - active.ended, rank);
        }
        likelihood.observe_request(name, &active.kinds);
        likelihood.affinity.observe(request, asker, active.connection);
    }
}
