//! What passes a network interface, as a source of facts for a command: the counterpart of `relays`.

use super::interface_rights::RootsRights;
use super::keys_flag::KeyLogArgument;
use super::targets::RelayArgs;
use analysis::fact::Fact;
use anyhow::{Context, Result, ensure};
use key_log::KeyCollection;
use model::{ByteCount, ConnectionId, HostProcess};
use pipeline::input::Reading;
use pipeline::input::live::{
    LiveInput, LiveNews, LivePlan, LiveSummary, OpenedInput, PacketFilePlan, PacketFilter,
    ProgramsOfConnection,
};
use pipeline::keys::RunKeys;
use pipeline::output_health::OutputHealth;
use report::text::escape::cut;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sys::packets::{Interfaces, PacketCounts, RING_SIZES};
use sys::{Target, resolve};

/// Which packets of which interfaces.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct InterfaceArgs {
    /// Observe what passes this network interface instead of relaying; repeat it for several, or `any` for
    /// all. Needs the right to capture (CAP_NET_RAW). TARGETs say which servers' packets. See
    /// docs/interface.md.
    #[arg(long, value_name = "NAME|any")]
    pub interface: Vec<String>,
    /// Only packets from or to this TCP port; repeat it for several.
    #[arg(long, value_name = "PORT", requires = "interface")]
    pub port: Vec<u16>,
    /// Only packets that this expression passes, in the language of tcpdump: host, net, port, portrange, src,
    /// dst, ip, ip6, and, or, not, ().
    #[arg(long, value_name = "EXPRESSION", requires = "interface")]
    pub filter: Option<String>,
    /// What opens TLS.
    #[command(flatten)]
    pub keys: KeyLogArgument,
    /// Open the command's own TLS connections at an interface: it is started so that it writes their keys, to
    /// memory, which no disk ever has. See docs/keys.md for the programs that do.
    #[arg(long, requires = "interface", requires = "command", conflicts_with = "keys")]
    pub keys_from_command: bool,
    /// Room for packets that longwire has not looked at yet: 2MiB to 2048MiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_ring, requires = "interface", default_value = "64MiB")]
    pub ring: ByteCount,
    /// Also keep the packets: a pcapng file that only its owner may read. It holds all that passed, secrets
    /// too.
    #[arg(long, value_name = "FILE", requires = "interface")]
    pub write_pcap: Option<PathBuf>,
    /// When that file has this size, keep it as FILE.1, in the place of the one before, and begin a new one.
    #[arg(long, value_name = "SIZE", value_parser = ByteCount::parse, requires = "write_pcap")]
    pub write_pcap_size: Option<ByteCount>,
}

/// What opens TLS at an interface.
pub struct InterfaceKeys {
    /// What the command writes its keys to, where it does: gone when this is dropped.
    pub collected: Option<KeyCollection>,
    /// Where the keys are read from.
    pub file: Arc<RunKeys>,
    /// What was root's before this process gave it up: dropped last, it removes what is left of the keys.
    pub rights: RootsRights,
}

/// Interfaces that are open, and packets of them that wait: nothing has been looked at yet.
pub struct OpenedInterfaces {
    input: OpenedInput,
    point: String,
    left: Option<usize>,
}

/// An observation of network interfaces under way.
pub struct InterfaceSource {
    input: LiveInput,
    /// Where, and of what, in words.
    point: String,
    /// Interfaces that are still there, where they were named.
    left: Option<usize>,
    told_drops: u64,
}

impl InterfaceArgs {
    /// Whether an interface is to be observed.
    pub fn is_given(&self) -> bool {
        !self.interface.is_empty()
    }

    /// Flags of a relay do not go with an interface.
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

    /// What opens TLS.
    ///
    /// # Errors
    /// When the file cannot be read, or is no key log; or when there can be no file for the command's keys.
    pub fn open_keys(&self) -> Result<InterfaceKeys> {
        let mut collected = self
            .keys_from_command
            .then(KeyCollection::temporary)
            .transpose()?;
        let file = match &collected {
            Some(collected) => RunKeys::open(collected.path())?,
            None => self.keys.open()?,
        };
        let rights = RootsRights::keep(collected.as_mut())?;
        Ok(InterfaceKeys {
            collected,
            file,
            rights,
        })
    }

    /// What was requested, as the command line has it.
    pub fn asked(&self) -> String {
        let interfaces = self.interface.iter().map(|name| format!(" --interface {name}"));
        let ports = self.port.iter().map(|port| format!(" --port {port}"));
        let filter = self.filter.iter().map(|filter| format!(" --filter '{filter}'"));
        interfaces.chain(ports).chain(filter).collect()
    }

    /// The packets that are wanted: of any target or port, and of them those that the expression passes.
    fn wanted(&self, targets: &[Target]) -> Result<PacketFilter> {
        let mut any_of: Vec<PacketFilter> = self.port.iter().map(|port| PacketFilter::port(*port)).collect();
        for target in targets {
            let addresses = resolve::addresses(target)?.into_iter();
            any_of.extend(addresses.map(|address| PacketFilter::endpoint(address.ip(), address.port())));
        }
        let wanted = PacketFilter::any_of(any_of);
        let Some(text) = &self.filter else {
            return Ok(wanted);
        };
        let narrower = PacketFilter::parse(text, &addresses_of)
            .with_context(|| format!("--filter '{}'", cut(text, SHOWN_FILTER)))?;
        Ok(wanted.and(narrower))
    }

    /// Where a run's figures are from.
    fn point(&self, interfaces: &Interfaces, targets: &[Target]) -> String {
        let servers = targets.iter().map(Target::server);
        let ports = self.port.iter().map(|port| format!("port {port}"));
        let of: Vec<String> = servers.chain(ports).collect();
        let of = match of.is_empty() {
            true => String::new(),
            false => format!(", packets of {}", of.join(", ")),
        };
        let filter = self.filter.iter().map(|filter| format!(", filter: {filter}"));
        format!("{interfaces}{of}{}", filter.collect::<String>())
    }

    /// Where the packets are to be kept, if anywhere.
    fn kept(&self) -> Option<PacketFilePlan> {
        let path = self.write_pcap.clone()?;
        Some(PacketFilePlan {
            path,
            most: self.write_pcap_size,
        })
    }
}

/// Reads the size of a ring.
///
/// # Errors
/// When it is no size, or one that no ring has.
pub fn parse_ring(text: &str) -> Result<ByteCount, String> {
    let size = ByteCount::parse(text).map_err(|error| error.to_string())?;
    match RING_SIZES.contains(&size.as_bytes()) {
        true => Ok(size),
        false => Err(format!(
            "a ring of {text} is out of range: use {}MiB to {}MiB",
            RING_SIZES.start() >> 20,
            RING_SIZES.end() >> 20
        )),
    }
}

/// The addresses of a name in a filter.
fn addresses_of(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs().into_iter().flatten();
    found.map(|address| address.ip()).collect()
}

impl OpenedInterfaces {
    /// Opens them, and the file that packets are kept in: what passes from now on will be seen. With
    /// `targets`, only their packets are.
    ///
    /// # Errors
    /// When there is no such interface, this process may not capture, the filter is not understood, or a
    /// target's host is not known.
    pub fn open(args: &InterfaceArgs, targets: &[Target]) -> Result<Self> {
        let interfaces = Interfaces::named(&args.interface)?;
        let plan = LivePlan {
            filter: args.wanted(targets)?,
            ring: args.ring,
            kept: args.kept(),
            interfaces: interfaces.clone(),
        };
        let named = interfaces.numbers().len();
        Ok(Self {
            input: OpenedInput::open(plan)?,
            point: args.point(&interfaces, targets),
            left: (named > 0).then_some(named),
        })
    }

    /// Where a run's figures are from.
    pub fn observation_point(&self) -> &str {
        &self.point
    }

    /// Gives up the rights that this process has, and begins to look at packets. All outputs are open by now,
    /// and the command runs.
    ///
    /// # Errors
    /// When the rights cannot be given up.
    pub fn begin(self, reading: Reading, keys: &InterfaceKeys) -> Result<InterfaceSource> {
        let lookup = keys.rights.drop_rights()?;
        Ok(InterfaceSource {
            input: self.input.begin(reading, lookup)?,
            point: self.point,
            left: self.left,
            told_drops: 0,
        })
    }
}

impl InterfaceSource {
    /// Where a run's figures are from.
    pub fn observation_point(&self) -> &str {
        &self.point
    }

    /// Waits at most `patience` for facts, and takes those that have arrived.
    pub fn wait(&self, patience: Duration) -> Vec<Fact> {
        self.input.wait(patience)
    }

    /// How many connections are open.
    pub fn open_connections(&self) -> u64 {
        self.input.open_connections()
    }

    /// Packets that passed the filter, and those of them that were dropped.
    pub fn counts(&self) -> PacketCounts {
        self.input.counts()
    }

    /// Whether nothing can be seen any more: all interfaces that were named are gone.
    pub fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// The programs of this host that have an end of an open connection, client first, as far as they were
    /// found.
    pub fn processes(&self, connection: ConnectionId) -> [Option<Arc<HostProcess>>; 2] {
        self.input.processes(connection)
    }

    /// The same of connections of which something was found since the last call.
    pub fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        self.input.found_processes()
    }

    /// Reports what happened to the observation itself since the last call: drops, interfaces that are gone,
    /// a file that cannot be written.
    pub fn report_news(&mut self, output_health: &OutputHealth) {
        self.report_ends(output_health);
        self.report_drops(output_health);
    }

    /// Reports what has ended since the last call: interfaces that are gone, a file that cannot be written.
    pub fn report_ends(&mut self, output_health: &OutputHealth) {
        for news in self.input.news() {
            match news {
                LiveNews::InterfaceGone(name) => {
                    self.left = self.left.map(|left| left.saturating_sub(1));
                    output_health.print_line(&format!(
                        "warning: the interface {name} is gone: its traffic until now is kept"
                    ));
                }
                LiveNews::NotKept(reason) => output_health.gave_up(PACKETS, reason),
            }
        }
    }

    fn report_drops(&mut self, output_health: &OutputHealth) {
        let PacketCounts { passed, dropped } = self.counts();
        if dropped > self.told_drops {
            self.told_drops = dropped;
            output_health.print_line(&format!(
                "warning: {dropped} of {passed} packets were dropped so far"
            ));
        }
    }

    /// Ends it once what passed before this call has been seen. Hands the last facts to `facts`.
    ///
    /// # Errors
    /// When what was to be compressed could not be.
    pub fn stop(mut self, output_health: &OutputHealth, facts: &mut dyn FnMut(Fact)) -> Result<LiveSummary> {
        self.report_ends(output_health);
        let summary = self.input.stop(facts)?;
        if let Some(reason) = &summary.not_kept {
            output_health.gave_up(PACKETS, reason);
        }
        Ok(summary)
    }
}

/// Columns of a filter that a message repeats.
const SHOWN_FILTER: usize = 60;

/// What is given up where packets cannot be kept.
const PACKETS: &str = "the file of packets is";

/// What the times of an observation are.
pub const CLOCK: &str = "kernel timestamps of packets";

/// The hint of a run without any connection.
pub fn nothing_seen(point: &str) -> String {
    format!(
        "no TCP connection was seen at {point}: `--interface any` without --port and --filter shows all traffic"
    )
}
