//! From the sockets of a lane's streams to the lane's socket.

use super::super::Error;
use super::super::login::Part;
use super::super::notice::Notice;
use super::{LANE, LaneLoop, MAX_UNSENT_IN_KERNEL};
use std::os::fd::AsFd;
use sys::socket::{Received, Sent};
use tunnel::lane::TINY;
use tunnel::{CompressionLevel, LevelChoice, Pick, StreamId};

impl LaneLoop {
    /// Sends chunks of streams in turn until no stream has any or the lane is full.
    pub(super) fn send_chunks(&mut self) -> Result<(), Error> {
        while self.blocked.is_none() {
            while let Some(pick) = self.lane.pick() {
                self.take_turn(pick)?;
            }
            if self.lane.unsent().is_empty() {
                self.lane.idle();
                if let Some(auto) = &mut self.auto {
                    auto.idle(self.counters.now());
                }
                break;
            }
            self.send_unsent()?;
        }
        Ok(())
    }

    fn send_unsent(&mut self) -> Result<(), Error> {
        let unsent = self.lane.unsent();
        let offered = unsent.len();
        match self.transport.send(unsent) {
            Sent::Bytes(count) => {
                self.lane.sent(count);
                let is_full = count < offered || self.transport.has_unsent() || self.is_over_limit();
                if is_full || self.auto.is_some() {
                    self.took(count, is_full);
                }
                Ok(())
            }
            Sent::Broken(reason) => Err(self.broken(reason)),
        }
    }

    /// The kernel takes bytes beyond its limit into a buffer that has room, up to 64 KiB. On a slow
    /// lane the limit is kept here, and the poller reports when less than half is unsent.
    fn is_over_limit(&self) -> bool {
        let socket = self.transport.socket();
        self.unsent_limit < MAX_UNSENT_IN_KERNEL
            && socket.info().and_then(|info| info.unsent) >= Some(self.unsent_limit)
            && self.poller.rewatch(socket.as_fd(), LANE).is_ok()
    }

    /// The lane's socket accepted `count` bytes, and is perhaps full.
    fn took(&mut self, count: usize, is_full: bool) {
        let at = self.counters.now();
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

    /// Limits unsent bytes in the kernel to about the lane's buffer: small messages cannot overtake
    /// them there.
    pub(super) fn limit_unsent(&mut self) {
        let enough = u32::try_from(self.lane.enough()).unwrap_or(MAX_UNSENT_IN_KERNEL);
        let limit = enough.min(MAX_UNSENT_IN_KERNEL);
        if limit > self.unsent_limit * 2 || limit < self.unsent_limit / 2 {
            self.unsent_limit = limit;
            self.transport.socket().limit_unsent(limit);
        }
    }

    fn take_turn(&mut self, pick: Pick) -> Result<(), Error> {
        let id = pick.stream;
        let Some(local) = self.streams.get_mut(&id).filter(|local| local.is_open()) else {
            self.lane.drained(id);
            return Ok(());
        };
        let room = self.chunk.get_mut(..pick.most).unwrap_or_default();
        match local.socket.receive_bytes(room) {
            Received::Bytes { count, emptied, .. } => {
                let drained = emptied && !local.ending;
                let chunk = room.get(..count).unwrap_or_default();
                let part = local.part(self.counters.sends(), chunk);
                if part == Part::Encrypted
                    && self.preferences.level != LevelChoice::Fixed(CompressionLevel::OFF)
                {
                    self.counters
                        .record_notice(&Notice::NothingToCompress { peer: local.peer });
                }
                self.send_chunk(id, count, drained, part == Part::Work)?;
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
    ) -> Result<(), Error> {
        let chunk = self.chunk.get(..count).unwrap_or_default();
        let fixed = match self.preferences.level {
            _ if !may_compress => CompressionLevel::OFF,
            LevelChoice::Fixed(level) => level,
            LevelChoice::Auto => CompressionLevel::OFF,
        };
        if self.auto.is_none() && (fixed == CompressionLevel::OFF || count < TINY) {
            // Not worth reading the clock.
            return match self.lane.send(id, chunk, drained, fixed) {
                Ok(_) => Ok(()),
                Err(reason) => Err(self.breach(reason)),
            };
        }
        let began = self.counters.now();
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
        let at = self.counters.now();
        let took = at.since(began);
        if framed.level != CompressionLevel::OFF {
            self.lane.out.codec_time += took;
        }
        if let Some(auto) = &mut self.auto {
            auto.chunk(at, framed.level, count, framed.bytes, took);
        }
        Ok(())
    }
}
