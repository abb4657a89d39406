//! The connection that a job is done on: what is said is sent at once while what comes is read, so that two full buffers cannot
//! wait for each other.

use crate::TuneError;
use client::session::{Parts, SessionError, SessionTap};
use model::{ByteCount, Direction, TrialOutcome};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::clock::{Clock, WallOffset};
use sys::error::OsError;
use sys::socket::{Received, Sent};
use sys::transport::Transport;
use sys::wait::{PollFlags, until_ready};

/// Reads replies as far as a job needs to know them; keeps no rows.
pub(crate) trait Replies: Default {
    /// Requests that were asked so far.
    fn asked(&self) -> u64;
    /// Bytes came.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Refused>;
    /// Rows that came.
    fn rows(&self) -> u64;
    /// Requests that are not answered yet.
    fn owed(&self) -> u64;
}

/// The server refused a request, or said what its protocol does not have there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The server's code.
    pub code: String,
    /// What it says, without what it quotes.
    pub text: String,
}

/// A connection under a job.
pub(crate) struct JobConnection<'a, R> {
    /// What the server has answered so far.
    pub replies: R,
    /// What is to be said next.
    pub out: Vec<u8>,
    /// What is being done, for errors.
    pub doing: &'static str,
    /// Whether a driver would hold a whole reply before the program gets its rows.
    pub holds_replies: bool,
    transport: Transport,
    tap: Option<(SessionTap, Clock)>,
    stop: &'a AtomicBool,
    buffer: Box<[u8]>,
    passed: [u64; 2],
    turns: u64,
    /// Requests that had been asked when the last turn began.
    asked_before_turn: u64,
    last_passed: Instant,
    reply: u64,
    most_held: u64,
}

/// What had passed at some moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    at: Instant,
    turns: u64,
    payload: [u64; 2],
    packets: Option<[u64; 2]>,
    header: u64,
}

impl<'a, R: Replies> JobConnection<'a, R> {
    /// Over a session that is logged in.
    pub fn over(parts: Parts, clock: Clock, stop: &'a AtomicBool) -> Self {
        let Parts { transport, tap, .. } = parts;
        if tap.is_none() {
            transport.socket().forget_stamps();
        }
        Self {
            replies: R::default(),
            out: Vec::new(),
            doing: "the job",
            holds_replies: false,
            transport,
            tap: tap.map(|tap| (tap, clock)),
            stop,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            passed: [0; 2],
            turns: 0,
            asked_before_turn: 0,
            last_passed: Instant::now(),
            reply: 0,
            most_held: 0,
        }
    }

    /// Sends what is in `out`.
    pub fn say(&mut self) -> Result<(), TuneError> {
        if let Some((tap, clock)) = &mut self.tap {
            tap.passed(Direction::ClientToServer, clock.now(), &self.out);
        }
        self.held(self.out.capacity() as u64);
        self.reply = 0;
        let out = std::mem::take(&mut self.out);
        let sent = self.send(&out);
        self.out = out;
        self.out.clear();
        sent
    }

    /// Sends what is in `out` and waits until nothing is owed any more: a turn.
    pub fn ask(&mut self) -> Result<(), TuneError> {
        self.say()?;
        self.needs(self.replies.asked());
        self.wait(0)
    }

    /// Waits until one more request may be asked without that more than `depth` are under way; sends what is in `out` where it waits.
    pub fn make_room(&mut self, depth: u64) -> Result<(), TuneError> {
        let asked = self.replies.asked();
        self.needs((asked + 1).saturating_sub(depth));
        if self.replies.owed() < depth {
            return Ok(());
        }
        if !self.out.is_empty() {
            self.say()?;
        }
        self.wait(depth - 1)
    }

    /// The client does not go on without the answer to the request `number`, from 1. That is a turn where it was asked after
    /// the last turn began: what was asked before is answered in the same round trip, at any distance. So a window of requests is
    /// a turn each time all of it has gone by, which a capture can tell only when the distance is longer than what the server takes.
    fn needs(&mut self, number: u64) {
        if number > self.asked_before_turn {
            self.turns += 1;
            self.asked_before_turn = self.replies.asked();
        }
    }

    /// Reads until at most `owed` requests are not answered.
    fn wait(&mut self, owed: u64) -> Result<(), TuneError> {
        while self.replies.owed() > owed {
            if !self.read()? {
                self.pause(PollFlags::IN)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), TuneError> {
        let mut left = bytes;
        while !left.is_empty() || self.transport.has_unsent() {
            let taken = match self.transport.send(left) {
                Sent::Bytes(count) => count,
                Sent::Broken(reason) => return Err(broken(reason)),
            };
            self.passed[0] += taken as u64;
            if taken > 0 {
                self.last_passed = Instant::now();
            }
            left = left.get(taken..).unwrap_or_default();
            if taken == 0 && !self.read()? {
                self.pause(PollFlags::IN | PollFlags::OUT)?;
                if !self.transport.flush() {
                    return Err(SessionError::Closed.into());
                }
            }
        }
        Ok(())
    }

    /// Reads what is there; false when that is nothing.
    fn read(&mut self) -> Result<bool, TuneError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SessionError::Stopped.into());
        }
        let received = match &self.tap {
            Some(_) => self.transport.receive(&mut self.buffer),
            None => self.transport.read(&mut self.buffer),
        };
        let (count, stamp) = match received {
            Received::Bytes { count, stamp, .. } => (count, stamp),
            Received::Nothing => return Ok(false),
            Received::End => return Err(SessionError::Closed.into()),
            Received::Broken(reason) => return Err(broken(reason)),
        };
        self.last_passed = Instant::now();
        self.passed[1] += count as u64;
        let bytes = self.buffer.get(..count).unwrap_or_default();
        if let Some((tap, clock)) = &mut self.tap {
            let now = clock.now();
            let at = stamp.map_or(now, |stamp| clock.place(stamp, WallOffset::now()).min(now));
            tap.passed(Direction::ServerToClient, at, bytes);
            tap.sample_when_due(now, self.transport.socket());
        }
        self.replies
            .take(bytes)
            .map_err(|Refused { code, text }| TuneError::Statement {
                doing: self.doing.to_owned(),
                code,
                text,
            })?;
        self.reply += count as u64;
        self.held(self.out.capacity() as u64);
        Ok(true)
    }

    /// A driver holds so much of a request, and of a reply where it hands rows over only when all are there.
    fn held(&mut self, request: u64) {
        let reply = if self.holds_replies { self.reply } else { 0 };
        self.most_held = self.most_held.max(request + reply + BUFFER as u64);
    }

    fn pause(&self, events: PollFlags) -> Result<(), TuneError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SessionError::Stopped.into());
        }
        if self.last_passed.elapsed() > PATIENCE {
            return Err(SessionError::TimedOut { after: PATIENCE }.into());
        }
        // Being interrupted or timing out is no error: the caller looks again.
        until_ready(self.transport.socket().as_fd(), events, LOOK_UP);
        Ok(())
    }

    /// What has passed until now.
    pub fn passed(&self) -> Passed {
        let figures = self.transport.socket().info();
        let packets = figures.and_then(|figures| figures.packets_out.zip(figures.packets_in));
        let socket = self.transport.socket();
        let internet = if socket.peer().is_ok_and(|peer| peer.is_ipv6()) {
            40
        } else {
            20
        };
        let options = match figures.and_then(|figures| figures.timestamps) {
            Some(true) => 12,
            Some(false) | None => 0,
        };
        Passed {
            at: Instant::now(),
            turns: self.turns,
            payload: match &self.transport {
                Transport::Plain(_) => self.passed,
                Transport::Tls(tls) => tls.passed(),
            },
            packets: packets.map(|(out, back)| [out.into(), back.into()]),
            header: ETHERNET + internet + TCP + options,
        }
    }

    /// What the job took since `before`, to be completed with its rows.
    pub fn outcome(&self, before: Passed) -> TrialOutcome {
        let after = self.passed();
        let payload = difference(after.payload, before.payload);
        // The kernel counts in 32 bits, which wrap.
        let packets = after.packets.zip(before.packets).map(|(after, before)| {
            [0, 1].map(|method| u64::from((after[method] as u32).wrapping_sub(before[method] as u32)))
        });
        TrialOutcome {
            duration: after.at.saturating_duration_since(before.at),
            // It begins its transactions with BEGIN, which shows.
            span: None,
            rows: 0,
            turns: Some(after.turns - before.turns),
            packets,
            payload_bytes: Some(payload),
            wire_bytes: packets
                .map(|packets| [0, 1].map(|method| payload[method] + packets[method] * after.header)),
            client_memory: Some(ByteCount::from_bytes(self.most_held)),
            server_memory: None,
        }
    }

    /// Says `farewell` and hangs up. Best effort: whether the server hears it changes nothing.
    pub fn leave(mut self, farewell: &[u8]) {
        self.out.clear();
        self.out.extend_from_slice(farewell);
        self.say().ok();
        if let Some((tap, clock)) = &mut self.tap {
            tap.sample(clock.now(), self.transport.socket());
        }
    }
}

fn difference(after: [u64; 2], before: [u64; 2]) -> [u64; 2] {
    [0, 1].map(|method| after[method].saturating_sub(before[method]))
}

fn broken(reason: OsError) -> TuneError {
    TuneError::Session(match reason {
        OsError(libc::ECONNRESET | libc::EPIPE) => SessionError::Closed,
        reason => SessionError::Broken { reason },
    })
}

/// As drivers have it: libpq reads 16 KiB at a time and grows, MariaDB's client 16 KiB, pgjdbc 8 to 64 KiB.
const BUFFER: usize = 64 * 1024;
/// How long is waited before looking whether it was stopped.
const LOOK_UP: Duration = Duration::from_millis(200);
/// Without a byte either way. Statements over many rows take long.
const PATIENCE: Duration = Duration::from_secs(600);
// Headers of a packet.
const ETHERNET: u64 = 14;
const TCP: u64 = 20;
