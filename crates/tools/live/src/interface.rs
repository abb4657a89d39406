//! Traffic of a network interface as a source of facts: the counterpart of `relays`.

use crate::rights::{RootsRights, is_local};
use analysis::fact::Fact;
use anyhow::{Context, Result};
use key_log::KeyCollection;
use model::{ByteCount, ConnectionId, HostProcess, PerSide};
use pipeline::input::Reading;
use pipeline::input::live::{
    LiveInput, LiveNews, LivePlan, LiveSummary, OpenedInput, PacketFilePlan, PacketFilter,
    ProgramsOfConnection,
};
use pipeline::keys::RunKeys;
use pipeline::output_health::OutputHealth;
use report::text::escape::cut;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::packets::{Interfaces, PacketCounts, RING_SIZES};
use sys::receiver::WaitLimit;
use sys::{Target, resolve};

/// What is captured, with which keys, and where packets are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfacePlan {
    /// Names of interfaces, or `any`.
    pub names: Vec<String>,
    pub ports: Vec<u16>,
    /// An expression in the language of tcpdump.
    pub filter: Option<String>,
    /// A key log that exists.
    pub keys: Option<PathBuf>,
    pub keys_from_command: bool,
    pub ring: ByteCount,
    pub write_pcap: Option<PathBuf>,
    pub write_pcap_size: Option<ByteCount>,
}

pub struct InterfaceKeys {
    /// The command writes its keys here; removed when dropped.
    pub collected: Option<KeyCollection>,
    /// The keys are read from here.
    pub file: Arc<RunKeys>,
    /// Privileges from before the process gave up root. Dropped last, because it removes the rest
    /// of the keys.
    pub rights: RootsRights,
}

/// Open interfaces with waiting packets; none was inspected yet.
pub struct OpenedInterfaces {
    input: OpenedInput,
    point: String,
    left: Option<usize>,
}

pub struct InterfaceSource {
    input: LiveInput,
    /// Interface and targets, in words.
    point: String,
    /// Named interfaces that still exist; `None` for `any`.
    left: Option<usize>,
}

impl InterfacePlan {
    /// # Errors
    /// When the file cannot be read or is not a key log, or no file can be made for the command's
    /// keys.
    pub fn open_keys(&self) -> Result<InterfaceKeys> {
        let mut collected = self
            .keys_from_command
            .then(KeyCollection::temporary)
            .transpose()?;
        let file = match &collected {
            Some(collected) => RunKeys::open(collected.path())?,
            None => RunKeys::open_given(self.keys.as_deref())?,
        };
        let rights = RootsRights::keep(collected.as_mut())?;
        Ok(InterfaceKeys {
            collected,
            file,
            rights,
        })
    }

    /// Packets of any target or port that match the expression.
    fn filter(&self, targets: &[Target]) -> Result<PacketFilter> {
        let mut any_of: Vec<PacketFilter> = self.ports.iter().map(|port| PacketFilter::port(*port)).collect();
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

    fn point(&self, interfaces: &Interfaces, targets: &[Target]) -> String {
        let servers = targets.iter().map(Target::server);
        let ports = self.ports.iter().map(|port| format!("port {port}"));
        let of: Vec<String> = servers.chain(ports).collect();
        let of = match of.is_empty() {
            true => String::new(),
            false => format!(", packets of {}", of.join(", ")),
        };
        let filter = self.filter.iter().map(|filter| format!(", filter: {filter}"));
        format!("{interfaces}{of}{}", filter.collect::<String>())
    }

    fn kept(&self) -> Option<PacketFilePlan> {
        let path = self.write_pcap.clone()?;
        Some(PacketFilePlan {
            path,
            most: self.write_pcap_size,
        })
    }
}

/// # Errors
/// When it is not a size, or outside of the range.
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

fn addresses_of(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs().into_iter().flatten();
    found.map(|address| address.ip()).collect()
}

impl OpenedInterfaces {
    /// Opens interfaces and the packet file; all packets from now on are seen. `targets` limits
    /// them to packets of these servers.
    ///
    /// # Errors
    /// When an interface does not exist, this process may not capture, the filter cannot be parsed,
    /// or a target's host is unknown.
    pub fn open(wanted: &InterfacePlan, targets: &[Target]) -> Result<Self> {
        let interfaces = Interfaces::named(&wanted.names)?;
        let plan = LivePlan {
            filter: wanted.filter(targets)?,
            ring: wanted.ring,
            kept: wanted.kept(),
            interfaces: interfaces.clone(),
        };
        let named = interfaces.numbers().len();
        Ok(Self {
            input: OpenedInput::open(plan)?,
            point: wanted.point(&interfaces, targets),
            left: (named > 0).then_some(named),
        })
    }

    pub fn observation_point(&self) -> &str {
        &self.point
    }

    /// Gives up the process's privileges and starts to inspect packets. All outputs are open by
    /// now, and the command runs.
    ///
    /// # Errors
    /// When the privileges cannot be given up.
    pub fn begin(self, reading: Reading, keys: &InterfaceKeys) -> Result<InterfaceSource> {
        let lookup = keys.rights.drop_rights()?;
        Ok(InterfaceSource {
            input: self.input.begin(reading, lookup)?,
            point: self.point,
            left: self.left,
        })
    }

    /// As [`OpenedInterfaces::begin`], with tables in `folder`. Only the caller can read a bucket's
    /// secrets; files in a folder are created one after another.
    ///
    /// # Errors
    /// When the privileges cannot be given up, or tables cannot be begun.
    pub fn begin_with_tables(
        self,
        reading: Reading,
        keys: &InterfaceKeys,
        folder: Option<&Path>,
        begin_tables: &mut dyn FnMut() -> Result<()>,
    ) -> Result<InterfaceSource> {
        let is_bucket = folder.is_some_and(|folder| !is_local(folder));
        if is_bucket {
            begin_tables()?;
        }
        let source = self.begin(reading, keys)?;
        if !is_bucket {
            begin_tables()?;
        }
        Ok(source)
    }
}

impl InterfaceSource {
    pub fn observation_point(&self) -> &str {
        &self.point
    }

    /// Waits for facts, and returns those that have arrived.
    pub fn wait(&self, limit: WaitLimit<'_>) -> Vec<Fact> {
        self.input.wait(limit)
    }

    pub fn open_connections(&self) -> u64 {
        self.input.open_connections()
    }

    /// Packets that passed the filter, and the dropped ones among them.
    pub fn counts(&self) -> PacketCounts {
        self.input.counts()
    }

    /// Whether all named interfaces are gone.
    pub fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// Programs of this host at the ends of an open connection, client first; `None` if not found.
    pub fn processes(&self, connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        self.input.processes(connection)
    }

    /// The same for connections with news since the last call.
    pub fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        self.input.found_processes()
    }

    /// Reports ends since the last call: interfaces that are gone, a file that cannot be written.
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

    /// Stops once all earlier packets were processed, and hands the last facts to `facts`.
    ///
    /// # Errors
    /// When compression failed.
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

/// Names the packet file in the message that it was given up.
const PACKETS: &str = "the file of packets is";

pub const CLOCK: &str = "kernel timestamps of packets";

pub fn nothing_seen(point: &str) -> String {
    format!(
        "no TCP connection was seen at {point}: `--interface any` without --port and --filter shows all traffic"
    )
}
