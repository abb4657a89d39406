//! The observer of one connection: decodes it on the forwarding thread and posts the facts.

use super::room::{Admission, FactLosses, Room};
use super::{Payload, Posted, summing};
use crate::decode::ConnectionDecoders;
use analysis::fact::Fact;
use model::{
    ConnectionEvent, ConnectionId, ConnectionOutcome, Direction, Exchange, Observer, PerDirection, Protocol,
    Segment,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use sys::receiver::WakingSender;

pub(super) struct Posting {
    pub connections: ConnectionDecoders,
    pub non_blocking_writer: FactSender,
    pub payload: Option<Arc<AtomicU64>>,
    /// Bytes of each direction without room, to be reported with the next payload.
    pub unseen: PerDirection<u64>,
}

pub(super) struct FactSender {
    sender: WakingSender<Sender<Posted>>,
    room: Arc<Room>,
    sums: bool,
    /// The last exchange of the event, to which others may be added, and their number.
    last: Option<(Box<Exchange>, Protocol, u64)>,
    is_dropped: bool,
    summed: u64,
}

impl FactSender {
    pub(super) fn new(sender: WakingSender<Sender<Posted>>, room: Arc<Room>, sums: bool) -> Self {
        Self {
            sender,
            room,
            sums,
            last: None,
            is_dropped: false,
            summed: 0,
        }
    }

    fn fact(&mut self, fact: Fact) {
        match fact {
            Fact::Exchange { exchange, protocol } if self.sums && self.room.is_crowded() => {
                self.sum(exchange, protocol);
            }
            Fact::Closed(outcome) => {
                self.flush();
                self.closed(outcome);
            }
            fact => {
                self.flush();
                self.post_or_lose(Posted::Fact(fact), 1);
            }
        }
    }

    fn sum(&mut self, exchange: Box<Exchange>, protocol: Protocol) {
        if let Some((last, of, count)) = &mut self.last
            && *of == protocol
            && summing::add_pipelined(last, &exchange)
        {
            *count += 1;
            return;
        }
        self.flush();
        self.last = Some((exchange, protocol, 1));
    }

    fn flush(&mut self) {
        let Some((exchange, protocol, count)) = self.last.take() else {
            return;
        };
        let posted = Posted::Fact(Fact::Exchange { exchange, protocol });
        self.post_or_lose(posted, count);
    }

    /// The connection counts its exchanges as posted; dropped ones remain in its count.
    fn closed(&mut self, mut outcome: Box<ConnectionOutcome>) {
        if self.is_dropped {
            return;
        }
        outcome.exchanges = outcome.exchanges.saturating_sub(self.summed);
        self.post_or_lose(Posted::Fact(Fact::Closed(outcome)), 1);
    }

    fn post_or_lose(&mut self, posted: Posted, count: u64) {
        let none = FactLosses::default();
        if self.post(&posted) == Admission::Admitted {
            if count > 1 {
                let summed = count - 1;
                self.summed += summed;
                self.room.lose(FactLosses { summed, ..none });
            }
            // The receiver is gone only after the end of the run.
            self.sender.send(posted).ok();
            return;
        }
        self.room.lose(match posted {
            Posted::Fact(Fact::Opened { .. }) => {
                self.is_dropped = true;
                FactLosses {
                    connections: 1,
                    ..none
                }
            }
            Posted::Fact(Fact::Started { .. }) => FactLosses { starts: 1, ..none },
            Posted::Fact(Fact::Exchange { exchange, .. }) => FactLosses {
                exchanges: count,
                turns: u64::from(exchange.turns),
                ..none
            },
            Posted::Fact(Fact::Begun { .. } | Fact::Left { .. } | Fact::Closed(_)) | Posted::Payload(_) => {
                none
            }
        });
    }

    fn post(&self, posted: &Posted) -> Admission {
        match self.is_dropped {
            true => Admission::Refused,
            false => self.room.admit(posted),
        }
    }
}

impl Posting {
    /// Keeps the payload of `segment` if there is room, otherwise only its length.
    fn keep(&mut self, connection: ConnectionId, segment: &Segment<'_>, waiting: &AtomicU64) {
        let length = segment.payload.len() as u64;
        let room = waiting.load(Ordering::Relaxed) + length <= MAX_PAYLOAD;
        let (bytes, not_kept) = match room {
            true => (segment.payload.to_vec(), 0),
            false => (Vec::new(), length),
        };
        let direction = segment.direction;
        let unseen = &mut self.unseen[direction];
        let payload = Payload {
            connection,
            direction,
            at: segment.at,
            bytes,
            unseen: *unseen + not_kept + segment.unseen,
        };
        let (kept, missing) = (payload.bytes.len() as u64, payload.unseen);
        let posted = Posted::Payload(payload);
        if self.non_blocking_writer.post(&posted) == Admission::Admitted {
            waiting.fetch_add(kept, Ordering::Relaxed);
            *unseen = 0;
            self.non_blocking_writer.sender.send(posted).ok();
        } else {
            *unseen = missing + kept;
        }
    }

    /// Reports payload without room before the connection ends.
    fn report_unseen(&mut self, connection: ConnectionId, event: &ConnectionEvent<'_>) {
        let ConnectionEvent::Closed { at, .. } = event else {
            return;
        };
        for direction in Direction::ALL {
            let unseen = std::mem::take(&mut self.unseen[direction]);
            if unseen > 0 && !self.non_blocking_writer.is_dropped {
                let posted = Posted::Payload(Payload {
                    connection,
                    direction,
                    at: *at,
                    bytes: Vec::new(),
                    unseen,
                });
                self.non_blocking_writer.room.admit_last(&posted);
                self.non_blocking_writer.sender.send(posted).ok();
            }
        }
    }
}

impl Observer for Posting {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        if let Some(waiting) = self.payload.clone() {
            match &event {
                ConnectionEvent::Segment(segment) => self.keep(connection, segment, &waiting),
                event => self.report_unseen(connection, event),
            }
        }
        let non_blocking_writer = &mut self.non_blocking_writer;
        self.connections
            .event(connection, event, &mut |fact| non_blocking_writer.fact(fact));
        non_blocking_writer.flush();
    }
}

const MAX_PAYLOAD: u64 = 64 << 20;
