//! Turns received frames into events.

use super::stream::{QueuePosition, Stream};
use super::{
    BASE_WINDOW, BYTES_A_CREDIT, FREE_CREDITS, LATE_FRAMES, Lane, LaneError, LaneEvent, MAX_PINGS,
    MAX_STREAMS, MAX_UNSENT, MAX_WINDOW, Seen,
};
use crate::Coding;
use crate::frame::{self, ControlFrame, End, LaneFrame, ResetReason, StreamId};
use std::ops::Range;

impl Lane {
    pub(super) fn look_for_hello(&mut self) -> Result<Seen, LaneError> {
        let Some((preferences, length)) = frame::read_hello(self.incoming.waiting())? else {
            return Ok(Seen::Nothing);
        };
        self.incoming.take_range(length);
        self.came.tunnel_bytes += length as u64;
        self.greeted = true;
        Ok(Seen::Event(LaneEvent::Hello(preferences)))
    }

    pub(super) fn next_frame(&mut self) -> Result<Seen, LaneError> {
        let (frame, length) = match frame::parse_frame(self.incoming.waiting())? {
            None => return Ok(Seen::Nothing),
            Some(read) => read,
        };
        let seen = match frame {
            LaneFrame::Control(control) => {
                self.incoming.take_range(length);
                self.control(control)?
            }
            LaneFrame::Data {
                stream,
                coding,
                fresh,
                starved,
                payload,
            } => {
                let payload = payload.len();
                self.data(stream, coding, Marks { fresh, starved }, length, payload)?
            }
        };
        self.came.tunnel_bytes += length as u64;
        Ok(seen)
    }

    fn data(
        &mut self,
        id: StreamId,
        coding: Coding,
        marks: Marks,
        length: usize,
        payload: usize,
    ) -> Result<Seen, LaneError> {
        let whole = self.incoming.take_range(length);
        let range = whole.end - payload..whole.end;
        let count = if coding == Coding::Stored {
            range.len()
        } else {
            // A chunk of an ended stream is still part of the context.
            self.decode(coding, marks.fresh, range.clone())?
        };
        self.came.payload_bytes += count as u64;
        self.came.chunks += 1;
        if coding == Coding::Stored {
            self.came.stored_chunks += 1;
        }
        let Some(stream) = self.known(id)? else {
            return self.late_bytes(count).map(|()| Seen::Handled);
        };
        let receiving = &mut stream.receiving;
        if receiving.finished || count > receiving.credit {
            return Err(LaneError::Credit { stream: id.0 });
        }
        receiving.credit -= count;
        receiving.held += count;
        receiving.starved = marks.starved;
        stream.answered = true;
        Ok(match coding {
            Coding::Stored => Seen::Stored(id, range),
            Coding::Zstd => Seen::Decoded(id, coding),
        })
    }

    fn decode(&mut self, coding: Coding, fresh: bool, range: Range<usize>) -> Result<usize, LaneError> {
        if fresh {
            self.decompressor.forget();
        }
        self.decoded.clear();
        self.decompressor
            .decompress(coding, self.incoming.at(range), &mut self.decoded)
            .map_err(LaneError::Chunk)?;
        Ok(self.decoded.len())
    }

    fn control(&mut self, control: ControlFrame) -> Result<Seen, LaneError> {
        match control {
            ControlFrame::Hello(_) => {
                return Err(LaneError::OutOfPlace {
                    what: "a second HELLO",
                });
            }
            ControlFrame::Open(id) => return self.opened(id),
            ControlFrame::Fin(id) => return self.finished(id),
            ControlFrame::Reset(id, reason) => {
                if self.known(id)?.is_some() {
                    self.remove(id);
                    return Ok(Seen::Event(LaneEvent::Reset(id, reason)));
                }
                self.late_frame()?;
            }
            ControlFrame::Credit(id, amount) => self.credited(id, amount)?,
            ControlFrame::Ping => {
                if self.unsent().len() > MAX_UNSENT {
                    return Err(LaneError::Flood);
                }
                self.pinged("PING")?;
                self.write(ControlFrame::Pong);
            }
            ControlFrame::Pong => self.pinged("PONG")?,
            ControlFrame::Goodbye(reason) => return Err(LaneError::Goodbye(reason)),
        }
        Ok(Seen::Handled)
    }

    fn opened(&mut self, id: StreamId) -> Result<Seen, LaneError> {
        if self.end == End::Near || id.0 <= self.newest {
            return Err(LaneError::OutOfPlace { what: "an OPEN" });
        }
        self.newest = id.0;
        if self.streams.len() >= MAX_STREAMS {
            if self.unsent().len() > MAX_UNSENT {
                return Err(LaneError::Flood);
            }
            self.write(ControlFrame::Reset(id, ResetReason::Full));
            self.over += 1;
            return Ok(Seen::Handled);
        }
        self.streams.insert(id, Stream::new(BASE_WINDOW));
        Ok(Seen::Event(LaneEvent::Opened(id)))
    }

    fn finished(&mut self, id: StreamId) -> Result<Seen, LaneError> {
        let Some(stream) = self.known(id)? else {
            return self.late_frame().map(|()| Seen::Handled);
        };
        if stream.receiving.finished {
            return Err(LaneError::OutOfPlace { what: "a second FIN" });
        }
        stream.receiving.finished = true;
        self.remove_if_over(id);
        Ok(Seen::Event(LaneEvent::Finished(id)))
    }

    fn credited(&mut self, id: StreamId, amount: u32) -> Result<(), LaneError> {
        let Some(stream) = self.known(id)? else {
            return self.late_frame();
        };
        let sending = &mut stream.sending;
        let amount = usize::try_from(amount).unwrap_or(usize::MAX);
        // Small grants would make this end read, compress and send in small pieces.
        sending.credits += 1;
        if sending.credits > FREE_CREDITS + sending.sent / BYTES_A_CREDIT {
            return Err(LaneError::Useless { what: "CREDIT" });
        }
        sending.credit = sending.credit.saturating_add(amount);
        if sending.credit > MAX_WINDOW {
            return Err(LaneError::OutOfPlace { what: "a CREDIT" });
        }
        if sending.position == QueuePosition::Starved && sending.credit > 0 {
            sending.position = QueuePosition::Queued;
            self.schedule.goes_on(id);
        }
        Ok(())
    }

    /// The other end may not know yet that the stream has ended here.
    fn late_frame(&mut self) -> Result<(), LaneError> {
        self.late_frames += 1;
        if self.late_frames > self.over.saturating_mul(LATE_FRAMES) {
            let what = "frames of streams that are over";
            return Err(LaneError::Useless { what });
        }
        Ok(())
    }

    fn late_bytes(&mut self, count: usize) -> Result<(), LaneError> {
        // One is counted for the chunk, which may be empty.
        self.late_bytes += count as u64 + 1;
        if self.late_bytes > self.over.saturating_mul(2 * MAX_WINDOW as u64) {
            let what = "bytes of streams that are over";
            return Err(LaneError::Useless { what });
        }
        Ok(())
    }

    fn pinged(&mut self, what: &'static str) -> Result<(), LaneError> {
        self.pings += 1;
        match self.pings > MAX_PINGS {
            true => Err(LaneError::Useless { what }),
            false => Ok(()),
        }
    }

    fn known(&mut self, id: StreamId) -> Result<Option<&mut Stream>, LaneError> {
        if id.0 == 0 || id.0 > self.newest {
            return Err(LaneError::NotOpened { stream: id.0 });
        }
        Ok(self.streams.get_mut(&id))
    }
}

#[derive(Clone, Copy)]
struct Marks {
    fresh: bool,
    starved: bool,
}
