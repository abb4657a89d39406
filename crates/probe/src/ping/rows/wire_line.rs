//! A connection read packet by packet.

use super::{Language, RowsError, RowsOptions};
use client::session::{KernelFigures, SessionError};
use model::Timestamp;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::clock::{Clock, WallOffset, WallStamp};
use sys::socket::{Received, Sent, Socket};
use sys::wait::{PollFlags, until_ready};

/// A logged-in connection.
pub(super) struct WireLine<'a> {
    socket: Socket,
    clock: Clock,
    stop: &'a AtomicBool,
    timeout: Duration,
    buffer: Vec<u8>,
    last_stamp: Option<WallStamp>,
    asking: Asking,
}

/// Requests that are being sent while replies come.
#[derive(Default)]
struct Asking {
    requests: Vec<u8>,
    sent: usize,
}

impl<'a> WireLine<'a> {
    /// Over `socket`.
    pub fn new(socket: Socket, options: &RowsOptions<'a>) -> Self {
        Self {
            socket,
            clock: options.clock,
            stop: options.stop,
            timeout: options.timeout,
            buffer: Vec::new(),
            last_stamp: None,
            asking: Asking::default(),
        }
    }

    pub fn kernel(&self) -> Option<KernelFigures> {
        self.socket.info()
    }

    /// Payload of the largest packet that came, as the kernel guesses it.
    pub fn received_segment(&self) -> Option<usize> {
        self.kernel()?
            .received_segment_size
            .and_then(|size| size.try_into().ok())
    }

    /// Payload of the largest packet it sends.
    pub fn own_segment(&self) -> Option<usize> {
        self.kernel()?.segment_size.and_then(|size| size.try_into().ok())
    }

    /// Packets with payload that came so far.
    pub fn data_packets(&self) -> Option<u32> {
        self.kernel()?.data_packets_in
    }

    /// Headers of IP and TCP in each packet: without IP options, with TCP's timestamps where they were agreed on.
    pub fn header_bytes(&self) -> usize {
        let ip = match self.socket.peer() {
            Ok(peer) if peer.is_ipv6() && peer.ip().to_canonical().is_ipv6() => 40,
            _ => 20,
        };
        let timestamps = self.kernel().and_then(|kernel| kernel.timestamps).unwrap_or(true);
        ip + 20 + if timestamps { 12 } else { 0 }
    }

    /// Sends all of `bytes`.
    pub fn send_all(&mut self, bytes: &[u8]) -> Result<(), RowsError> {
        self.begin_asking(bytes, 1);
        let patience = self.patience();
        while self.has_unsent() {
            if !self.send_some()? {
                self.wait(PollFlags::OUT, patience)?;
            }
        }
        Ok(())
    }

    /// Begins to send `request` as often as said; the rest follows while packets are read.
    pub fn begin_asking(&mut self, request: &[u8], times: u64) -> Timestamp {
        self.asking = Asking {
            requests: request.repeat(usize::try_from(times).unwrap_or_default()),
            sent: 0,
        };
        self.clock.now()
    }

    /// Reads `length` bytes, a row's packet. When the last of them came, and whether the bytes before had the same stamp.
    pub fn read_packet(&mut self, length: usize, language: Language) -> Result<(Timestamp, bool), RowsError> {
        let before = self.last_stamp;
        self.read(length, Some(language))?;
        language.check(&self.buffer)?;
        let now = self.clock.now();
        let at = self
            .last_stamp
            .map_or(now, |stamp| self.clock.place(stamp, WallOffset::now()).min(now));
        Ok((at, before.is_some() && before == self.last_stamp))
    }

    /// Reads `length` bytes and gives them.
    pub fn take(&mut self, length: usize) -> Result<&[u8], RowsError> {
        self.read(length, None)?;
        Ok(&self.buffer)
    }

    /// Of a row's packet in `language` an error may come instead, which is shorter.
    fn read(&mut self, length: usize, language: Option<Language>) -> Result<(), RowsError> {
        self.buffer.resize(length, 0);
        let mut filled = 0;
        let mut patience = self.patience();
        while filled < length {
            let room = self.buffer.get_mut(filled..).unwrap_or_default();
            match self.socket.receive(room) {
                Received::Bytes { count, stamp, .. } => {
                    filled += count;
                    self.last_stamp = stamp;
                    let begun = self.buffer.get(..filled).unwrap_or_default();
                    if let Some(refusal) = language.and_then(|language| language.refusal(begun)) {
                        return Err(refusal);
                    }
                    patience = self.patience();
                }
                Received::Nothing if self.has_unsent() && self.send_some()? => {}
                Received::Nothing => {
                    let out = if self.has_unsent() {
                        PollFlags::OUT
                    } else {
                        PollFlags::empty()
                    };
                    self.wait(PollFlags::IN | out, patience)?;
                }
                Received::End => return Err(SessionError::Closed.into()),
                Received::Broken(reason) => return Err(SessionError::Broken { reason }.into()),
            }
        }
        Ok(())
    }

    fn has_unsent(&self) -> bool {
        self.asking.sent < self.asking.requests.len()
    }

    /// Sends what the kernel takes; false when that is nothing.
    fn send_some(&mut self) -> Result<bool, RowsError> {
        let rest = self.asking.requests.get(self.asking.sent..).unwrap_or_default();
        match self.socket.send(rest) {
            Sent::Bytes(count) => {
                self.asking.sent += count;
                Ok(count > 0)
            }
            Sent::Broken(reason) => Err(SessionError::Broken { reason }.into()),
        }
    }

    fn patience(&self) -> Instant {
        Instant::now() + self.timeout
    }

    fn wait(&self, events: PollFlags, until: Instant) -> Result<(), RowsError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SessionError::Stopped.into());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SessionError::TimedOut { after: self.timeout }.into());
        }
        // Being interrupted or timing out is no error: the caller looks again.
        until_ready(self.socket.as_fd(), events, left.min(LOOK_UP));
        Ok(())
    }
}

/// How long is waited before looking whether the run was ended.
const LOOK_UP: Duration = Duration::from_millis(200);
