//! The gateway of a network: a host that answers for every outside address.
//!
//! ```text
//! process - TCP - link -> packet filter: holds a SYN back -> event loop: connects outside, releases it
//!              -> TCP of the gateway - event loop: copies - connection of this process - outside
//! ```
//!
//! No address is translated and no packet leaves the system: the event loop accepts the connection
//! from the gateway's kernel, and has a separate one outside. Start reading at `event_loop.rs`.

mod answers;
mod event_loop;
mod names;
pub(super) mod packet_filter;
mod pair;

use super::addresses::Wire;
use super::device::Device;
use super::forwarder::{Order, Orders};
use super::namespace::{self, Namespace};
use super::{netlink, system};
use event_loop::GatewayLoop;
use packet_filter::PacketFilter;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use sys::poller::Waker;
use sys::{LiveError, OsError};

/// A loopback port that is the system's, inside too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    pub inside: u16,
    pub outside: u16,
}

#[derive(Debug)]
pub(super) struct Site {
    pub(super) link: usize,
    pub(super) address: Ipv4Addr,
    pub(super) namespace: Namespace,
    pub(super) device: Arc<Device>,
    pub(super) orders: Orders,
    pub(super) forwards: Vec<Forward>,
}

#[derive(Debug)]
pub(super) struct Gateway {
    over: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    pub(super) fn open(site: Site) -> Result<Self, LiveError> {
        let waker = Arc::new(Waker::new()?);
        let over = Arc::new(AtomicBool::new(false));
        let (sender, held) = sync_channel(MAX_HELD_PACKETS);
        let packet_filter = PacketFilter::new(site.address, sender, Arc::clone(&waker));
        let (orders, link) = (site.orders.clone(), site.link);
        let mut event_loop = GatewayLoop::new(site, held, &waker, Arc::clone(&over))?;
        let thread = std::thread::Builder::new()
            .name("longwire gateway".to_owned())
            .spawn(move || event_loop.run())
            .map_err(|error| system("start a thread")(OsError::from_io_error(&error)))?;
        orders.give(Order::PacketFilter(link, packet_filter));
        Ok(Self {
            over,
            waker,
            thread: Some(thread),
        })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Routes all traffic of the inside host to the link, including connections to forwarded ports.
pub(super) fn prepare_inside(wire: &Wire, forwards: &[Forward]) -> Result<(), LiveError> {
    netlink::add_default_route(&wire.device)?;
    if forwards.is_empty() {
        return Ok(());
    }
    let ports: Vec<u16> = forwards.iter().map(|forward| forward.inside).collect();
    allow_loopback_on(&wire.device)?;
    netlink::send_out_loopback_ports(&ports, &wire.device, wire.addresses[0])
}

/// Makes every address local to the gateway.
pub(super) fn prepare_outside(wire: &Wire) -> Result<(), LiveError> {
    allow_loopback_on(&wire.device)?;
    netlink::own_every_address(wire.addresses[0], &wire.device)
}

fn allow_loopback_on(device: &str) -> Result<(), LiveError> {
    for setting in ["route_localnet", "accept_local"] {
        namespace::set(&format!("ipv4/conf/{device}/{setting}"), "1")
            .map_err(|error| system("let 127.0.0.1 pass the link")(OsError::from_io_error(&error)))?;
    }
    Ok(())
}

/// Further packets are dropped, and their senders repeat them.
const MAX_HELD_PACKETS: usize = 4096;
