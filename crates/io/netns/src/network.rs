//! Hosts and links on this machine: the kernel's TCP over delayed packets.
//!
//! A host is a network namespace. A link is a pair of TUN devices, one in each of two hosts. One
//! thread (`forwarder`) reads every packet, puts it into the link's `link::DelayLine`, and writes
//! it to the other host when it is due. Handshakes, windows, losses and retransmissions are those
//! of the kernel's TCP.
//!
//! ```text
//! process - TCP - TUN device -> forwarder: queues of the link -> TUN device - TCP - process
//! ```
//!
//! Namespaces and devices end with their last descriptor, so they never outlive the process.

mod addresses;
mod awake;
mod capture;
mod device;
mod floor;
mod forwarder;
mod gateway;
mod lateness;
mod link_direction;
mod namespace;
mod netlink;
mod packets;
mod segmentation;
mod waiting;

use crate::sandbox::Sandbox;
use addresses::{Route, Topology, Wire};
use capture::CaptureTap;
use device::Device;
use forwarder::{Forwarder, LinkSetup, Order};
use gateway::Gateway;
use link::LinkDescription;
use model::{LinkOutcome, PerDirection, PerSide, Side};
use namespace::Namespace;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;
use sys::{LiveError, OsError};

pub use addresses::{DEPTH, depth_inside};
pub use gateway::Forward;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostId(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkId(usize);

/// Ends when dropped, except for processes still running in a host.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<Host>,
    topology: Topology,
    devices: Vec<PerSide<Arc<Device>>>,
    /// Before the forwarder, which must be dropped later.
    gateways: Vec<Gateway>,
    forwarder: Forwarder,
    floor: Option<Duration>,
    /// Time added to an exchange, of links with a gateway.
    gateway_floors: Vec<(LinkId, Duration)>,
    congestion_control: Option<&'static str>,
    present: Mutex<Vec<Present>>,
}

#[derive(Debug, Clone, Copy)]
struct Present {
    link: LinkDescription,
    dropped_before: PerDirection<u64>,
}

#[derive(Debug)]
struct Host {
    name: String,
    namespace: Namespace,
}

impl Network {
    pub fn new(_sandbox: &Sandbox) -> Result<Self, LiveError> {
        Ok(Self {
            hosts: Vec::new(),
            topology: Topology::new(addresses::free_block()),
            devices: Vec::new(),
            gateways: Vec::new(),
            forwarder: Forwarder::start()?,
            floor: None,
            gateway_floors: Vec::new(),
            congestion_control: None,
            present: Mutex::default(),
        })
    }

    /// Applies to links added from now on (`cubic`, `bbr`, `reno`), because predictions assume one
    /// algorithm. Connections that set `TCP_CONGESTION` keep their own.
    pub const fn set_congestion_control(&mut self, name: &'static str) {
        self.congestion_control = Some(name);
    }

    /// Keeps at most eight processors awake while packets are on a link, so that hosts wait for the
    /// link and not for a wake-up.
    pub fn keep_awake(&self) {
        self.forwarder.order(Order::KeepAwake);
    }

    /// Adds a network namespace with its loopback up. Its ports below 1024 and its `ping` need no
    /// privilege.
    pub fn add_host(&mut self, name: &str) -> Result<HostId, LiveError> {
        let namespace = Namespace::make()?;
        self.hosts.push(Host {
            name: name.to_owned(),
            namespace,
        });
        self.topology.add_host();
        Ok(HostId(self.hosts.len() - 1))
    }

    /// Joins two hosts, where traffic from `a` is client-to-server. Every host then reaches all
    /// connected hosts; hosts with several links forward.
    pub fn add_link(&mut self, a: HostId, b: HostId, link: &LinkDescription) -> Result<LinkId, LiveError> {
        let id = LinkId(self.topology.wires().len());
        let wire = self.topology.add_wire(a.0, b.0)?;
        let rate = link.rate.iter().flatten().max();
        let processors = match rate.is_some_and(|rate| rate.as_bits_per_second() >= FAST) {
            true => awake::processors(),
            false => Vec::new(),
        };
        let end = |host: HostId, own, peer| {
            let device = &wire.device;
            let made = self.within(host, || {
                namespace::receive_on(&processors);
                Device::make(device, own, peer, link.mtu)
            });
            made.map(Arc::new)
        };
        let devices = PerSide::new(
            end(a, wire.addresses[0], wire.addresses[1])?,
            end(b, wire.addresses[1], wire.addresses[0])?,
        );
        for (side, host) in [a, b].into_iter().enumerate() {
            let route = Route {
                to: wire.addresses[1 - side],
                device: wire.device.clone(),
            };
            self.within(host, || netlink::set_route(&route, self.congestion_control))?;
        }
        self.update_routes()?;
        let name = format!("{}-{}", self.hosts[a.0].name, self.hosts[b.0].name);
        self.devices.push(devices.clone());
        self.forwarder.order(Order::AddLink(Box::new(LinkSetup {
            name,
            link: LinkDescription::with_rtt(Duration::ZERO),
            devices,
        })));
        if id == LinkId(0) {
            self.measure_floor(a, wire.addresses[1]);
        }
        self.present_now().push(Present {
            link: *link,
            dropped_before: PerDirection::default(),
        });
        self.change_link(id, link);
        Ok(id)
    }

    /// Measures this machine's share of a round trip, over the first link before its delay applies.
    /// It is part of the requested delay: packets count as on the link for half of it before the
    /// forwarder reads them.
    fn measure_floor(&mut self, host: HostId, peer: Ipv4Addr) {
        self.floor = self.within(host, || floor::measure(peer));
        let handling = self.floor.unwrap_or_default() / 2;
        self.forwarder.order(Order::Handling(handling.min(MAX_HANDLING)));
    }

    /// Makes host `b` of the link the gateway of host `a` to the outside, for TCP and names.
    ///
    /// - TCP to an outside address is connected from the system's own network, by this process; a
    ///   refusal is passed to the client. The inside connection ends at the gateway, over the link,
    ///   with the kernel's TCP.
    /// - TCP to the gateway's address reaches 127.0.0.1 of the system, or else ::1, or else its own
    ///   address.
    /// - TCP to 127.0.0.1 and a port of `forwards` reaches 127.0.0.1 of the system, over the link.
    /// - UDP to port 53 reaches its server; to the gateway's port 53, the system's own resolver.
    /// - All else is blocked: other UDP is refused, the gateway answers pings for its own address
    ///   only, and there is no IPv6.
    ///
    /// # Errors
    /// If the system refuses the routes or a thread.
    pub fn open_gateway(&mut self, link: LinkId, forwards: &[Forward]) -> Result<(), LiveError> {
        let wire = self.topology.wires()[link.0].clone();
        let [inside, gateway] = wire.hosts;
        self.within(HostId(inside), || gateway::prepare_inside(&wire, forwards))?;
        self.within(HostId(gateway), || gateway::prepare_outside(&wire))?;
        let site = gateway::Site {
            link: link.0,
            address: wire.addresses[1],
            namespace: self.hosts[gateway].namespace.clone(),
            device: Arc::clone(&self.devices[link.0][Side::Server]),
            orders: self.forwarder.orders(),
            forwards: forwards.to_vec(),
        };
        self.gateways.push(Gateway::open(site)?);
        self.measure_gateway(link);
        Ok(())
    }

    /// The time that link and gateway add to a TCP exchange without delay on the link becomes part
    /// of the requested delay, as in [`Network::measure_floor`].
    fn measure_gateway(&mut self, link: LinkId) {
        let Some(asked) = self.present_now().get(link.0).map(|present| present.link) else {
            return;
        };
        let wire = &self.topology.wires()[link.0];
        let (inside, gateway) = (HostId(wire.hosts[0]), wire.addresses[1]);
        self.change_link(link, &LinkDescription::with_rtt(Duration::ZERO));
        let added = floor::measure_gateway(|port| {
            let there = SocketAddr::from((gateway, port));
            self.within(inside, || TcpStream::connect_timeout(&there, REACH))
        });
        if let Some(added) = added {
            let handling = (added / 2).min(MAX_GATEWAY_HANDLING);
            self.forwarder.order(Order::GatewayHandling(link.0, handling));
            self.gateway_floors.push((link, added));
        }
        self.change_link(link, &asked);
    }

    fn floor_of(&self, link: LinkId) -> Option<Duration> {
        let of_gateway = self.gateway_floors.iter().find(|(of, _)| *of == link);
        of_gateway.map(|(_, floor)| *floor).or(self.floor)
    }

    /// The part of the floor subtracted from the requested delay, both ways together. Compared with
    /// a link without delay, an exchange is slower by the requested delay minus this.
    pub fn taken_off(&self, link: LinkId) -> Duration {
        let with_gateway = self.gateway_floors.iter().any(|(of, _)| *of == link);
        let most = if with_gateway {
            MAX_GATEWAY_HANDLING
        } else {
            MAX_HANDLING
        };
        self.floor_of(link).unwrap_or_default().min(most * 2)
    }

    /// `None` if no link joins them.
    pub fn address(&self, host: HostId, peer: HostId) -> Option<Ipv4Addr> {
        self.topology.wires().iter().find_map(|wire| {
            let Wire { hosts, addresses, .. } = wire;
            if *hosts == [host.0, peer.0] {
                Some(addresses[0])
            } else if *hosts == [peer.0, host.0] {
                Some(addresses[1])
            } else {
                None
            }
        })
    }

    /// Without this process's rights over the network.
    pub fn run_in(&self, host: HostId, command: &mut Command) {
        self.hosts[host.0].namespace.make_home_of(command);
    }

    /// Runs `work` on a thread of `host`, so that its sockets belong to that host.
    ///
    /// # Panics
    /// If `work` does, or if the host cannot be entered (the system has no thread left).
    pub fn within<T: Send>(&self, host: HostId, work: impl FnOnce() -> T + Send) -> T {
        self.hosts[host.0].namespace.within(work)
    }

    /// Applies from the next packet on, and restarts the counters. The devices keep their mtu, a
    /// property of the hosts' connections.
    pub fn change_link(&self, link: LinkId, to: &LinkDescription) {
        let dropped = self.dropped_by_devices(link);
        if let Some(present) = self.present_now().get_mut(link.0) {
            *present = Present {
                link: *to,
                dropped_before: dropped,
            };
        }
        self.forwarder.order(Order::Change(link.0, *to));
    }

    fn present_now(&self) -> MutexGuard<'_, Vec<Present>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops per direction, when the forwarder or the receiving host lags. Packets that TCP sent as
    /// one count as one.
    fn dropped_by_devices(&self, link: LinkId) -> PerDirection<u64> {
        let wire = &self.topology.wires()[link.0];
        let dropped = |host| self.within(HostId(host), || namespace::dropped_packets(&wire.device));
        let [a, b] = wire.hosts.map(dropped);
        PerDirection::new(a.sent + b.received, b.sent + a.received)
    }

    /// Writes pcap with nanoseconds and raw IP, seen at the link's `a` side (packets of `a` when
    /// they enter the link, packets to `a` when they leave it). Stops a running capture.
    pub fn start_capture(&self, link: LinkId, file: &Path) -> Result<(), LiveError> {
        let tap = CaptureTap::start(file)?;
        self.finish_capture(link, Some(tap))
    }

    /// Returns when the file is complete.
    ///
    /// # Errors
    /// If the file could not be written, or packets are missing in it because the writer lagged.
    pub fn stop_capture(&self, link: LinkId) -> Result<(), LiveError> {
        self.finish_capture(link, None)
    }

    fn finish_capture(&self, link: LinkId, next: Option<CaptureTap>) -> Result<(), LiveError> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.forwarder.order(Order::Capture(link.0, next, reply));
        match answer.recv() {
            Ok(Some(tap)) => tap.finish(),
            _ => Ok(()),
        }
    }

    /// Since the last change of the link.
    pub fn outcome(&self, link: LinkId) -> LinkOutcome {
        let (reply, answer) = mpsc::sync_channel(1);
        self.forwarder.order(Order::Outcome(link.0, reply));
        let mut outcome = answer.recv().ok().flatten().unwrap_or_default();
        outcome.floor = self.floor_of(link);
        let dropped = self.dropped_by_devices(link);
        let before = self
            .present_now()
            .get(link.0)
            .map(|present| present.dropped_before);
        let before = before.unwrap_or_default();
        for (way, (now, before)) in outcome.directions.iter_mut().zip(dropped.zip(before)) {
            way.dropped_unasked += now.saturating_sub(before);
        }
        outcome
    }

    fn update_routes(&mut self) -> Result<(), LiveError> {
        for (host, route) in self.topology.missing_routes() {
            self.within(HostId(host), || {
                netlink::set_route(&route, self.congestion_control)
            })?;
        }
        for host in self.topology.hosts_between() {
            self.within(HostId(host), namespace::forward_packets)?;
        }
        Ok(())
    }
}

/// A longer time was measured on a busy machine.
const MAX_HANDLING: Duration = Duration::from_micros(150);

const MAX_GATEWAY_HANDLING: Duration = Duration::from_micros(150);

/// In bits per second. A faster link needs a processor for receiving hosts besides the forwarder's;
/// on a slower one, packets are received sooner without the way to another processor.
const FAST: u64 = 200_000_000;

/// For the gateway to answer its own process.
const REACH: Duration = Duration::from_secs(2);

fn system(operation: &'static str) -> impl Fn(OsError) -> LiveError {
    move |reason| LiveError::System { operation, reason }
}
