//! The thread of a lane: one epoll loop over the lane's socket and those of all its streams.
//!
//! Bytes go from one socket to the other in one wake-up, without another thread: a client's bytes are read, compressed, framed
//! and sent; what comes over the lane goes to its stream's socket. Sending is pulled: a stream is read only when the lane has room
//! and the other end takes more of it.

use super::TunnelError;
use super::far::Database;
use super::handshake;
use super::mailbox::Mailbox;
use super::notice::{Notice, Refused};
use super::stream::{Course, Local};
use super::tally::{LaneFigures, Tally};
use crate::error::{LiveError, OsError};
use crate::poller::{Poller, Ready, ReadyList};
use crate::socket::{Received, Sent, Socket};
use crate::transport::Transport;
use model::Timestamp;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tunnel::frame::{GoodbyeReason, ResetReason};
use tunnel::lane::TINY;
use tunnel::{
    Auto, Event, Isolation, Lane, LaneError, Level, LevelChoice, MOST_OF_A_CHUNK, Pick, StreamId, Wish,
};

/// What an end of a lane is there for.
pub(super) enum Role {
    /// Takes clients from its mailbox; called when it is up.
    Near(Box<dyn Fn() + Send>),
    /// Connects to the database.
    Far {
        database: Arc<Database>,
        /// Its own, instead of what the near end asks for.
        level: Option<LevelChoice>,
        isolate: Option<Isolation>,
    },
}

/// An end of a lane with its sockets.
pub(super) struct Carrier {
    role: Role,
    tally: Arc<Tally>,
    figures: Arc<LaneFigures>,
    mailbox: Arc<Mailbox>,
    poller: Poller,
    transport: Transport,
    peer: SocketAddr,
    lane: Lane,
    streams: HashMap<StreamId, Local>,
    /// Those whose database has not accepted yet.
    connecting: usize,
    chunk: Vec<u8>,
    wish: Wish,
    readable: bool,
    ending: bool,
    /// Chooses the level, where that is auto.
    auto: Option<Auto>,
    /// Since when the lane's socket has taken nothing more.
    blocked: Option<Timestamp>,
    began: Timestamp,
    heard: Timestamp,
    asked: Option<Timestamp>,
    looked_after: Timestamp,
    /// What the kernel was told to take ahead.
    unsent_limit: u32,
}

impl Carrier {
    pub fn new(
        role: Role,
        wish: Wish,
        mut transport: Transport,
        peer: SocketAddr,
        tally: Arc<Tally>,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, LiveError> {
        let poller = Poller::new()?;
        poller.watch(transport.socket().as_fd(), LANE)?;
        poller.watch_bell(mailbox.bell(), BELL)?;
        transport.read_ahead();
        transport.socket().forget_stamps();
        transport.socket().limit_unsent(MOST_UNSENT_IN_KERNEL);
        let now = tally.now();
        Ok(Self {
            role,
            figures: tally.lane_begins(),
            lane: Lane::new(tally.end(), wish),
            tally,
            mailbox,
            poller,
            transport,
            peer,
            streams: HashMap::new(),
            connecting: 0,
            chunk: vec![0; MOST_OF_A_CHUNK],
            wish,
            // What came with the handshake is there already.
            readable: true,
            ending: false,
            auto: auto_of(wish, now),
            blocked: None,
            began: now,
            heard: now,
            asked: None,
            looked_after: now,
            unsent_limit: MOST_UNSENT_IN_KERNEL,
        })
    }

    /// Carries until the lane ends or is to end; whether it stood, and why it does no more where it was not to end.
    pub fn run(mut self) -> (bool, Option<TunnelError>) {
        let reason = self.carry().err();
        let streams = self.streams.len();
        self.leave(reason.as_ref());
        let stood = self.lane.is_greeted();
        if let Some(reason) = reason.clone().filter(|_| stood) {
            self.tally.tell(&Notice::LaneLost { reason, streams });
        }
        (stood, reason)
    }

    fn carry(&mut self) -> Result<(), TunnelError> {
        let mut ready = ReadyList::new();
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
            let now = self.tally.now();
            if now.since(self.looked_after) >= CHECK_OFTEN {
                self.looked_after = now;
                self.look_after(now)?;
            }
            self.publish();
        }
        Ok(())
    }

    /// Reads the lane and sends over it until neither goes on; true when there was too much for one round.
    fn work(&mut self) -> Result<bool, TunnelError> {
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

    fn lane_event(&mut self, event: Ready) -> Result<(), TunnelError> {
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
            self.lane.out.stalled += self.tally.now().since(since);
        }
    }

    fn stream_event(&mut self, id: StreamId, event: Ready) {
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

    /// Sends chunks of the streams whose turn it is until nobody has any or the lane has no room.
    fn send_chunks(&mut self) -> Result<(), TunnelError> {
        while self.blocked.is_none() {
            while let Some(pick) = self.lane.pick() {
                self.take_turn(pick)?;
            }
            if self.lane.unsent().is_empty() {
                self.lane.idle();
                if let Some(auto) = &mut self.auto {
                    auto.idle(self.tally.now());
                }
                break;
            }
            self.send_unsent()?;
        }
        Ok(())
    }

    fn send_unsent(&mut self) -> Result<(), TunnelError> {
        let unsent = self.lane.unsent();
        let offered = unsent.len();
        match self.transport.send(unsent) {
            Sent::Bytes(count) => {
                self.lane.sent(count);
                let is_full = count < offered || self.transport.has_unsent();
                if is_full || self.auto.is_some() {
                    self.took(count, is_full);
                }
                Ok(())
            }
            Sent::Broken(reason) => Err(self.broken(reason)),
        }
    }

    /// The lane's socket took so many bytes, and perhaps takes no more for now.
    fn took(&mut self, count: usize, is_full: bool) {
        let at = self.tally.now();
        if let Some(auto) = &mut self.auto {
            auto.sent(at, count);
            if is_full {
                auto.full(at);
            }
        }
        if is_full {
            self.blocked = Some(at);
            self.lane.out.stalls += 1;
            self.lane.full(at);
            self.limit_unsent();
        }
    }

    /// Has the kernel take about as much ahead as the lane does: what waits there cannot be overtaken by a small message.
    fn limit_unsent(&mut self) {
        let enough = u32::try_from(self.lane.enough()).unwrap_or(MOST_UNSENT_IN_KERNEL);
        let limit = enough.min(MOST_UNSENT_IN_KERNEL);
        if limit > self.unsent_limit * 2 || limit < self.unsent_limit / 2 {
            self.unsent_limit = limit;
            self.transport.socket().limit_unsent(limit);
        }
    }

    fn take_turn(&mut self, pick: Pick) -> Result<(), TunnelError> {
        let id = pick.stream;
        let Some(local) = self.streams.get_mut(&id).filter(|local| local.is_open()) else {
            self.lane.drained(id);
            return Ok(());
        };
        let room = self.chunk.get_mut(..pick.most).unwrap_or_default();
        match local.socket.read(room) {
            Received::Bytes { count, emptied, .. } => {
                let drained = emptied && !local.ending;
                let chunk = room.get(..count).unwrap_or_default();
                let may_compress = local.may_compress(self.tally.sends(), chunk);
                self.send_chunk(id, count, drained, may_compress)?;
            }
            Received::Nothing => self.lane.drained(id),
            Received::End => {
                self.lane.finish(id);
                self.drop_if_over(id);
            }
            Received::Broken(_) => self.break_stream(id),
        }
        Ok(())
    }

    fn send_chunk(
        &mut self,
        id: StreamId,
        count: usize,
        drained: bool,
        may_compress: bool,
    ) -> Result<(), TunnelError> {
        let chunk = self.chunk.get(..count).unwrap_or_default();
        let fixed = match self.wish.level {
            _ if !may_compress => Level::OFF,
            LevelChoice::Fixed(level) => level,
            LevelChoice::Auto => Level::OFF,
        };
        if self.auto.is_none() && (fixed == Level::OFF || count < TINY) {
            // Nothing of it is worth the clock.
            return match self.lane.send(id, chunk, drained, fixed) {
                Ok(_) => Ok(()),
                Err(reason) => Err(self.breach(reason)),
            };
        }
        let began = self.tally.now();
        let level = match &mut self.auto {
            Some(auto) if may_compress => {
                if auto.wants_path(began)
                    && let Some(known) = self.transport.socket().info()
                    && let (Some(delivered), Some(rtt)) = (known.delivery_rate, known.min_rtt)
                {
                    auto.path(began, delivered, rtt);
                }
                auto.level(began)
            }
            Some(_) | None => fixed,
        };
        let framed = match self.lane.send(id, chunk, drained, level) {
            Ok(framed) => framed,
            Err(reason) => return Err(self.breach(reason)),
        };
        let at = self.tally.now();
        let took = at.since(began);
        if framed.level != Level::OFF {
            self.lane.out.codec_time += took;
        }
        if let Some(auto) = &mut self.auto {
            auto.chunk(at, framed.level, count, framed.bytes, took);
        }
        Ok(())
    }

    fn read_lane(&mut self) -> Result<(), TunnelError> {
        match self.transport.read(self.lane.space()) {
            Received::Bytes { count, emptied, .. } => {
                self.lane.filled(count);
                self.readable = !emptied || self.ending;
                self.asked = None;
                self.heard = self.tally.now();
                self.pass_on()
            }
            Received::Nothing => {
                self.readable = false;
                Ok(())
            }
            Received::End => Err(TunnelError::Closed {
                end: self.tally.end().other(),
                peer: self.peer,
            }),
            Received::Broken(reason) => Err(self.broken(reason)),
        }
    }

    /// Does what has come over the lane.
    fn pass_on(&mut self) -> Result<(), TunnelError> {
        loop {
            match self.next_event() {
                Ok(None) => return Ok(()),
                Ok(Some(Done::Nothing)) => {}
                Ok(Some(Done::Consumed(id, count))) => self.lane.consumed(id, count),
                Ok(Some(Done::Broken(id))) => self.break_stream(id),
                Ok(Some(Done::Greeted(wish))) => self.greeted(wish),
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
        let began = self.lane.decodes_next().then(|| self.tally.now());
        let Some(event) = self.lane.next()? else {
            return Ok(None);
        };
        let took = began.map_or(Duration::ZERO, |began| self.tally.now().since(began));
        let done = match event {
            Event::Hello(wish) => Done::Greeted(wish),
            Event::Opened(id) => Done::Opened(id),
            Event::Finished(id) => Done::Finished(id),
            Event::Reset(id, reason) => Done::Reset(id, reason),
            Event::Bytes { stream, bytes, .. } => match self.streams.get_mut(&stream) {
                None => Done::Consumed(stream, bytes.len()),
                Some(local) => {
                    // This end compresses the other direction.
                    local.may_compress(self.tally.sends().reverse(), bytes);
                    match local.deliver(bytes) {
                        Ok(0) => Done::Nothing,
                        Ok(count) => Done::Consumed(stream, count),
                        Err(_) => Done::Broken(stream),
                    }
                }
            },
        };
        self.lane.came.codec_time += took;
        Ok(Some(done))
    }

    fn greeted(&mut self, wish: Wish) {
        match &self.role {
            Role::Near(tell_up) => {
                self.mailbox.set_up(true);
                tell_up();
                self.take_in_later();
            }
            Role::Far { level, isolate, .. } => {
                self.wish = Wish {
                    level: level.unwrap_or(wish.level),
                    isolation: isolate.unwrap_or(wish.isolation),
                    compress_login: wish.compress_login,
                };
                self.lane.isolate(self.wish.isolation);
                self.auto = auto_of(self.wish, self.tally.now());
            }
        }
        let lanes = self.tally.lane_up();
        self.tally.tell(&Notice::LaneUp {
            end: self.tally.end().other(),
            peer: self.peer,
            lanes,
            key: handshake::shown_key(&self.transport),
        });
    }

    /// Clients that are in the mailbox already are taken in by the next round.
    fn take_in_later(&self) {
        self.mailbox.bell().ring();
    }

    fn take_in(&mut self) {
        for arrival in self.mailbox.take() {
            let Some(id) = self.lane.open() else {
                self.mailbox.release(1);
                self.refuse(arrival.socket, arrival.client, Refused::TooMany);
                continue;
            };
            let mut local = Local::new(arrival.socket, Course::Open, arrival.client);
            if !self.wish.compress_login {
                local.watch_login(None);
            }
            if self.poller.watch(local.socket.as_fd(), id.0.into()).is_err() {
                self.lane.reset(id, ResetReason::Broken);
                self.mailbox.release(1);
                continue;
            }
            self.tally.stream_opened();
            self.streams.insert(id, local);
            self.lane.readable(id);
        }
    }

    fn refuse(&self, socket: Socket, client: SocketAddr, reason: Refused) {
        socket.reset();
        self.tally.stream_refused();
        self.tally.tell(&Notice::StreamRefused { client, reason });
    }

    /// A client connected at the near end: so does this one, to the database.
    fn connect(&mut self, id: StreamId) {
        self.tally.stream_opened();
        self.connect_to(id, 0, None);
    }

    /// Tries the database's addresses from this place in their list on.
    fn connect_to(&mut self, id: StreamId, first: usize, mut fault: Option<TunnelError>) {
        let Role::Far { database, .. } = &self.role else {
            return;
        };
        let database = Arc::clone(database);
        for (place, address) in database.addresses.iter().enumerate().skip(first) {
            let begun = Socket::connect(address).and_then(|socket| {
                match self.poller.watch(socket.as_fd(), id.0.into()) {
                    Ok(()) => Ok(socket),
                    Err(_) => Err(OsError(libc::ENOMEM)),
                }
            });
            match begun {
                Ok(socket) => {
                    let course = Course::Connecting {
                        address: *address,
                        next: place + 1,
                        since: self.tally.now(),
                    };
                    let new = match self.streams.remove(&id) {
                        Some(before) => before.instead(socket, course),
                        None => self.new_to(*address, socket, course),
                    };
                    self.streams.insert(id, new);
                    self.connecting += 1;
                    return self.connect_progress(id);
                }
                Err(reason) => fault = Some(database.unreachable(*address, reason)),
            }
        }
        self.give_up(id, fault);
    }

    fn new_to(&self, database: SocketAddr, socket: Socket, course: Course) -> Local {
        let mut local = Local::new(socket, course, database);
        if !self.wish.compress_login {
            local.watch_login(Some(database.port()));
        }
        local
    }

    fn connect_progress(&mut self, id: StreamId) {
        let Some(local) = self.streams.get_mut(&id) else {
            return;
        };
        let Course::Connecting { address, next, .. } = local.course else {
            return;
        };
        match local.socket.connected() {
            Ok(false) => {}
            Ok(true) => {
                self.connecting -= 1;
                local.course = Course::Open;
                self.tally.stream_works();
                match local.flush() {
                    Ok(count) => {
                        self.lane.consumed(id, count);
                        self.lane.readable(id);
                    }
                    Err(_) => self.break_stream(id),
                }
            }
            Err(reason) => self.next_address(id, address, next, reason),
        }
    }

    fn next_address(&mut self, id: StreamId, address: SocketAddr, next: usize, reason: OsError) {
        self.connecting -= 1;
        let fault = match &self.role {
            Role::Far { database, .. } => Some(database.unreachable(address, reason)),
            Role::Near(_) => None,
        };
        self.connect_to(id, next, fault);
    }

    /// No address of the database is left.
    fn give_up(&mut self, id: StreamId, fault: Option<TunnelError>) {
        self.streams.remove(&id);
        self.lane.reset(id, ResetReason::NoDatabase);
        self.tally.streams_broken(1);
        if let Some(reason) = fault {
            self.tally.tell(&Notice::DatabaseUnreachable { reason });
        }
    }

    /// A stream's socket was reset or broke: so does the other side.
    fn break_stream(&mut self, id: StreamId) {
        self.lane.reset(id, ResetReason::Broken);
        if self.streams.remove(&id).is_some() {
            self.tally.streams_broken(1);
            self.released(1);
        }
    }

    /// The other side of a stream was reset or broke: so does this.
    fn was_reset(&mut self, id: StreamId, reason: ResetReason) {
        let Some(local) = self.streams.remove(&id) else {
            return;
        };
        if !local.is_open() {
            self.connecting -= 1;
        }
        self.released(1);
        match reason {
            ResetReason::Full => return self.refuse(local.socket, local.peer, Refused::FarFull),
            ResetReason::Broken => {}
            ResetReason::NoDatabase => self.tally.tell(&Notice::StreamRefused {
                client: local.peer,
                reason: Refused::NoDatabase,
            }),
        }
        local.socket.reset();
        self.tally.streams_broken(1);
    }

    /// Closes a stream's socket when both directions are done.
    fn drop_if_over(&mut self, id: StreamId) {
        let over = self
            .streams
            .get(&id)
            .is_some_and(|local| local.is_finished() && self.lane.has_finished(id));
        if over {
            self.streams.remove(&id);
            self.released(1);
        }
    }

    fn released(&self, count: usize) {
        if matches!(self.role, Role::Near(_)) {
            self.mailbox.release(count);
        }
    }

    /// Looks after what time decides: answers that do not come.
    fn look_after(&mut self, now: Timestamp) -> Result<(), TunnelError> {
        let (end, peer) = (self.tally.end().other(), self.peer);
        if !self.lane.is_greeted() {
            if now.since(self.began) >= HELLO_LIMIT {
                let after = HELLO_LIMIT;
                return Err(TunnelError::NoHello { end, peer, after });
            }
            return Ok(());
        }
        self.give_up_late(now);
        let silent = now.since(self.heard);
        if silent >= SILENCE_LIMIT {
            let after = SILENCE_LIMIT;
            return Err(TunnelError::Silent { end, peer, after });
        }
        if silent >= PING_AFTER && self.asked.is_none_or(|asked| now.since(asked) >= PING_AFTER) {
            self.asked = Some(now);
            self.lane.ping();
            self.send_chunks()?;
        }
        Ok(())
    }

    fn give_up_late(&mut self, now: Timestamp) {
        if self.connecting == 0 {
            return;
        }
        let late: Vec<_> = self
            .streams
            .iter()
            .filter_map(|(id, local)| match local.course {
                Course::Connecting { address, next, since } if now.since(since) >= CONNECT_LIMIT => {
                    Some((*id, address, next))
                }
                Course::Connecting { .. } | Course::Open => None,
            })
            .collect();
        for (id, address, next) in late {
            self.next_address(id, address, next, OsError(libc::ETIMEDOUT));
        }
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
            self.tally.end(),
            self.lane.out,
            self.lane.came,
            self.streams.len(),
        );
    }

    /// Ends what is left: streams are reset, the other end is told why as far as it listens.
    fn leave(&mut self, reason: Option<&TunnelError>) {
        self.mailbox.set_up(false);
        let goodbye = match reason {
            None => Some(GoodbyeReason::Stopped),
            Some(TunnelError::Protocol { .. }) => Some(GoodbyeReason::Protocol),
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
        self.tally.streams_broken(streams);
        self.released(streams);
        self.publish();
        if self.lane.is_greeted() {
            // One whose other end took leave was not lost.
            self.tally
                .lane_down(reason.is_some_and(|reason| !reason.is_leave()));
        }
        for (_, local) in self.streams.drain() {
            local.socket.reset();
        }
        self.figures
            .set(self.tally.end(), self.lane.out, self.lane.came, 0);
        self.tally.lane_ends(&self.figures);
    }

    fn broken(&self, reason: OsError) -> TunnelError {
        TunnelError::Broken {
            end: self.tally.end().other(),
            peer: self.peer,
            reason,
        }
    }

    fn breach(&self, reason: LaneError) -> TunnelError {
        TunnelError::Protocol {
            end: self.tally.end().other(),
            peer: self.peer,
            reason,
        }
    }
}

fn auto_of(wish: Wish, at: Timestamp) -> Option<Auto> {
    match wish.level {
        LevelChoice::Auto => Some(Auto::new(at)),
        LevelChoice::Fixed(_) => None,
    }
}

/// What an event of the lane leaves to do.
enum Done {
    Nothing,
    Greeted(Wish),
    Opened(StreamId),
    Consumed(StreamId, usize),
    Finished(StreamId),
    Reset(StreamId, ResetReason),
    Broken(StreamId),
}

/// The lane's own token; streams have their numbers, from 1.
const LANE: u64 = 0;
const BELL: u64 = u64::MAX;
/// So often the lane is read before sockets are looked at again.
const READS_A_ROUND: usize = 16;
const MOST_UNSENT_IN_KERNEL: u32 = 16 * 1024;
/// From the handshake to the first frame.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
const PING_AFTER: Duration = Duration::from_secs(5);
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// How long one of the database's addresses may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How often time is looked at.
const CHECK: Duration = Duration::from_secs(1);
const CHECK_OFTEN: Duration = Duration::from_millis(100);
