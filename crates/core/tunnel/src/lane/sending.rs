//! Turns bytes of sockets into frames, in the streams' turn.

use super::stream::QueuePosition;
use super::{ENOUGH_TIME, ENOUGH_UNSENT, Framed, Lane, LaneError, MIN_UNSENT, Pick, TINY};
use crate::frame::{self, ChunkHeader, ControlFrame, Isolation, StreamId};
use crate::{Coding, CompressionLevel, MAX_CHUNK_BYTES};
use model::TunnelDirection;

impl Lane {
    /// The stream's socket may have bytes or an end to read.
    pub fn readable(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.sending.readable = true;
        if stream.sending.position == QueuePosition::Idle && !stream.sending.finished {
            stream.sending.position = QueuePosition::Queued;
            self.schedule.was_idle(id);
        }
    }

    /// `None` if no stream is readable or enough is unsent.
    pub fn pick(&mut self) -> Option<Pick> {
        let enough = self.enough();
        if self.unsent.len() - self.gone >= enough {
            return None;
        }
        loop {
            let id = self.schedule.next()?;
            let Some(stream) = self.streams.get_mut(&id) else {
                continue;
            };
            let sending = &mut stream.sending;
            if !sending.readable || sending.finished {
                sending.position = QueuePosition::Idle;
            } else if sending.credit == 0 {
                sending.position = QueuePosition::Starved;
                self.out.reader_stalls += 1;
            } else {
                let most = sending.compressibility.payload_for(enough);
                let most = most.min(sending.credit).min(MAX_CHUNK_BYTES);
                return Some(Pick { stream: id, most });
            }
        }
    }

    /// Sends a non-empty chunk within the pick's maximum. `drained` means that its socket is empty.
    ///
    /// # Errors
    /// If the codec fails; the lane is then unusable.
    pub fn send(
        &mut self,
        id: StreamId,
        chunk: &[u8],
        drained: bool,
        level: CompressionLevel,
    ) -> Result<Framed, LaneError> {
        self.forget_sent();
        let Some(stream) = self.streams.get_mut(&id) else {
            return Ok(Framed {
                level: CompressionLevel::OFF,
                bytes: 0,
            });
        };
        let tries =
            level != CompressionLevel::OFF && chunk.len() >= TINY && stream.sending.compressibility.tries();
        let level = if tries { level } else { CompressionLevel::OFF };
        if std::mem::take(&mut stream.answered) {
            stream.statement += 1;
        }
        let about = Some((id, stream.statement));
        let fresh = tries && self.isolation == Isolation::Statements && self.statement != about;
        if fresh {
            self.compressor.forget();
            self.statement = about;
        }
        let start = frame::begin_chunk(&mut self.unsent);
        let coding = self
            .compressor
            .compress(chunk, level, &mut self.unsent)
            .map_err(LaneError::Compress)?;
        let bytes = self.unsent.len() - start;
        let sending = &mut stream.sending;
        sending.compressibility.went(tries, chunk.len(), bytes);
        sending.credit = sending.credit.saturating_sub(chunk.len());
        sending.sent += chunk.len() as u64;
        sending.readable = !drained;
        let header = ChunkHeader {
            stream: id,
            coding,
            fresh,
            starved: sending.credit == 0 && !drained,
        };
        frame::end_chunk(&mut self.unsent, start, header);
        if drained && self.schedule.nobody_busy() {
            sending.position = QueuePosition::Idle;
        } else {
            self.schedule.goes_on(id);
        }
        count(&mut self.out, chunk.len(), bytes, coding);
        if let Some(sum) = self.out.payload_bytes_at.get_mut(usize::from(level.number())) {
            *sum += chunk.len() as u64;
        }
        Ok(Framed { level, bytes })
    }

    /// The picked stream's socket is empty.
    pub fn drained(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.sending.readable = false;
            stream.sending.position = QueuePosition::Idle;
        }
    }

    pub fn finish(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.sending.finished = true;
        self.write(ControlFrame::Fin(id));
        self.remove_if_over(id);
    }

    pub fn has_finished(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_none_or(|stream| stream.sending.finished)
    }

    pub fn will_read(&self, id: StreamId) -> bool {
        let position = self.streams.get(&id).map(|stream| stream.sending.position);
        position == Some(QueuePosition::Queued)
    }

    pub fn enough(&self) -> usize {
        let passes = |rate: f64| (rate * ENOUGH_TIME.as_secs_f64()) as usize;
        self.throughput.rate().map_or(ENOUGH_UNSENT, |rate| {
            passes(rate).clamp(MIN_UNSENT, ENOUGH_UNSENT)
        })
    }
}

fn count(way: &mut TunnelDirection, payload: usize, frame: usize, coding: Coding) {
    way.payload_bytes += payload as u64;
    way.tunnel_bytes += frame as u64;
    way.chunks += 1;
    if coding == Coding::Stored {
        way.stored_chunks += 1;
    }
}
