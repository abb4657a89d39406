//! The thread of a lane: one epoll loop over the lane's socket and the sockets of all streams.
//!
//! Bytes move between sockets in one wake-up and one thread: they are read, compressed, framed and
//! sent, or unpacked and written to a stream. A stream is read only if the lane has room and the
//! other end accepts more.

mod sending;
mod streams;

use super::Error;
use super::counters::{LaneCounters, LaneFigures};
use super::database::Database;
use super::handshake;
use super::mailbox::Mailbox;
use super::notice::Notice;
use super::stream::Local;
use model::Timestamp;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use sys::error::{LiveError, OsError};
use sys::poller::{Poller, ReadyEvent, ReadyList};
use sys::socket::Received;
use sys::transport::Transport;
use tunnel::frame::{GoodbyeReason, ResetReason};
use tunnel::{
    Auto, Isolation, Lane, LaneError, LaneEvent, LanePreferences, LevelChoice, MAX_CHUNK_BYTES, StreamId,
};

pub(super) enum Role {
    /// Takes clients from the mailbox; called when the lane is up.
    Near(Box<dyn Fn() + Send>),
    Far {
        database: Arc<Database>,
        /// Overrides the near end's level.
        level: Option<LevelChoice>,
        isolate: Option<Isolation>,
    },
}

pub(super) struct LaneLoop {
    role: Role,
    counters: Arc<LaneCounters>,
    figures: Arc<LaneFigures>,
    mailbox: Arc<Mailbox>,
    poller: Poller,
    transport: Transport,
    peer: SocketAddr,
    lane: Lane,
    streams: HashMap<StreamId, Local>,
    /// Streams with a pending connection to the database.
    connecting: usize,
    chunk: Vec<u8>,
    preferences: LanePreferences,
    readable: bool,
    ending: bool,
    /// Chooses the level in auto mode.
    auto: Option<Auto>,
    /// Since then the lane's socket accepts no bytes.
    blocked: Option<Timestamp>,
    began: Timestamp,
    heard: Timestamp,
    asked: Option<Timestamp>,
    looked_after: Timestamp,
    /// Maximum unsent bytes in the kernel.
    unsent_limit: u32,
}

impl LaneLoop {
    pub fn new(
        role: Role,
        preferences: LanePreferences,
        mut transport: Transport,
        peer: SocketAddr,
        counters: Arc<LaneCounters>,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, LiveError> {
        let poller = Poller::new()?;
        poller.watch(transport.socket().as_fd(), LANE)?;
        poller.register_waker(mailbox.waker(), BELL)?;
        transport.read_ahead();
        transport.socket().forget_stamps();
        transport.socket().limit_unsent(MAX_UNSENT_IN_KERNEL);
        let now = counters.now();
        let auto = auto_of(preferences, now, &transport);
        Ok(Self {
            role,
            figures: counters.lane_begins(),
            lane: Lane::new(counters.end(), preferences),
            counters,
            mailbox,
            poller,
            transport,
            peer,
            streams: HashMap::new(),
            connecting: 0,
            chunk: vec![0; MAX_CHUNK_BYTES],
            preferences,
            // Bytes may have arrived with the handshake.
            readable: true,
            ending: false,
            auto,
            blocked: None,
            began: now,
            heard: now,
            asked: None,
            looked_after: now,
            unsent_limit: MAX_UNSENT_IN_KERNEL,
        })
    }

    /// Runs until the lane ends or is stopped. Returns whether it was up, and why it ended unless
    /// it was stopped.
    pub fn run(mut self) -> (bool, Option<Error>) {
        let reason = self.carry().err();
        let streams = self.streams.len();
        self.leave(reason.as_ref());
        let stood = self.lane.is_greeted();
        if let Some(reason) = reason.clone().filter(|_| stood) {
            self.counters.record_notice(&Notice::LaneLost { reason, streams });
        }
        (stood, reason)
    }

    fn carry(&mut self) -> Result<(), Error> {
        let mut ready = ReadyList::default();
        let mut more = true;
        while !self.mailbox.is_over() {
            let longest = if more { Duration::ZERO } else { self.patience() };
            self.poller.wait(&mut ready, Some(longest));
            let mut rung = false;
            for event in ready.iter() {
                match event.token {
                    LANE => self.lane_event(event)?,
                    BELL => rung = true,
                    stream => self.stream_event(StreamId(u32::try_from(stream).unwrap_or(0)), event),
                }
            }
            if rung && self.lane.is_greeted() {
                self.take_in();
            }
            more = self.work()?;
            let now = self.counters.now();
            if now.since(self.looked_after) >= CHECK_OFTEN {
                self.looked_after = now;
                self.lane.time_passed();
                self.look_after(now)?;
            }
            self.publish();
        }
        Ok(())
    }

    /// Reads and sends until neither makes progress; returns true if work is left for another
    /// round.
    fn work(&mut self) -> Result<bool, Error> {
        for _ in 0..READS_A_ROUND {
            self.send_chunks()?;
            if !self.readable {
                return Ok(false);
            }
            self.read_lane()?;
        }
        self.send_chunks()?;
        Ok(self.readable)
    }

    fn lane_event(&mut self, event: ReadyEvent) -> Result<(), Error> {
        self.readable |= event.readable();
        self.ending |= event.ending();
        if event.writable() && self.blocked.is_some() {
            if !self.transport.flush() {
                return Err(self.broken(OsError(libc::EPIPE)));
            }
            if !self.transport.has_unsent() {
                self.unblock();
            }
        }
        Ok(())
    }

    fn unblock(&mut self) {
        if let Some(since) = self.blocked.take() {
            self.lane.out.stalled += self.counters.now().since(since);
        }
    }

    fn stream_event(&mut self, id: StreamId, event: ReadyEvent) {
        let Some(local) = self.streams.get_mut(&id) else {
            return;
        };
        if !local.is_open() {
            return self.connect_progress(id);
        }
        local.ending |= event.ending();
        if event.writable() {
            match local.flush() {
                Ok(0) => {}
                Ok(count) => self.lane.consumed(id, count),
                Err(_) => return self.break_stream(id),
            }
        }
        if event.readable() {
            self.lane.readable(id);
        }
        if event.ending() && !self.lane.will_read(id) && local.socket.connected().is_err() {
            return self.break_stream(id);
        }
        self.drop_if_over(id);
    }

    fn read_lane(&mut self) -> Result<(), Error> {
        match self.transport.receive_bytes(self.lane.space()) {
            Received::Bytes { count, emptied, .. } => {
                self.lane.filled(count);
                self.readable = !emptied || self.ending;
                self.asked = None;
                self.heard = self.counters.now();
                self.forward_bytes()
            }
            Received::Nothing => {
                self.readable = false;
                Ok(())
            }
            Received::End => Err(Error::Closed {
                end: self.counters.end().other(),
                peer: self.peer,
            }),
            Received::Broken(reason) => Err(self.broken(reason)),
        }
    }

    fn forward_bytes(&mut self) -> Result<(), Error> {
        loop {
            match self.next_event() {
                Ok(None) => return Ok(()),
                Ok(Some(Done::Nothing)) => {}
                Ok(Some(Done::Consumed(id, count))) => self.lane.consumed(id, count),
                Ok(Some(Done::Broken(id))) => self.break_stream(id),
                Ok(Some(Done::Greeted(preferences))) => self.greeted(preferences),
                Ok(Some(Done::Opened(id))) => self.connect(id),
                Ok(Some(Done::Finished(id))) => {
                    if let Some(local) = self.streams.get_mut(&id) {
                        local.finish();
                    }
                    self.drop_if_over(id);
                }
                Ok(Some(Done::Reset(id, reason))) => self.was_reset(id, reason),
                Err(reason) => return Err(self.breach(reason)),
            }
        }
    }

    fn next_event(&mut self) -> Result<Option<Done>, LaneError> {
        let Some(event) = self.lane.next()? else {
            return Ok(None);
        };
        Ok(Some(match event {
            LaneEvent::Hello(preferences) => Done::Greeted(preferences),
            LaneEvent::Opened(id) => Done::Opened(id),
            LaneEvent::Finished(id) => Done::Finished(id),
            LaneEvent::Reset(id, reason) => Done::Reset(id, reason),
            LaneEvent::Bytes { stream, bytes, .. } => match self.streams.get_mut(&stream) {
                None => Done::Consumed(stream, bytes.len()),
                Some(local) => {
                    // This end compresses the other direction.
                    local.part(self.counters.sends().reverse(), bytes);
                    match local.deliver(bytes) {
                        Ok(0) => Done::Nothing,
                        Ok(count) => Done::Consumed(stream, count),
                        Err(_) => Done::Broken(stream),
                    }
                }
            },
        }))
    }

    fn greeted(&mut self, preferences: LanePreferences) {
        match &self.role {
            Role::Near(tell_up) => {
                self.mailbox.set_up(true);
                tell_up();
                self.take_in_later();
            }
            Role::Far { level, isolate, .. } => {
                self.preferences = LanePreferences {
                    level: level.unwrap_or(preferences.level),
                    isolation: isolate.unwrap_or(preferences.isolation),
                    compress_login: preferences.compress_login,
                };
                self.lane.isolate(self.preferences.isolation);
                self.auto = auto_of(self.preferences, self.counters.now(), &self.transport);
            }
        }
        let lanes = self.counters.lane_up();
        self.counters.record_notice(&Notice::LaneUp {
            end: self.counters.end().other(),
            peer: self.peer,
            lanes,
            key: handshake::shown_key(&self.transport),
        });
    }

    /// The next round takes clients already in the mailbox.
    fn take_in_later(&self) {
        self.mailbox.waker().wake();
    }

    fn look_after(&mut self, now: Timestamp) -> Result<(), Error> {
        let (end, peer) = (self.counters.end().other(), self.peer);
        if !self.lane.is_greeted() {
            if now.since(self.began) >= HELLO_LIMIT {
                let after = HELLO_LIMIT;
                return Err(Error::NoHello { end, peer, after });
            }
            return Ok(());
        }
        self.give_up_late(now);
        let silent = now.since(self.heard);
        if silent >= SILENCE_LIMIT {
            let after = SILENCE_LIMIT;
            return Err(Error::Silent { end, peer, after });
        }
        if silent >= PING_AFTER && self.asked.is_none_or(|asked| now.since(asked) >= PING_AFTER) {
            self.asked = Some(now);
            self.lane.ping();
            self.send_chunks()?;
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        if self.connecting > 0 || !self.lane.is_greeted() {
            CHECK_OFTEN
        } else {
            CHECK
        }
    }

    fn publish(&self) {
        self.figures.set(
            self.counters.end(),
            self.lane.out,
            self.lane.came,
            self.streams.len(),
        );
    }

    /// Resets streams and tells the other end the reason if possible.
    fn leave(&mut self, reason: Option<&Error>) {
        self.mailbox.set_up(false);
        let goodbye = match reason {
            None => Some(GoodbyeReason::Stopped),
            Some(Error::Protocol { .. }) => Some(GoodbyeReason::Protocol),
            Some(_) => None,
        };
        if let Some(goodbye) = goodbye.filter(|_| self.lane.is_greeted()) {
            self.lane.goodbye(goodbye);
        }
        if self.blocked.is_none() && !self.lane.unsent().is_empty() {
            self.transport.send(self.lane.unsent());
            self.transport.finish();
        }
        self.unblock();
        let streams = self.streams.len();
        self.counters.streams_broken(streams);
        self.released(streams);
        self.publish();
        if self.lane.is_greeted() {
            // A lane that the other end closed was not lost.
            self.counters
                .lane_down(reason.is_some_and(|reason| !reason.is_leave()));
        }
        for (_, local) in self.streams.drain() {
            local.socket.reset();
        }
        self.figures
            .set(self.counters.end(), self.lane.out, self.lane.came, 0);
        self.counters.lane_ends(&self.figures);
    }

    fn broken(&self, reason: OsError) -> Error {
        Error::Broken {
            end: self.counters.end().other(),
            peer: self.peer,
            reason,
        }
    }

    fn breach(&self, reason: LaneError) -> Error {
        Error::Protocol {
            end: self.counters.end().other(),
            peer: self.peer,
            reason,
        }
    }
}

fn auto_of(preferences: LanePreferences, at: Timestamp, transport: &Transport) -> Option<Auto> {
    match preferences.level {
        LevelChoice::Auto => {
            let figures = transport.socket().info();
            Some(Auto::new(at, figures.and_then(|figures| figures.window_rate())))
        }
        LevelChoice::Fixed(_) => None,
    }
}

enum Done {
    Nothing,
    Greeted(LanePreferences),
    Opened(StreamId),
    Consumed(StreamId, usize),
    Finished(StreamId),
    Reset(StreamId, ResetReason),
    Broken(StreamId),
}

/// Streams use their numbers, from 1.
const LANE: u64 = 0;
const BELL: u64 = u64::MAX;
/// Maximum reads of the lane before sockets are served again.
const READS_A_ROUND: usize = 16;
const MAX_UNSENT_IN_KERNEL: u32 = 16 * 1024;
/// From the handshake to the first frame.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
const PING_AFTER: Duration = Duration::from_secs(5);
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Per address of the database.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Interval of timeout checks.
const CHECK: Duration = Duration::from_secs(1);
const CHECK_OFTEN: Duration = Duration::from_millis(100);
