//! Compares the model with an independent TCP: two smoltcp stacks in virtual time over the same
//! link.
//!
//! smoltcp runs without congestion control (it has no slow start like Linux's), so only cases where
//! slow start makes no difference are compared:
//! * messages of at most ten packets, the initial window: both send them at once;
//! * any size where rate times rtt is at most seven packets: acknowledgements return before ten packets are
//!   serialised, so the link is always full (the first packet must be complete before it travels on, and an
//!   acknowledgement may wait for a second packet).
//!
//! Tolerance: 1 % of the time and 50 us. smoltcp's clock counts whole microseconds, and its
//! acknowledgements leave at other times.

mod made;

use link::{DelayLine, LinkDescription};
use made::{Made, in_sequence};
use model::{Direction, Timestamp};
use predict::{PredictionTarget, WakeUp, replay};
use proptest::prelude::*;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use std::time::Duration;

const ADDRESSES: [IpAddress; 2] = [IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2)];
const PORT: u16 = 5432;
const BUFFER: usize = 65_535;

#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

struct Arrived(Vec<u8>);

struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Sent<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

struct Host {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    to_send: usize,
    to_receive: usize,
}

impl Host {
    fn new(index: usize) -> Self {
        let mut wire = Wire::default();
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses
                .push(IpCidr::new(ADDRESSES[index], 24))
                .expect("room for one");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        socket.set_tsval_generator(Some(|| 1));
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self {
            wire,
            interface,
            sockets,
            socket,
            to_send: 0,
            to_receive: 0,
        }
    }

    fn run(&mut self, now: Instant) {
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
        let socket = self.sockets.get_mut::<tcp::Socket>(self.socket);
        while socket.can_recv() {
            self.to_receive -= socket.recv(|bytes| (bytes.len(), bytes.len())).expect("open");
        }
        if self.to_receive == 0 && self.to_send > 0 && socket.can_send() {
            let piece = [0; BUFFER];
            self.to_send -= socket
                .send_slice(&piece[..self.to_send.min(BUFFER)])
                .expect("open");
        }
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
    }
}

fn by_smoltcp(link: &LinkDescription, request: usize, reply: usize) -> Duration {
    let mut hosts = [Host::new(0), Host::new(1)];
    (hosts[0].to_send, hosts[1].to_receive) = (request, request);
    (hosts[1].to_send, hosts[0].to_receive) = (reply, 0);
    let [client, server] = &mut hosts;
    server
        .sockets
        .get_mut::<tcp::Socket>(server.socket)
        .listen(PORT)
        .expect("free");
    let socket = client.sockets.get_mut::<tcp::Socket>(client.socket);
    socket
        .connect(client.interface.context(), (ADDRESSES[1], PORT), 50_000)
        .expect("free");
    let mut lines = [Direction::ClientToServer, Direction::ServerToClient]
        .map(|direction| DelayLine::<Vec<u8>>::new(link.pipe(direction)));
    let mut now = 0;
    let mut received = false;
    loop {
        for index in 0..2 {
            let host = &mut hosts[index];
            while let Some(packet) = lines[1 - index].release(Timestamp::from_nanos(now)) {
                host.wire.arrived.push_back(packet);
            }
            host.run(Instant::from_micros((now / 1000) as i64));
            for packet in host.wire.sent.drain(..) {
                let bytes = packet.len() as u32;
                lines[index].accept(Timestamp::from_nanos(now), bytes, packet);
            }
        }
        // The reply starts once the request is out.
        if !received && hosts[0].to_send == 0 {
            (received, hosts[0].to_receive) = (true, reply);
        }
        if received && hosts[0].to_receive == 0 {
            return Duration::from_nanos(now);
        }
        now = next_time(&mut hosts, &lines, now);
    }
}

fn next_time(hosts: &mut [Host; 2], lines: &[DelayLine<Vec<u8>>; 2], now: u64) -> u64 {
    let arrivals = lines
        .iter()
        .filter_map(|line| line.next_wake())
        .map(Timestamp::as_nanos);
    let timers: Vec<u64> = hosts
        .iter_mut()
        .filter_map(|host| {
            host.interface
                .poll_at(Instant::from_micros((now / 1000) as i64), &host.sockets)
        })
        .map(|at| at.total_micros() as u64 * 1000)
        .filter(|&at| at > now)
        .collect();
    arrivals
        .chain(timers)
        .min()
        .expect("a transfer that goes on")
        .max(now)
}

fn by_model(link: &LinkDescription, request: usize, reply: usize) -> Duration {
    let exchanges = [Made::handshake(), Made::query(request as u64, reply as u64)];
    let operation = in_sequence(Duration::ZERO, &exchanges);
    replay(
        &operation,
        &PredictionTarget {
            link: *link,
            clients: 1,
        },
        WakeUp::None,
        &|_| true,
    )
    .duration
}

fn agree(link: &LinkDescription, request: usize, reply: usize) -> Result<(), TestCaseError> {
    let (smoltcp, model) = (by_smoltcp(link, request, reply), by_model(link, request, reply));
    let tolerance = smoltcp / 100 + Duration::from_micros(50);
    prop_assert!(
        smoltcp.abs_diff(model) <= tolerance,
        "{link}, {request} -> {reply} bytes: smoltcp {smoltcp:?}, model {model:?}"
    );
    Ok(())
}

fn link(rtt_us: u64, kbit: u64) -> LinkDescription {
    format!("rtt={rtt_us}us rate={kbit}kbit").parse().expect("a link")
}

fn spread(from: f64, to: f64) -> impl Strategy<Value = u64> {
    (from.ln()..to.ln()).prop_map(|exponent| exponent.exp().round() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn messages_within_the_initial_window(
        rtt_us in 0..200_000_u64,
        kbit in spread(1e3, 1e6),
        request in spread(1.0, 14_480.0),
        reply in spread(1.0, 14_480.0),
    ) {
        agree(&link(rtt_us, kbit), request as usize, reply as usize)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn messages_of_any_size_when_the_rate_is_the_limit(
        kbit in spread(1e3, 1e6),
        share in 0.0..1.0_f64,
        request in spread(1.0, 1e5),
        reply in spread(1e3, 1e7),
    ) {
        // Time for seven packets of 1500 bytes.
        let longest_us = 84_000_000 / kbit;
        let rtt_us = (longest_us as f64 * share) as u64;
        agree(&link(rtt_us.min(200_000), kbit), request as usize, reply as usize)?;
    }
}
