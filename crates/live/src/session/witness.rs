//! A session as an observer sees it: the same events as of a relay.

use crate::socket::Socket;
use model::{
    Closing, ConnectionEvent, ConnectionId, Direction, Endpoint, Handshake, Observer, Segment, Timestamp,
    Totals,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Tells an observer of a session what passes on it, and of its end when it is dropped. With TLS, the plain text.
pub(crate) struct Witness {
    id: ConnectionId,
    observer: Box<dyn Observer + Send>,
    payload_bytes: [u64; 2],
    last: Timestamp,
}

impl Witness {
    /// Of a connection that was begun at `tried` and made at `connected`. The observation point is the client.
    pub(crate) fn new(
        id: ConnectionId,
        observer: Box<dyn Observer + Send>,
        socket: &Socket,
        tried: Timestamp,
        connected: Timestamp,
    ) -> Self {
        let mut witness = Self {
            id,
            observer,
            payload_bytes: [0; 2],
            last: connected,
        };
        let endpoint = |address: Option<SocketAddr>| Endpoint {
            address: address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip()),
            port: address.map_or(0, |address| address.port()),
        };
        witness.tell(ConnectionEvent::Opened {
            at: tried,
            client: endpoint(socket.stream().local_addr().ok()),
            server: endpoint(socket.peer().ok()),
            sides_certain: true,
        });
        witness.tell(ConnectionEvent::Handshake(Handshake {
            syn: tried,
            syn_ack: connected,
            ack: connected,
        }));
        witness
    }

    /// Bytes passed.
    pub(crate) fn passed(&mut self, direction: Direction, at: Timestamp, payload: &[u8]) {
        self.last = self.last.max(at);
        self.payload_bytes[direction.index()] += payload.len() as u64;
        self.tell(ConnectionEvent::Segment(Segment {
            direction,
            at,
            payload,
            unseen: 0,
            sender_idle: None,
        }));
    }

    fn tell(&mut self, event: ConnectionEvent<'_>) {
        self.observer.event(self.id, event);
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let totals = Totals {
            payload_bytes: self.payload_bytes,
            seen: [true, true],
            ..Totals::default()
        };
        self.tell(ConnectionEvent::Closed {
            at: self.last,
            how: Closing::Finished,
            totals,
        });
    }
}
