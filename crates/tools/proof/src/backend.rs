//! Emulated links: of packets or of streams.

use anyhow::Result;
use link::LinkDescription;
use model::LinkOutcome;
use netns::network::{HostId, LinkId, Network};
use netns::sandbox;
use netns::sandbox::{Entered, Sandbox};
use pipeline::progress::ProgressSink;
use relay::replay::{ClientSocket, Ends, ReplayError, client_socket};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;
use sys::listening::{in_namespace, on_loopback};
use sys::{LiveError, OsError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmulationLevel {
    /// Between network namespaces: the kernel's own TCP crosses the link.
    Packet,
    /// Through a relay with a model of TCP.
    Stream,
}

impl EmulationLevel {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Packet => "at packet level: the kernel's own TCP between two namespaces",
            Self::Stream => "at stream level: through a relay with a model of TCP",
        }
    }
}

#[derive(Debug)]
pub enum Backend {
    Packet(Sandbox),
    /// On loopback, through a relay.
    Stream,
}

#[derive(Debug)]
pub enum BackendSearch {
    Here(Backend),
    /// This was the outer process of a sandbox: end with this status.
    Finished(u8),
}

impl Backend {
    /// Finds a backend: packet level where the system allows it, unless another is requested. A note
    /// says why it is not the best level. Call it first, because it may run the program again inside
    /// a sandbox.
    ///
    /// # Errors
    /// When packet level is requested and the system refuses it.
    pub fn find(asked: Option<EmulationLevel>, progress: &dyn ProgressSink) -> Result<BackendSearch> {
        if asked == Some(EmulationLevel::Stream) {
            return Ok(BackendSearch::Here(Self::Stream));
        }
        let found = sandbox::enter().and_then(|entered| match entered {
            Entered::Finished(status) => Ok(BackendSearch::Finished(status)),
            Entered::Inside(sandbox) => {
                // Namespaces alone are not enough: the system may refuse the devices for the links.
                Hosts::new(&sandbox, &LinkDescription::with_rtt(Duration::ZERO))?;
                Ok(BackendSearch::Here(Self::Packet(sandbox)))
            }
        });
        match found {
            Err(error) if asked.is_none() => {
                progress.show_note(&format!(
                    "no packets can be emulated here ({error}), so streams are"
                ));
                Ok(BackendSearch::Here(Self::Stream))
            }
            found => Ok(found?),
        }
    }

    pub fn level(&self) -> EmulationLevel {
        match self {
            Self::Packet(_) => EmulationLevel::Packet,
            Self::Stream => EmulationLevel::Stream,
        }
    }

    /// Makes the link, lets `work` use both ends, and returns the link's own figures.
    pub fn with_link<T>(
        &self,
        link: &LinkDescription,
        work: impl FnOnce(&Ends<'_>) -> Result<T, ReplayError>,
    ) -> Result<(T, LinkOutcome), ReplayError> {
        match self {
            Self::Packet(sandbox) => over_packets(sandbox, link, work),
            Self::Stream => over_streams(link, work),
        }
    }
}

struct Hosts {
    network: Network,
    client: HostId,
    server: HostId,
    link: LinkId,
}

impl Hosts {
    fn new(sandbox: &Sandbox, link: &LinkDescription) -> Result<Self, LiveError> {
        let mut network = Network::new(sandbox)?;
        network.set_congestion_control(predict::CONGESTION_CONTROL);
        network.keep_awake();
        let client = network.add_host("client")?;
        let server = network.add_host("server")?;
        let link = network.add_link(client, server, link)?;
        Ok(Self {
            network,
            client,
            server,
            link,
        })
    }
}

/// Separate hosts for each replay: the kernel remembers metrics of earlier destinations.
fn over_packets<T>(
    sandbox: &Sandbox,
    link: &LinkDescription,
    work: impl FnOnce(&Ends<'_>) -> Result<T, ReplayError>,
) -> Result<(T, LinkOutcome), ReplayError> {
    let Hosts {
        network,
        client,
        server,
        link,
    } = Hosts::new(sandbox, link)?;
    for host in [client, server] {
        // If this fails, the kernel starts later connections with metrics of earlier ones.
        network.within(host, || std::fs::write(NO_METRICS, "1")).ok();
    }
    let address = network.address(server, client).unwrap_or(Ipv4Addr::LOCALHOST);
    let listener = network.within(server, || in_namespace(SocketAddr::from((address, 0))));
    let listener = listener.map_err(|_| refused("listen in a namespace"))?;
    let address = local(&listener)?;
    let open = || network.within(client, || client_socket(&address));
    let done = work(&ends(listener, address, false, &open))?;
    Ok((done, network.outcome(link)))
}

fn over_streams<T>(
    link: &LinkDescription,
    work: impl FnOnce(&Ends<'_>) -> Result<T, ReplayError>,
) -> Result<(T, LinkOutcome), ReplayError> {
    let listener = on_loopback().map_err(|_| refused("listen on the loopback address"))?;
    let server = local(&listener)?;
    let relay = relay::emulate(server.into(), *link)?;
    let address = relay.local_addr();
    let open = || client_socket(&address);
    let done = work(&ends(listener, address, true, &open));
    let outcome = LinkOutcome {
        name: "client-server".to_owned(),
        ..relay.link_outcome().unwrap_or_default()
    };
    relay.stop(Duration::ZERO);
    Ok((done?, outcome))
}

fn ends<'a>(
    listener: TcpListener,
    address: SocketAddr,
    through_relay: bool,
    open: &'a (dyn Fn() -> Result<ClientSocket, LiveError> + Sync),
) -> Ends<'a> {
    Ends {
        listener,
        address,
        through_relay,
        open,
    }
}

fn local(listener: &TcpListener) -> Result<SocketAddr, LiveError> {
    listener
        .local_addr()
        .map_err(|_| refused("get a listener's address"))
}

fn refused(operation: &'static str) -> LiveError {
    LiveError::System {
        operation,
        reason: OsError(0),
    }
}

const NO_METRICS: &str = "/proc/sys/net/ipv4/tcp_no_metrics_save";
