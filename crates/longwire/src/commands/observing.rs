//! Flags of commands that observe: of relays, of interfaces and of exports.

use super::keys_flag::KeyLogArgument;
use anyhow::{Result, ensure};
use live::address::to_serve;
use live::exporting::{ExportPlan, otlp_settings};
use live::interface::{InterfacePlan, parse_ring};
use live::sparing::Sparing;
use live::targets::{PlannedRelay, RelayTexts};
use model::ByteCount;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use sys::listening::PlainClients;

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct RelayArgs {
    /// The servers, each with its own relay: a URL (tcp://HOST:PORT for any), a jdbc: URL or a
    /// libpq key=value string. The application itself, as http://HOST:PORT, receives its requests
    /// through the relay; it may start later.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Listening address for the application: PORT of 127.0.0.1, ADDRESS or ADDRESS:PORT. Repeat it
    /// for several targets, in their order or by name (redis=6380). Default: a free port of
    /// 127.0.0.1.
    #[arg(long, value_name = "[NAME=]ADDRESS")]
    pub listen: Vec<String>,
    /// Add this delay to every target except http: 40ms, 'rtt=40ms rate=10mbit', or in tc's form:
    /// 'delay 20ms 2ms loss 0.1%'. Each target gets its own link. 'postgres=rtt=40ms' is for one
    /// target. See docs/links.md.
    #[arg(long, value_name = "[NAME=]LINK")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub plain_clients: PlainClientsArg,
}

impl RelayArgs {
    /// Plans one relay for each target.
    ///
    /// # Errors
    /// When a target, an address or a link cannot be parsed, or matches no target.
    pub fn plan(&self) -> Result<Vec<PlannedRelay>> {
        let texts = RelayTexts {
            targets: self.targets.clone(),
            listen: self.listen.clone(),
            link: self.link.clone(),
            plain_clients: self.plain_clients.choice(),
        };
        texts.plan()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct SparingArgs {
    /// Measure what the remedy of one finding gives: in every second operation, the round trips that
    /// it removes pass without the link's delay. A statement (all executions of an operation but the
    /// first; ... stands for any text), n+1, row-by-row, unrewritten-batch, reconnect, or control,
    /// which spares nothing. See docs/links.md.
    #[arg(long, value_name = "FINDING|STATEMENT|control", requires = "link")]
    pub spare: Option<String>,
}

impl SparingArgs {
    /// # Errors
    /// When it cannot be spared.
    pub fn plan(&self, planned: &[PlannedRelay], keeps_literals: bool) -> Result<Option<Arc<Sparing>>> {
        let by_request = planned.iter().any(PlannedRelay::is_application);
        let links = planned.iter().filter_map(|planned| planned.link);
        let longest = links.map(|link| link.rtt).max().unwrap_or_default();
        let spare = self.spare.as_deref();
        spare
            .map(|spare| Sparing::new(spare, keeps_literals, by_request, longest))
            .transpose()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
pub struct PlainClientsArg {
    /// Allow plain-text clients from other machines although longwire encrypts the connection to
    /// the server. Refused by default.
    #[arg(long)]
    pub allow_plain_clients: bool,
}

impl PlainClientsArg {
    pub const fn choice(self) -> PlainClients {
        match self.allow_plain_clients {
            true => PlainClients::Allowed,
            false => PlainClients::Refused,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct InterfaceArgs {
    /// Capture at this network interface instead of relaying; can be repeated, `any` for all. Needs
    /// the right to capture (CAP_NET_RAW). TARGETs limit it to packets of their servers. See
    /// docs/interface.md.
    #[arg(long, value_name = "NAME|any")]
    pub interface: Vec<String>,
    /// Only packets from or to this TCP port; can be repeated.
    #[arg(long, value_name = "PORT", requires = "interface")]
    pub port: Vec<u16>,
    /// Only packets that match this expression in the language of tcpdump: host, net, port,
    /// portrange, src, dst, ip, ip6, and, or, not, ().
    #[arg(long, value_name = "EXPRESSION", requires = "interface")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub keys: KeyLogArgument,
    /// Decrypt the command's own TLS connections at an interface. The command writes their keys to
    /// memory, never to disk. docs/keys.md lists supported programs.
    #[arg(long, requires = "interface", requires = "command", conflicts_with = "keys")]
    pub keys_from_command: bool,
    /// Size of the buffer for captured packets: 2MiB to 2048MiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_ring, requires = "interface", default_value = "64MiB")]
    pub ring: ByteCount,
    /// Also write the packets to a pcapng file that only its owner may read. It holds all captured
    /// data, secrets too.
    #[arg(long, value_name = "FILE", requires = "interface")]
    pub write_pcap: Option<PathBuf>,
    /// At this size, rename that file to FILE.1, replacing the previous one, and begin a new one.
    #[arg(long, value_name = "SIZE", value_parser = ByteCount::parse, requires = "write_pcap")]
    pub write_pcap_size: Option<ByteCount>,
}

impl InterfaceArgs {
    pub fn is_given(&self) -> bool {
        !self.interface.is_empty()
    }

    /// Refuses flags of a relay.
    ///
    /// # Errors
    /// When one was given.
    pub fn refuse_relay_flags(&self, relays: &RelayArgs) -> Result<()> {
        ensure!(
            relays.listen.is_empty() && relays.link.is_empty() && !relays.plain_clients.allow_plain_clients,
            "--listen, --link and --allow-plain-clients are of a relay, and with --interface there is none: leave out either these or --interface"
        );
        Ok(())
    }

    pub fn plan(&self) -> InterfacePlan {
        InterfacePlan {
            names: self.interface.clone(),
            ports: self.port.clone(),
            filter: self.filter.clone(),
            keys: self.keys.keys.clone(),
            keys_from_command: self.keys_from_command,
            ring: self.ring,
            write_pcap: self.write_pcap.clone(),
            write_pcap_size: self.write_pcap_size,
        }
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
pub struct ExportArgs {
    /// Serve series for Prometheus at http://ADDRESS/metrics while it runs. See docs/export.md.
    #[arg(long, value_parser = to_serve, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
    /// Export series over OTLP/HTTP to this collector: http://HOST:4318. OpenTelemetry's
    /// environment variables hold the other settings. See docs/export.md.
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
}

impl ExportArgs {
    /// # Errors
    /// When the URL or a variable of OpenTelemetry cannot be parsed.
    pub fn plan(&self) -> Result<ExportPlan> {
        let otlp = self.otlp.as_deref().map(|url| otlp_settings(Some(url)));
        Ok(ExportPlan {
            prometheus: self.prometheus,
            otlp: otlp.transpose()?,
            ..ExportPlan::default()
        })
    }
}
