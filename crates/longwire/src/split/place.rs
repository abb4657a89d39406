//! The server behind an emulated link, for `--verify`.

use super::distance::{self, Near, OwnListener};
use super::rounds::{Bench, Round};
use anyhow::{Context, Result};
use link::LinkDescription;
use live::{Clock, Forward, HostId, LinkId, Network, Relay, RelayOptions, Sandbox, Target};
use model::LinkOutcome;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where clients are when the server is behind a link.
#[derive(Debug)]
pub enum Place {
    /// In a network namespace, from which a link of packets is the only way out.
    Packets(Box<Behind>),
    /// On this host, through a relay.
    Stream {
        /// The server.
        server: SocketAddr,
    },
}

/// A host behind a link.
#[derive(Debug)]
pub struct Behind {
    network: Network,
    host: HostId,
    link: LinkId,
    /// Answers echo on this side, to be reached over the link.
    echo: OwnListener,
    server: SocketAddr,
}

impl Place {
    /// A host of a sandbox, behind a link to `server`.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn behind(sandbox: &Sandbox, server: SocketAddr) -> Result<Self> {
        let echo = OwnListener::start(IpAddr::V4(Ipv4Addr::LOCALHOST))?;
        let mut network = Network::new(sandbox)?;
        network.keep_awake();
        let host = network.add_host("clients")?;
        let gateway = network.add_host("gateway")?;
        let link = network.add_link(host, gateway, &LinkDescription::with_rtt(Duration::ZERO))?;
        let mut ports = vec![echo.address().port()];
        if server.ip().is_loopback() {
            ports.push(server.port());
        }
        let forward = |port: u16| Forward {
            inside: port,
            outside: port,
        };
        let forwards: Vec<_> = ports.into_iter().map(forward).collect();
        network.open_gateway(link, &forwards)?;
        // Beyond the gateway 127.0.0.1 stands for ::1 too.
        let server = match server.ip().is_loopback() {
            true => SocketAddr::from((Ipv4Addr::LOCALHOST, server.port())),
            false => server,
        };
        Ok(Self::Packets(Box::new(Behind {
            network,
            host,
            link,
            echo,
            server,
        })))
    }

    /// The round trip of such messages by one stream over the link without any delay.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn floor(&self, sizes: [u32; 2], duration: Duration, stop: &AtomicBool) -> Result<Near> {
        match self {
            Self::Packets(behind) => {
                behind.become_like(&LinkDescription::with_rtt(Duration::ZERO));
                behind.network.within(behind.host, || {
                    let echo = distance::connect(behind.echo.address())?;
                    distance::ask(&echo, sizes, 1, duration, stop)
                })
            }
            Self::Stream { .. } => {
                let listener = OwnListener::start(IpAddr::V4(Ipv4Addr::LOCALHOST))?;
                let relay = relay(listener.address(), &LinkDescription::with_rtt(Duration::ZERO))?;
                let echo = distance::connect(relay.local_addr())?;
                let near = distance::ask(&echo, sizes, 1, duration, stop);
                drop(echo);
                relay.stop(Duration::ZERO);
                near
            }
        }
    }

    /// A round of the workload over the link.
    ///
    /// # Errors
    /// When the server cannot be reached over it.
    pub fn round(
        &self,
        bench: &Bench,
        link: &LinkDescription,
        stations: &[u32],
        stop: &AtomicBool,
    ) -> Result<(Round, Option<LinkOutcome>)> {
        match self {
            Self::Packets(behind) => {
                behind.become_like(link);
                let network = &behind.network;
                let round = network.within(behind.host, || bench.round(stations, behind.server, stop))?;
                Ok((round, Some(network.outcome(behind.link))))
            }
            Self::Stream { server } => {
                let relay = relay(*server, link)?;
                let round = bench.round(stations, relay.local_addr(), stop);
                let outcome = relay.link_outcome();
                relay.stop(Duration::ZERO);
                Ok((round?, outcome))
            }
        }
    }
}

impl Behind {
    fn become_like(&self, link: &LinkDescription) {
        self.network.change_link(self.link, link);
    }
}

fn relay(server: SocketAddr, link: &LinkDescription) -> Result<Relay> {
    let options = RelayOptions {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        target: Target::parse(&format!("tcp://{server}")).context("the server's address")?,
        link: Some(*link),
    };
    Ok(live::relay::start(
        options,
        Clock::anchored_now(),
        Arc::new(crate::verify::Unseen),
    )?)
}
