//! Sends and receives concurrently on a job's connection, so that full buffers on both sides cannot
//! deadlock.

use crate::Error;
use client::session::{ClientConnection, Deadline, Session};
use client::{ErrorReply, ReplyFault, ReplyReader};
use model::{ByteCount, PerDirection, TrialOutcome};
use std::time::{Duration, Instant};
use sys::wait::PollFlags;

/// Reads in chunks like drivers: libpq 16 KiB and more, MariaDB's client 16 KiB, pgjdbc 8 to 64
/// KiB.
pub(crate) struct JobConnection<'a, R> {
    pub replies: R,
    pub out: Vec<u8>,
    pub doing: &'static str,
    /// A driver would buffer a whole reply before the program gets any rows.
    pub holds_replies: bool,
    connection: ClientConnection<'a>,
    /// Extended by every byte.
    deadline: Deadline,
    turns: u64,
    /// Requests sent before the last round trip began.
    asked_before_turn: u64,
    /// The job's limit on requests in flight.
    window: Option<u64>,
    reply: u64,
    most_held: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    at: Instant,
    turns: u64,
    payload: PerDirection<u64>,
    packets: Option<PerDirection<u64>>,
    header: u64,
}

impl<'a, R: ReplyReader> JobConnection<'a, R> {
    /// `session` is already logged in.
    pub fn over(session: Session<'a>) -> Self {
        Self {
            replies: R::default(),
            out: Vec::new(),
            doing: "the job",
            holds_replies: false,
            connection: session.into_connection().stamped_if_watched(),
            deadline: Deadline::after(TIMEOUT),
            turns: 0,
            asked_before_turn: 0,
            window: None,
            reply: 0,
            most_held: 0,
        }
    }

    pub fn say(&mut self) -> Result<(), Error> {
        let now = self.connection.clock().now();
        self.connection.show_sent(now, &self.out);
        self.held(self.out.capacity() as u64);
        self.reply = 0;
        let out = std::mem::take(&mut self.out);
        let sent = self.send(&out);
        self.out = out;
        self.out.clear();
        sent
    }

    /// Sends the buffer and waits for all pending replies, which is one round trip.
    pub fn send_request(&mut self) -> Result<(), Error> {
        self.say()?;
        self.needs(self.replies.asked());
        self.wait(0)
    }

    /// Waits until a request can be sent with at most `depth` in flight; sends the buffer before it
    /// waits.
    pub fn make_room(&mut self, depth: u64) -> Result<(), Error> {
        self.window = Some(depth);
        let asked = self.replies.asked();
        self.needs((asked + 1).saturating_sub(depth));
        if self.replies.expected_replies() < depth {
            return Ok(());
        }
        if !self.out.is_empty() {
            self.say()?;
        }
        self.wait(depth - 1)
    }

    /// Records that the client needs the reply to request `number`, from 1. This costs a round trip
    /// if the request was sent after the last round trip began; earlier requests are answered in
    /// the same round trip at any distance. A window thus costs one round trip per full window,
    /// which a capture only shows if distance exceeds server time.
    fn needs(&mut self, number: u64) {
        if number > self.asked_before_turn {
            self.turns += 1;
            self.asked_before_turn = self.replies.asked();
        }
    }

    /// Reads until at most this many replies are pending.
    fn wait(&mut self, expected: u64) -> Result<(), Error> {
        while self.replies.expected_replies() > expected {
            if !self.read_replies()? {
                self.connection.wait(PollFlags::IN, &self.deadline)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut left = bytes;
        while !left.is_empty() || self.connection.has_unsent() {
            let taken = self.connection.offer(left)?;
            left = left.get(taken..).unwrap_or_default();
            if taken > 0 {
                self.deadline = Deadline::after(TIMEOUT);
            } else if !self.read_replies()? {
                self.connection
                    .wait(PollFlags::IN | PollFlags::OUT, &self.deadline)?;
            }
        }
        Ok(())
    }

    /// Returns false if no data is available.
    fn read_replies(&mut self) -> Result<bool, Error> {
        self.connection.look_up()?;
        let bytes = self.connection.receive_now(ClientConnection::BUFFER)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        self.deadline = Deadline::after(TIMEOUT);
        self.reply += bytes.len() as u64;
        self.replies
            .process_bytes(bytes)
            .map_err(|fault| refused(self.doing, fault))?;
        self.connection.sample_when_due();
        self.held(self.out.capacity() as u64);
        Ok(true)
    }

    /// Bytes a driver would hold: the request, and the reply if it is delivered as a whole.
    fn held(&mut self, request: u64) {
        let reply = if self.holds_replies { self.reply } else { 0 };
        self.most_held = self
            .most_held
            .max(request + reply + ClientConnection::BUFFER as u64);
    }

    pub fn passed(&self) -> Passed {
        let socket = self.connection.transport().socket();
        let figures = socket.info();
        let packets = figures.and_then(|figures| figures.packets_out.zip(figures.packets_in));
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
            payload: self.connection.passed().bytes,
            packets: packets.map(|(out, back)| PerDirection::new(out.into(), back.into())),
            header: ETHERNET + internet + TCP + options,
        }
    }

    /// The caller adds rows to the figures since `before`.
    pub fn outcome(&self, before: Passed) -> TrialOutcome {
        let after = self.passed();
        let payload = after.payload.zip(before.payload);
        let payload = payload.map(|(after, before)| after.saturating_sub(before));
        // The kernel's 32-bit counters wrap.
        let packets = after.packets.zip(before.packets).map(|(after, before)| {
            let both = after.zip(before);
            both.map(|(after, before)| u64::from((after as u32).wrapping_sub(before as u32)))
        });
        TrialOutcome {
            duration: after.at.saturating_duration_since(before.at),
            // Transactions start with BEGIN, so no explicit span is needed.
            span: None,
            rows: 0,
            turns: Some(after.turns - before.turns),
            window: self.window,
            packets,
            payload_bytes: Some(payload),
            wire_bytes: packets.map(|packets| {
                let both = payload.zip(packets);
                both.map(|(payload, packets)| payload + packets * after.header)
            }),
            client_memory: Some(ByteCount::from_bytes(self.most_held)),
            server_memory: None,
        }
    }

    /// Delivery of `farewell` is best effort.
    pub fn leave(mut self, farewell: &[u8]) {
        self.out.clear();
        self.out.extend_from_slice(farewell);
        self.say().ok();
        self.connection.sample();
    }
}

fn refused(doing: &str, fault: ReplyFault) -> Error {
    let ErrorReply { code, text } = match fault {
        ReplyFault::Refused(error) => error,
        ReplyFault::Malformed { found } => ErrorReply::new(b"protocol", found.as_bytes()),
    };
    Error::Statement {
        doing: doing.to_owned(),
        code,
        text,
    }
}

/// Limit without a byte either way. Statements over many rows take long.
const TIMEOUT: Duration = Duration::from_secs(600);
const ETHERNET: u64 = 14;
const TCP: u64 = 20;
