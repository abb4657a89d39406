//! Reports a session to an observer, with the same events as a relay.

use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Endpoint, Observer, PerDirection,
    Segment, Side, TcpHandshake, Timestamp,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use sys::socket::Socket;
use sys::tcp_info::KernelFigures;

/// Reports traffic, and the end of the session on drop. With TLS, the plain text.
pub struct SessionTap {
    id: ConnectionId,
    observer: Box<dyn Observer + Send>,
    payload_bytes: PerDirection<u64>,
    last: PerDirection<Timestamp>,
    figures: Option<KernelFigures>,
    next_sample: Timestamp,
    sample_interval: Duration,
}

impl SessionTap {
    /// Takes the times before and after `connect`. The observation point is the client.
    pub fn new(
        id: ConnectionId,
        observer: Box<dyn Observer + Send>,
        socket: &Socket,
        tried: Timestamp,
        connected: Timestamp,
    ) -> Self {
        let mut tap = Self {
            id,
            observer,
            payload_bytes: PerDirection::default(),
            last: PerDirection::splat(connected),
            figures: None,
            next_sample: connected.after(FIRST_SAMPLE_AFTER),
            sample_interval: FIRST_SAMPLE_AFTER,
        };
        let endpoint = |address: Option<SocketAddr>| Endpoint {
            address: address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip()),
            port: address.map_or(0, |address| address.port()),
        };
        tap.emit_event(ConnectionEvent::Opened {
            at: tried,
            client: endpoint(socket.stream().local_addr().ok()),
            server: endpoint(socket.peer().ok()),
            sides_certain: true,
        });
        tap.emit_event(ConnectionEvent::Handshake(TcpHandshake {
            syn: tried,
            syn_ack: connected,
            ack: connected,
        }));
        tap.sample(connected, socket);
        tap
    }

    pub fn passed(&mut self, direction: Direction, at: Timestamp, payload: &[u8]) {
        // A stamp may lie a little before a time taken otherwise.
        let last = &mut self.last[direction];
        let at = at.max(*last);
        *last = at;
        self.payload_bytes[direction] += payload.len() as u64;
        self.emit_event(ConnectionEvent::Segment(Segment {
            direction,
            at,
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: None,
        }));
    }

    /// Queries the kernel's round-trip time at the beginning, soon after, and then at growing
    /// intervals.
    pub fn sample_when_due(&mut self, at: Timestamp, socket: &Socket) {
        if at >= self.next_sample {
            self.sample(at, socket);
            self.sample_interval = (self.sample_interval * 2).min(MAX_SAMPLE_INTERVAL);
            self.next_sample = at.after(self.sample_interval);
        }
    }

    pub fn sample(&mut self, at: Timestamp, socket: &Socket) {
        self.figures = socket.info();
        if let Some(rtt) = self.figures.and_then(|figures| figures.min_rtt) {
            self.emit_event(ConnectionEvent::RoundTrip {
                at,
                side: Side::Server,
                rtt,
            });
        }
    }

    fn emit_event(&mut self, event: ConnectionEvent<'_>) {
        self.observer.event(self.id, event);
    }
}

impl Drop for SessionTap {
    fn drop(&mut self) {
        let figures = self.figures.unwrap_or_default();
        let [to_server, to_client] = self.last.into_array();
        let totals = ConnectionTotals {
            payload_bytes: self.payload_bytes,
            packets: figures
                .packets_out
                .zip(figures.packets_in)
                .map(|(out, back)| PerDirection::new(out.into(), back.into())),
            retransmitted_packets: figures.retransmitted.map(u64::from),
            seen: PerDirection::splat(true),
            ..ConnectionTotals::default()
        };
        self.emit_event(ConnectionEvent::Closed {
            at: to_server.max(to_client),
            how: Closing::Finished,
            totals,
        });
    }
}

const FIRST_SAMPLE_AFTER: Duration = Duration::from_millis(10);
const MAX_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
