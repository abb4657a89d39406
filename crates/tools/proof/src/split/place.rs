//! The server behind an emulated link, for `--verify`.

use super::rounds::{Round, SplitBench, Station};
use anyhow::Result;
use link::LinkDescription;
use model::LinkOutcome;
use netns::{Forward, HostId, LinkId, Network, Sandbox};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use sys::StopToken;

#[derive(Debug)]
pub enum ClientSite {
    /// In a network namespace connected only by a packet link.
    Packets(Box<Behind>),
    /// On this host, through a relay.
    Stream {
        /// Address behind the relay.
        server: SocketAddr,
    },
}

#[derive(Debug)]
pub struct Behind {
    network: Network,
    host: HostId,
    link: LinkId,
    server: SocketAddr,
}

impl ClientSite {
    pub fn behind(sandbox: &Sandbox, server: SocketAddr) -> Result<Self> {
        let mut network = Network::new(sandbox)?;
        network.keep_awake();
        let host = network.add_host("clients")?;
        let gateway = network.add_host("gateway")?;
        let link = network.add_link(host, gateway, &LinkDescription::with_rtt(Duration::ZERO))?;
        let forward = server.ip().is_loopback().then(|| Forward {
            inside: server.port(),
            outside: server.port(),
        });
        network.open_gateway(link, forward.as_slice())?;
        // Beyond the gateway, 127.0.0.1 also stands for ::1.
        let server = match server.ip().is_loopback() {
            true => SocketAddr::from((Ipv4Addr::LOCALHOST, server.port())),
            false => server,
        };
        Ok(Self::Packets(Box::new(Behind {
            network,
            host,
            link,
            server,
        })))
    }

    /// The emulator's own round-trip time, which it subtracts from a requested delay. A link
    /// without delay still has it.
    pub fn taken_off(&self) -> Duration {
        match self {
            Self::Packets(behind) => behind.network.taken_off(behind.link),
            Self::Stream { .. } => Duration::ZERO,
        }
    }

    pub fn round(
        &self,
        bench: &SplitBench,
        link: &LinkDescription,
        stations: &[Station],
        stop: &StopToken,
    ) -> Result<(Round, Option<LinkOutcome>)> {
        match self {
            Self::Packets(behind) => {
                behind.become_like(link);
                let network = &behind.network;
                let round =
                    network.within(behind.host, || bench.round(stations, Some(behind.server), stop))?;
                Ok((round, Some(network.outcome(behind.link))))
            }
            Self::Stream { server } => {
                let relay = relay::emulate((*server).into(), *link)?;
                let round = bench.round(stations, Some(relay.local_addr()), stop);
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
