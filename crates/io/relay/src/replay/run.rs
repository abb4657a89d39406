//! The scheduler of a replay, for all clients.

mod server;

use super::outside::Outside;
use super::script::{After, ReplayScript, Transfer};
use super::wake::{Tag, Wake};
use super::wires::{Channel, Event, Wires};
use super::{ReplayError, ReplayMeasurements, ReplayPlan};
use model::Side;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;
use sys::StopToken;

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    started: bool,
    arrived: bool,
    replying: bool,
    completed: bool,
}

#[derive(Debug)]
struct Client {
    run: u32,
    begin: u64,
    end: u64,
    progress: Vec<Progress>,
    unfinished: usize,
    /// The connection of each channel.
    slots: Vec<Option<u32>>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its connections are being opened, or it waits to start.
    Waiting,
    Running,
    Through,
}

/// A replay in progress. Times are nanoseconds since its start.
pub(super) struct Run<'a, O> {
    script: &'a ReplayScript,
    plan: &'a ReplayPlan,
    stop: &'a StopToken,
    wires: Wires<O>,
    clients: Vec<Client>,
    /// In order of time, then of insertion.
    due: BinaryHeap<Reverse<(u64, u64, Wake)>>,
    noted: u64,
    first_begin: Option<u64>,
    last_end: u64,
    outcome: ReplayMeasurements,
}

impl<'a, O: Outside> Run<'a, O> {
    pub(super) fn new(
        script: &'a ReplayScript,
        outside: O,
        plan: &'a ReplayPlan,
        stop: &'a StopToken,
    ) -> Self {
        let client = || Client {
            run: 0,
            begin: 0,
            end: 0,
            progress: Vec::new(),
            unfinished: 0,
            slots: vec![None; script.channels.len()],
            state: State::Waiting,
        };
        Self {
            script,
            plan,
            stop,
            wires: Wires::new(outside),
            clients: (0..plan.clients.max(1)).map(|_| client()).collect(),
            due: BinaryHeap::new(),
            noted: 0,
            first_begin: None,
            last_end: 0,
            outcome: ReplayMeasurements::default(),
        }
    }

    pub(super) fn play(mut self) -> Result<ReplayMeasurements, ReplayError> {
        for client in 0..self.clients.len() as u32 {
            self.prepare(client)?;
        }
        let mut events = Vec::new();
        while !self.is_over() {
            if self.now() > nanos(self.plan.longest) || self.stop.is_stopped() {
                self.outcome.cut = true;
                break;
            }
            self.do_what_is_due()?;
            self.wires.wait(self.until_next(), &mut events)?;
            for event in events.drain(..) {
                self.happened(event)?;
            }
        }
        if self.outcome.durations.is_empty() && !self.stop.is_stopped() {
            return Err(ReplayError::OutOfTime {
                after: self.plan.longest,
                missing: self.wires.lacking().unwrap_or("nothing on the link"),
            });
        }
        if let Some(first) = self.first_begin {
            self.outcome.span = Duration::from_nanos(self.last_end.saturating_sub(first));
        }
        Ok(self.outcome)
    }

    fn is_over(&self) -> bool {
        let through = |client: &Client| client.state == State::Through;
        self.clients.iter().all(through) && self.wires.is_settled()
    }

    fn now(&self) -> u64 {
        self.wires.outside.now()
    }

    fn schedule_wake(&mut self, at: u64, wake: Wake) {
        self.noted += 1;
        self.due.push(Reverse((at, self.noted, wake)));
    }

    fn note_in(&mut self, span: Duration, wake: Wake) {
        let at = self.now().saturating_add(nanos(span));
        self.schedule_wake(at, wake);
    }

    fn until_next(&self) -> Duration {
        let longest = nanos(self.plan.longest).saturating_add(1);
        let next = self
            .due
            .peek()
            .map_or(longest, |Reverse((at, _, _))| longest.min(*at));
        Duration::from_nanos(next.saturating_sub(self.now()))
    }

    fn do_what_is_due(&mut self) -> Result<(), ReplayError> {
        while let Some(Reverse((at, _, wake))) = self.due.peek().copied() {
            let now = self.now();
            if at > now {
                break;
            }
            self.due.pop();
            self.outcome.lateness = self.outcome.lateness.max(Duration::from_nanos(now - at));
            match wake {
                Wake::Begin(client) => self.begin(client),
                Wake::Start(tag) => self.start(tag)?,
                Wake::Arrive(tag) => self.request_arrived(tag),
                Wake::Reply(tag) => self.reply(tag)?,
                Wake::Free(tag) => self.free(tag),
                Wake::Complete(tag) => self.complete(tag)?,
                Wake::Flush(slot, end) => self.wires.flush(slot, end, now)?,
            }
        }
        Ok(())
    }

    fn happened(&mut self, event: Event) -> Result<(), ReplayError> {
        match event {
            Event::Connected(slot) => {
                let tag = self
                    .wires
                    .channel(slot)
                    .and_then(|channel| channel.handshake.take());
                if let Some(tag) = tag {
                    let server = self.script.nodes[tag.node as usize].server_before;
                    self.note_in(server, Wake::Complete(tag));
                }
                let now = self.now();
                self.wires.flush(slot, Side::Client, now)?;
                self.begin_when_ready();
            }
            Event::Accepted(slot) => {
                let greeting = self
                    .wires
                    .channel(slot)
                    .and_then(|channel| channel.greeting.take());
                if let Some(tag) = greeting {
                    self.request_arrived(tag);
                }
                self.begin_when_ready();
            }
            Event::Arrived {
                end: Side::Client,
                tag,
            } => self.complete(tag)?,
            Event::Arrived { tag, .. } => self.request_arrived(tag),
            Event::Writable { slot, end } => {
                let now = self.now();
                self.wires.flush(slot, end, now)?;
            }
        }
        Ok(())
    }

    fn prepare(&mut self, client: u32) -> Result<(), ReplayError> {
        let within = self
            .script
            .channels
            .iter()
            .filter(|plan| plan.opened_within)
            .count();
        let rounds = self.plan.warm_up.saturating_add(self.plan.rounds) as usize;
        self.wires
            .outside
            .stock(within.saturating_mul(self.clients.len()).saturating_mul(rounds))?;
        for place in 0..self.script.channels.len() {
            if self.clients[client as usize].slots[place].is_some() {
                continue;
            }
            let slot = self.wires.add();
            self.clients[client as usize].slots[place] = Some(slot);
            if !self.script.channels[place].opened_within {
                self.wires.connect(slot)?;
            }
        }
        let client = &mut self.clients[client as usize];
        client.state = State::Waiting;
        client.begin = u64::MAX;
        client.progress = vec![Progress::default(); self.script.nodes.len()];
        client.unfinished = self.script.nodes.len();
        self.begin_when_ready();
        Ok(())
    }

    fn begin_when_ready(&mut self) {
        for client in 0..self.clients.len() {
            let waits = &self.clients[client];
            if waits.state != State::Waiting || waits.begin != u64::MAX {
                continue;
            }
            let plans = self.script.channels.iter().zip(&waits.slots);
            let wires = &mut self.wires;
            let is_there = |channel: &mut Channel| channel.connected && channel.accepted;
            let ready = plans
                .filter(|(plan, _)| !plan.opened_within)
                .all(|(_, slot)| slot.and_then(|slot| wires.channel(slot)).is_some_and(is_there));
            if ready {
                // A client alone need not wait out its client time: no other client runs then.
                let own_time = match self.clients.len() > 1 && self.clients[client].run > 0 {
                    true => self.script.client_after,
                    false => Duration::ZERO,
                };
                let turn = match self.clients[client].run {
                    0 => self
                        .plan
                        .stagger
                        .mul_f64(client as f64 / self.clients.len() as f64),
                    _ => Duration::ZERO,
                };
                let at = self
                    .now()
                    .saturating_add(nanos(self.plan.pause + own_time + turn));
                self.clients[client].begin = at;
                self.schedule_wake(at, Wake::Begin(client as u32));
            }
        }
    }

    fn begin(&mut self, client: u32) {
        let who = &mut self.clients[client as usize];
        who.state = State::Running;
        let (run, begin) = (who.run, who.begin);
        if run >= self.plan.warm_up {
            self.first_begin.get_or_insert(begin);
        }
        for &node in &self.script.roots {
            let before = nanos(self.script.nodes[node as usize].client_before);
            self.schedule_wake(
                begin.saturating_add(before),
                Wake::Start(Tag { client, run, node }),
            );
        }
    }

    fn progress(&mut self, tag: Tag) -> Option<&mut Progress> {
        let client = self.clients.get_mut(tag.client as usize)?;
        if client.run != tag.run || client.state != State::Running {
            return None;
        }
        client.progress.get_mut(tag.node as usize)
    }

    fn slot(&self, tag: Tag, channel: u32) -> Option<u32> {
        self.clients[tag.client as usize].slots[channel as usize]
    }

    fn start(&mut self, tag: Tag) -> Result<(), ReplayError> {
        let node = &self.script.nodes[tag.node as usize];
        match node.transfer {
            Transfer::Handshake(channel) => {
                if let Some(slot) = self.slot(tag, channel) {
                    self.wires.connect(slot)?;
                    if let Some(channel) = self.wires.channel(slot) {
                        channel.handshake = Some(tag);
                    }
                }
            }
            Transfer::Greeting(channel) => {
                let slot = self.slot(tag, channel);
                match slot.and_then(|slot| self.wires.channel(slot)) {
                    Some(channel) if channel.accepted => self.request_arrived(tag),
                    Some(channel) => channel.greeting = Some(tag),
                    None => {}
                }
            }
            Transfer::Data(channel) => self.send(tag, channel, Side::Client)?,
            Transfer::Timed { request, .. } => {
                self.note_in(request + node.inside[Side::Client], Wake::Arrive(tag))
            }
        }
        if let Some(progress) = self.progress(tag) {
            progress.started = true;
        }
        self.release(tag, After::RequestSent);
        if !node.has_reply {
            self.note_in(node.inside[Side::Client], Wake::Complete(tag));
        }
        Ok(())
    }

    fn send(&mut self, tag: Tag, channel: u32, end: Side) -> Result<(), ReplayError> {
        let node = &self.script.nodes[tag.node as usize];
        let Some(slot) = self.slot(tag, channel) else {
            return Ok(());
        };
        let now = self.now();
        let Some(wire) = self.wires.channel(slot) else {
            return Ok(());
        };
        wire.inbox[end.reverse()].announce(node.bytes[end], tag);
        for due in wire.out[end].put(node.bytes[end], now, nanos(node.inside[end])) {
            self.schedule_wake(due, Wake::Flush(slot, end));
        }
        self.wires.flush(slot, end, now)
    }

    /// True for all nodes of an operation that is over.
    fn is_completed(&mut self, tag: Tag) -> bool {
        self.progress(tag).is_none_or(|progress| progress.completed)
    }

    fn complete(&mut self, tag: Tag) -> Result<(), ReplayError> {
        let now = self.now();
        let Some(progress) = self.progress(tag).filter(|progress| !progress.completed) else {
            return Ok(());
        };
        progress.completed = true;
        self.clients[tag.client as usize].end = now;
        self.clients[tag.client as usize].unfinished -= 1;
        self.release(tag, After::Completion);
        for &waiter in &self.script.nodes[tag.node as usize].reply_waiters {
            self.let_go(Tag { node: waiter, ..tag });
        }
        if self.clients[tag.client as usize].unfinished == 0 {
            self.finish(tag.client)?;
        }
        Ok(())
    }

    fn release(&mut self, tag: Tag, what: After) {
        let script = self.script;
        let node = &script.nodes[tag.node as usize];
        let waited = |dependent: &&u32| {
            let after = script.nodes[**dependent as usize].after;
            after.is_some_and(|(_, after)| after == what)
        };
        let joined = node.joined_by.iter().filter(|_| what == After::Completion);
        for &node in node.dependents.iter().filter(waited).chain(joined) {
            let next = Tag { node, ..tag };
            if self.may_start(next) {
                self.note_in(script.nodes[node as usize].client_before, Wake::Start(next));
            }
        }
    }

    fn may_start(&mut self, tag: Tag) -> bool {
        let script = self.script;
        let node = &script.nodes[tag.node as usize];
        let first = match node.after {
            None => true,
            Some((node, what)) => {
                let progress = self.progress(Tag { node, ..tag }).copied().unwrap_or_default();
                match what {
                    After::Completion => progress.completed,
                    After::RequestSent => progress.started,
                    After::RequestArrived => progress.arrived,
                }
            }
        };
        first
            && node
                .also_after
                .iter()
                .all(|node| self.is_completed(Tag { node: *node, ..tag }))
    }

    fn finish(&mut self, client: u32) -> Result<(), ReplayError> {
        let who = &mut self.clients[client as usize];
        let end = who.end.saturating_add(nanos(self.script.client_after));
        if who.run >= self.plan.warm_up {
            self.outcome.durations.push(Duration::from_nanos(end - who.begin));
            self.last_end = self.last_end.max(end);
        }
        who.run += 1;
        let through = who.run >= self.plan.warm_up.saturating_add(self.plan.rounds);
        let mut left = Vec::new();
        for (plan, slot) in self.script.channels.iter().zip(&mut who.slots) {
            if plan.opened_within || plan.closed_within || through {
                left.extend(slot.take());
            }
        }
        for slot in left {
            self.wires.leave(slot);
        }
        if through {
            self.clients[client as usize].state = State::Through;
            return Ok(());
        }
        self.prepare(client)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
