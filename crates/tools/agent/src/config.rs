use analysis::findings::Distances;
use analysis::hosts::{HostChoice, HostSettings};
use analysis::operations::rule::Rule;
use live::address::to_serve;
use live::exporting::{ExportPlan, otlp_settings};
use live::interface::{InterfacePlan, parse_ring};
use live::targets::{PlannedRelay, RelayTexts};
use model::{ConfigFile, parse_duration};
use pipeline::input::live::PacketFilter;
use serde::Deserialize;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::files::{MAX_CONFIG_BYTES, read_small_text};
use sys::listening::{PlainClients, collide, leads_to};
use sys::{Target, resolve};
use telemetry::metrics::NameLimits;
use telemetry::otlp::TraceOptions;
use toml::Spanned;

#[derive(Debug, Clone)]
pub struct AgentConfig {
    pub(crate) source: AgentSource,
    pub(crate) rule: Rule,
    pub(crate) hosts: HostSettings,
    /// Length of a window, and the round-trip times used to price its findings.
    pub(crate) window: Duration,
    pub(crate) distances: Distances,
    pub(crate) exports: ExportPlan,
    /// Directory of tables, and the host name in them.
    pub(crate) tables: Option<(PathBuf, Option<String>)>,
    pub(crate) stop_within: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentSource {
    Relays(RelayTexts),
    Interfaces(InterfacePlan, RelayTexts),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    relay: Vec<Spanned<RelayTable>>,
    interface: Option<Spanned<InterfaceTable>>,
    #[serde(default)]
    operations: OperationsTable,
    #[serde(default)]
    names: NamesTable,
    #[serde(default)]
    windows: WindowsTable,
    #[serde(default)]
    prometheus: PrometheusTable,
    otlp: Option<Spanned<OtlpTable>>,
    parquet: Option<ParquetTable>,
    #[serde(default)]
    stop: StopTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RelayTable {
    target: String,
    listen: String,
    link: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterfaceTable {
    names: Vec<String>,
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    ports: Vec<u16>,
    filter: Option<Spanned<String>>,
    ring: Option<Spanned<String>>,
    keys: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct OperationsTable {
    rule: Option<Spanned<String>>,
    #[serde(default)]
    hosts: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct NamesTable {
    targets: Option<Spanned<usize>>,
    operations: Option<Spanned<usize>>,
    statements: Option<Spanned<usize>>,
    findings: Option<Spanned<usize>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct WindowsTable {
    length: Option<Spanned<String>>,
    #[serde(default)]
    rtt: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct PrometheusTable {
    listen: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtlpTable {
    endpoint: Option<String>,
    interval: Option<Spanned<String>>,
    #[serde(default)]
    text: bool,
    traces: Option<Spanned<f64>>,
    slow: Option<Spanned<String>>,
    #[serde(default)]
    flagged: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParquetTable {
    folder: PathBuf,
    host: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct StopTable {
    within: Option<Spanned<String>>,
}

type Fault = (Range<usize>, String);

const REFERENCE: &str = "docs/agent.md has every key with its default; longwire agent --config FILE --check-config checks a file without running";

impl AgentConfig {
    /// # Errors
    /// If it cannot be read or is invalid; the error has line and column.
    pub fn read_file(path: &Path, plain_clients: PlainClients) -> anyhow::Result<Self> {
        use anyhow::Context;
        let text = read_small_text(path, MAX_CONFIG_BYTES)
            .with_context(|| format!("could not read the configuration {}", path.display()))?;
        let file = ConfigFile {
            path,
            text: &text,
            reference: REFERENCE,
        };
        // The parser's own text quotes the line, which may hold a password.
        let tables =
            toml::from_str(&text).map_err(|fault| file.parse_error(fault.span(), fault.message()))?;
        let checked = Self::of_tables(tables, plain_clients);
        Ok(checked.map_err(|(span, message)| file.error(span, message))?)
    }

    fn of_tables(file: File, plain_clients: PlainClients) -> Result<Self, Fault> {
        let exports = exports(&file)?;
        let source = source(file.relay, file.interface, plain_clients)?;
        refuse_taken(exports.prometheus, file.prometheus.listen.as_ref(), &source)?;
        let rule = file.operations.rule.map_or(Ok(Rule::default()), |rule| {
            rule.get_ref().parse().map_err(|error| at(&rule, error))
        })?;
        let rtts = file
            .windows
            .rtt
            .iter()
            .map(|text| parse_duration(text.get_ref()).map_err(|error| at(text, error)));
        let mut rtts: Vec<Duration> = rtts.collect::<Result<_, _>>()?;
        if rtts.is_empty() {
            rtts.push(model::DEFAULT_PRICE_RTT);
        }
        rtts.sort_unstable();
        Ok(Self {
            source,
            rule,
            hosts: hosts(&file.operations.hosts)?,
            window: duration(
                file.windows.length.as_ref(),
                Duration::from_secs(600),
                Duration::from_secs(1),
            )?,
            distances: Distances { rtts, rate: None },
            exports,
            tables: file.parquet.map(|table| (table.folder, table.host)),
            stop_within: duration(file.stop.within.as_ref(), Duration::from_secs(10), Duration::ZERO)?,
        })
    }
}

fn at<T>(spanned: &Spanned<T>, error: impl Display) -> Fault {
    (spanned.span(), error.to_string())
}

fn source(
    relays: Vec<Spanned<RelayTable>>,
    interface: Option<Spanned<InterfaceTable>>,
    plain_clients: PlainClients,
) -> Result<AgentSource, Fault> {
    match (relays.first(), interface) {
        (Some(_), Some(interface)) => Err(at(
            &interface,
            "there are relays too, and their traffic would be counted twice: run an agent for each",
        )),
        (None, None) => Err((
            0..0,
            "nothing is to be observed: give [[relay]] or [interface]".to_owned(),
        )),
        (None, Some(interface)) => of_interface(interface),
        (Some(_), None) => of_relays(relays, plain_clients),
    }
}

fn of_relays(relays: Vec<Spanned<RelayTable>>, plain_clients: PlainClients) -> Result<AgentSource, Fault> {
    let mut all = RelayTexts {
        plain_clients,
        ..RelayTexts::default()
    };
    let mut taken: Vec<SocketAddr> = Vec::new();
    for relay in &relays {
        let table = relay.get_ref();
        // Checked individually first, so that a fault has a position.
        let alone = RelayTexts {
            targets: vec![table.target.clone()],
            listen: vec![table.listen.clone()],
            link: table.link.iter().cloned().collect(),
            plain_clients,
        };
        let planned = alone.plan().map_err(|error| at(relay, format!("{error:#}")))?;
        for planned in &planned {
            refuse_listen(planned, &taken).map_err(|reason| at(relay, reason))?;
            taken.push(planned.listen);
        }
        all.targets.push(table.target.clone());
        all.listen.push(table.listen.clone());
        let number = all
            .targets
            .iter()
            .filter(|text| same_scheme(text, &table.target))
            .count();
        if let (Some(link), Some(planned)) = (&table.link, planned.first()) {
            let name = match number {
                1 => planned.name.clone(),
                number => format!("{}{number}", planned.name),
            };
            all.link.push(format!("{name}={link}"));
        }
    }
    let span = relays.first().map_or(0..0, Spanned::span);
    let planned = all.plan().map_err(|error| (span, format!("{error:#}")))?;
    if let Some(circle) = circle(&planned)
        && let Some((relay, planned)) = relays.get(circle).zip(planned.get(circle))
    {
        let reason = format!(
            "{} leads back to {}, where this relay listens: it would connect to itself",
            planned.target.server(),
            planned.listen
        );
        return Err(at(relay, reason));
    }
    Ok(AgentSource::Relays(all))
}

/// First relay that leads back to itself, directly or through other relays.
fn circle(planned: &[PlannedRelay]) -> Option<usize> {
    let leads = |target: &Target, listen: SocketAddr| {
        target.port == listen.port()
            && resolve::addresses(target)
                .is_ok_and(|addresses| addresses.iter().any(|address| leads_to(*address, listen)))
    };
    let next: Vec<Option<usize>> = planned
        .iter()
        .map(|relay| {
            planned
                .iter()
                .position(|other| leads(&relay.target, other.listen))
        })
        .collect();
    let follow = |place: &usize| next.get(*place).copied().flatten();
    (0..planned.len()).find(|start| {
        std::iter::successors(follow(start), follow)
            .take(planned.len())
            .any(|place| place == *start)
    })
}

/// Refuses addresses that are taken, and plaintext clients where TLS was required.
fn refuse_listen(planned: &PlannedRelay, taken: &[SocketAddr]) -> Result<(), String> {
    let listen = planned.listen;
    if let Some(other) = taken.iter().find(|other| collide(**other, listen)) {
        return Err(format!(
            "two relays cannot listen on one address: {listen}, and {other} of an earlier relay"
        ));
    }
    relay::check_listen(&planned.target, listen, planned.plain_clients).map_err(|error| {
        let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
        format!("{error}{hint}")
    })
}

/// The Prometheus page needs a separate address too.
fn refuse_taken(
    page: Option<SocketAddr>,
    place: Option<&Spanned<String>>,
    source: &AgentSource,
) -> Result<(), Fault> {
    let (Some(page), Some(place), AgentSource::Relays(relays)) = (page, place, source) else {
        return Ok(());
    };
    let planned = relays.plan().map_err(|error| at(place, format!("{error:#}")))?;
    match planned.iter().find(|planned| collide(planned.listen, page)) {
        Some(relay) => Err(at(
            place,
            format!(
                "{page} cannot be listened on twice: the relay to {} listens on {}",
                relay.target.server(),
                relay.listen
            ),
        )),
        None => Ok(()),
    }
}

fn same_scheme(one: &str, other: &str) -> bool {
    let scheme = |text: &str| sys::Target::parse(text).ok().map(|target| target.scheme);
    scheme(one) == scheme(other)
}

fn of_interface(interface: Spanned<InterfaceTable>) -> Result<AgentSource, Fault> {
    let span = interface.span();
    let table = interface.into_inner();
    if table.names.is_empty() {
        return Err((span, "names is empty: name an interface, or \"any\"".to_owned()));
    }
    let ring = match &table.ring {
        Some(ring) => parse_ring(ring.get_ref()).map_err(|error| at(ring, error))?,
        None => parse_ring("64MiB").map_err(|error| (span.clone(), error))?,
    };
    let targets = RelayTexts {
        targets: table.targets,
        ..RelayTexts::default()
    };
    targets.plan().map_err(|error| (span, format!("{error:#}")))?;
    if let Some(filter) = &table.filter {
        // Names are resolved when packets are read.
        let any_host = |_: &str| vec![Ipv4Addr::LOCALHOST.into()];
        PacketFilter::parse(filter.get_ref(), &any_host).map_err(|error| at(filter, error))?;
    }
    let plan = InterfacePlan {
        names: table.names,
        ports: table.ports,
        filter: table.filter.map(Spanned::into_inner),
        keys: table.keys,
        keys_from_command: false,
        ring,
        write_pcap: None,
        write_pcap_size: None,
    };
    Ok(AgentSource::Interfaces(plan, targets))
}

fn hosts(texts: &[Spanned<String>]) -> Result<HostSettings, Fault> {
    let mut settings = HostSettings::default();
    for text in texts {
        match HostChoice::parse(text.get_ref()).map_err(|error| at(text, error))? {
            HostChoice::Given(host) => settings.given.push(host),
            HostChoice::None => settings.only_given = true,
        }
    }
    Ok(settings)
}

fn exports(file: &File) -> Result<ExportPlan, Fault> {
    let usual = NameLimits::default();
    let limit = |given: &Option<Spanned<usize>>, usual: usize| match given {
        Some(given) if (1..=MAX_NAMES).contains(given.get_ref()) => Ok(*given.get_ref()),
        Some(given) => Err(at(given, format!("it is a number from 1 to {MAX_NAMES}"))),
        None => Ok(usual),
    };
    let prometheus = file.prometheus.listen.as_ref();
    let prometheus =
        prometheus.map(|text| to_serve(text.get_ref()).map_err(|error| at(text, format!("{error:#}"))));
    Ok(ExportPlan {
        limits: NameLimits {
            targets: limit(&file.names.targets, usual.targets)?,
            operations: limit(&file.names.operations, usual.operations)?,
            statements: limit(&file.names.statements, usual.statements)?,
            findings: limit(&file.names.findings, usual.findings)?,
        },
        prometheus: prometheus.transpose()?,
        otlp: file.otlp.as_ref().map(of_otlp).transpose()?,
    })
}

fn of_otlp(table: &Spanned<OtlpTable>) -> Result<telemetry::exporters::OtlpSettings, Fault> {
    let given = table.get_ref();
    let mut settings =
        otlp_settings(given.endpoint.as_deref()).map_err(|error| at(table, format!("{error:#}")))?;
    settings.interval = duration(
        given.interval.as_ref(),
        settings.interval,
        Duration::from_millis(100),
    )?;
    settings.metrics_options.keep_text = given.text;
    let sampled = match &given.traces {
        Some(share) if !(0.0..=1.0).contains(share.get_ref()) => {
            return Err(at(share, "it is a share of all operations, from 0.0 to 1.0"));
        }
        Some(share) => *share.get_ref(),
        None => 0.0,
    };
    let slow = given.slow.as_ref();
    let slow = slow
        .map(|text| parse_duration(text.get_ref()).map_err(|error| at(text, error)))
        .transpose()?;
    settings.trace_options = (sampled > 0.0 || slow.is_some() || given.flagged).then_some(TraceOptions {
        sampled,
        slow,
        flagged: given.flagged,
        keep_text: given.text,
    });
    Ok(settings)
}

fn duration(given: Option<&Spanned<String>>, usual: Duration, least: Duration) -> Result<Duration, Fault> {
    let Some(text) = given else {
        return Ok(usual);
    };
    let found = parse_duration(text.get_ref()).map_err(|error| at(text, error))?;
    if found < least {
        return Err(at(
            text,
            format!("it is at least {}", model::format_duration(least)),
        ));
    }
    Ok(found)
}

/// Limit per kind of name. Each name costs about 3 KB here, and 10 to 100 series in the backend.
const MAX_NAMES: usize = 2_000;
