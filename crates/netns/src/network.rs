//! Hosts and links on this machine: real kernels' TCP over packets that longwire holds back.
//!
//! A host is a network namespace. A link is a pair of TUN devices, one in each of its two hosts; every packet
//! that a host sends on it is read by one thread (`forwarder`), put into the link's `link::DelayLine` at the
//! time it was read, and written to the other host when it is due. Both hosts use the system's own TCP, so
//! handshakes, windows, losses and retransmissions are not a model's.
//!
//! ```text
//! host a: process - kernel TCP - TUN device -> forwarder: queues of the link -> TUN device - kernel TCP - process: host b
//! ```
//!
//! Nothing of it outlives the process: namespaces and devices go with their last descriptor.

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
use model::LinkOutcome;
use namespace::Namespace;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;
use sys::{LiveError, OsError};

pub use addresses::{DEPTH, depth_inside};
pub use gateway::Forward;

/// A host of a [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostId(usize);

/// A link of a [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkId(usize);

/// Hosts and the links between them, and the thread that forwards. All of it is gone when the value is
/// dropped, except for processes still running in a host.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<Host>,
    topology: Topology,
    devices: Vec<[Arc<Device>; 2]>,
    /// Before the forwarder, which it is dropped before.
    gateways: Vec<Gateway>,
    forwarder: Forwarder,
    floor: Option<Duration>,
    /// Of each link with a gateway: what both together add to an exchange.
    gateway_floors: Vec<(LinkId, Duration)>,
    congestion_control: Option<&'static str>,
    present: Mutex<Vec<Present>>,
}

/// What a link is at present.
#[derive(Debug, Clone, Copy)]
struct Present {
    link: LinkDescription,
    /// Packets that its devices had dropped when it became so.
    dropped_before: [u64; 2],
}

#[derive(Debug)]
struct Host {
    name: String,
    namespace: Namespace,
}

impl Network {
    /// A network without hosts; starts its forwarding thread.
    ///
    /// # Errors
    /// When the system gives no thread or descriptors.
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

    /// Makes the hosts' TCP over links added from now on send as `name` says (`cubic`, `bbr`, `reno`),
    /// whatever this system's default is: what predictions are compared with must send as they assume.
    /// Connections that choose for themselves (`TCP_CONGESTION`) still do.
    pub const fn set_congestion_control(&mut self, name: &'static str) {
        self.congestion_control = Some(name);
    }

    /// Keeps this machine's processors awake while packets are on a link, so that it is the link that hosts
    /// wait for and not the machine's sleep. Takes what no other thread wants of at most eight of them.
    pub fn keep_awake(&self) {
        self.forwarder.order(Order::KeepAwake);
    }

    /// Adds a host: a network namespace with its loopback up, and nothing else.
    ///
    /// Its ports below 1024 and its `ping` need no privilege.
    ///
    /// # Errors
    /// When the system refuses the namespace.
    pub fn add_host(&mut self, name: &str) -> Result<HostId, LiveError> {
        let namespace = Namespace::make()?;
        self.hosts.push(Host {
            name: name.to_owned(),
            namespace,
        });
        self.topology.add_host();
        Ok(HostId(self.hosts.len() - 1))
    }

    /// Joins two hosts. `a` is the client's side: what it sends goes client-to-server. Every host then
    /// reaches every other one that links lead to; hosts in between forward.
    ///
    /// # Errors
    /// When the devices cannot be made.
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
        let devices = [
            end(a, wire.addresses[0], wire.addresses[1])?,
            end(b, wire.addresses[1], wire.addresses[0])?,
        ];
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
            dropped_before: [0; 2],
        });
        self.change_link(id, link);
        Ok(id)
    }

    /// What this machine adds to a round trip, measured over the first link before its delay applies. It
    /// becomes part of the delay requested: packets count as on the link since half of it before the
    /// forwarder reads them.
    fn measure_floor(&mut self, host: HostId, peer: Ipv4Addr) {
        self.floor = self.within(host, || floor::measure(peer));
        let handling = self.floor.unwrap_or_default() / 2;
        self.forwarder.order(Order::Handling(handling.min(MAX_HANDLING)));
    }

    /// Makes the `b` host of the link the way out of its `a` host, as far as TCP and names go.
    ///
    /// - TCP to an address of the outside is connected from the system's own network, by this process; a
    ///   refusal is a refusal. The connection of the host inside ends at the gateway, over the link, with the
    ///   kernel's TCP.
    /// - TCP to the gateway's address reaches 127.0.0.1 of the system, or else ::1, or else its own address.
    /// - TCP to 127.0.0.1 and a port of `forwards` reaches 127.0.0.1 of the system, over the link.
    /// - UDP to port 53 reaches the server it is for; to the gateway's port 53, the system's own resolver.
    /// - Nothing else leaves: other UDP is refused, pings are answered by the gateway for its own address
    ///   only, and there is no IPv6.
    ///
    /// # Errors
    /// When the system refuses the routes or a thread.
    pub fn open_gateway(&mut self, link: LinkId, forwards: &[Forward]) -> Result<(), LiveError> {
        let wire = self.topology.wires()[link.0].clone();
        let [inside, gateway] = wire.hosts;
        self.within(HostId(inside), || gateway::prepare_inside(&wire, forwards))?;
        self.within(HostId(gateway), || gateway::prepare_outside(&wire))?;
        let site = gateway::Site {
            link: link.0,
            address: wire.addresses[1],
            namespace: self.hosts[gateway].namespace.clone(),
            device: Arc::clone(&self.devices[link.0][1]),
            orders: self.forwarder.orders(),
            forwards: forwards.to_vec(),
        };
        self.gateways.push(Gateway::open(site)?);
        self.measure_gateway(link);
        Ok(())
    }

    /// What link and gateway together add to an exchange over TCP, measured without delay on the link: it
    /// becomes part of the delay requested, as [`Network::measure_floor`] has it for the link alone.
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

    /// What this machine adds to a round trip over the link without delay: with its gateway where it has one.
    fn floor_of(&self, link: LinkId) -> Option<Duration> {
        let of_gateway = self.gateway_floors.iter().find(|(of, _)| *of == link);
        of_gateway.map(|(_, floor)| *floor).or(self.floor)
    }

    /// What of its floor is taken off the delay requested, both ways together, as long as there is a delay:
    /// so much less than asked comes to an exchange over the link without delay.
    pub fn taken_off(&self, link: LinkId) -> Duration {
        let with_gateway = self.gateway_floors.iter().any(|(of, _)| *of == link);
        let most = if with_gateway {
            MAX_GATEWAY_HANDLING
        } else {
            MAX_HANDLING
        };
        self.floor_of(link).unwrap_or_default().min(most * 2)
    }

    /// The address of `host` on its link to `peer`; `None` if no link joins them.
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

    /// Makes `command` start in `host`, without the rights that this process has over the network.
    pub fn run_in(&self, host: HostId, command: &mut Command) {
        self.hosts[host.0].namespace.make_home_of(command);
    }

    /// Runs `work` on a thread of `host`: sockets it makes belong to that host. Waits for it.
    ///
    /// # Panics
    /// When `work` does, or when the host cannot be entered (the system has no thread left).
    pub fn within<T: Send>(&self, host: HostId, work: impl FnOnce() -> T + Send) -> T {
        self.hosts[host.0].namespace.within(work)
    }

    /// From the next packet on the link is like this; packets on their way arrive as planned. Counters
    /// restart.
    ///
    /// The mtu of the devices stays: it is a property of the hosts' connections.
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

    /// Packets of each direction that a host dropped because the forwarder, or the host that receives them,
    /// had not yet dealt with those before them. Those that TCP sent as one count as one.
    fn dropped_by_devices(&self, link: LinkId) -> [u64; 2] {
        let wire = &self.topology.wires()[link.0];
        let dropped = |host| self.within(HostId(host), || namespace::dropped_packets(&wire.device));
        let [[received_a, sent_a], [received_b, sent_b]] = wire.hosts.map(dropped);
        [sent_a + received_b, sent_b + received_a]
    }

    /// Writes what passes the link to `file` from now on: pcap with nanoseconds, raw IP, seen at the link's
    /// `a` side (packets of `a` when they enter the link, packets to `a` when they leave it). A capture that
    /// runs is stopped.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn start_capture(&self, link: LinkId, file: &Path) -> Result<(), LiveError> {
        let tap = CaptureTap::start(file)?;
        self.finish_capture(link, Some(tap))
    }

    /// Ends the capture of the link; the file is complete when this returns. Without a capture nothing
    /// happens.
    ///
    /// # Errors
    /// When the file could not be written, or the writer could not keep pace so that packets are missing in
    /// it.
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

    /// What was requested and what was realised, since the last change of the link.
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
        for (way, (now, before)) in outcome.directions.iter_mut().zip(dropped.into_iter().zip(before)) {
            way.dropped_unasked += now.saturating_sub(before);
        }
        outcome
    }

    /// Every host gets a route to every address it lacks one for, and forwards when it has two links.
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

/// More than this is not taken as the machine's usual handling: it was busy when the floor was measured.
const MAX_HANDLING: Duration = Duration::from_micros(150);

/// The same with a gateway, which has more to do.
const MAX_GATEWAY_HANDLING: Duration = Duration::from_micros(150);

/// Bits per second from which a link's receiving hosts need a processor besides the forwarder's: on a slower
/// one, packets are received as soon as they are handed over, without the way to another processor.
const FAST: u64 = 200_000_000;

/// How long the gateway may take to answer its own process.
const REACH: Duration = Duration::from_secs(2);

fn system(operation: &'static str) -> impl Fn(OsError) -> LiveError {
    move |reason| LiveError::System { operation, reason }
}
