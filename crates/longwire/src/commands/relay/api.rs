//! An API compatible with toxiproxy clients.

use super::Args;
use anyhow::{Context, Result, bail, ensure};
use live::address::ServedAddress;
use live::relaying;
use live::relays;
use live::targets::PlannedRelay;
use model::{LinkOutcome, Summary};
use pipeline::output::{self, EndRequest, Status};
use pipeline::output_health::OutputHealth;
use relay::Relay;
use report::RecordFormat;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::TlsSettings;
use sys::arguments::CommandLine;
use toxiproxy::{API_VERSION, ApiAccess, ProxyCollection, ProxyCounters};

pub(super) fn run(args: &Args, at: &ServedAddress, typed: &CommandLine) -> Result<Status> {
    let planned = args.relays.plan()?;
    ensure!(
        args.relays.link.is_empty() || !planned.is_empty(),
        "--link is for a target, and none is given: proxies that clients create have toxics"
    );
    let asked = EndRequest::on_signals()?;
    let output_health = OutputHealth::default();
    let began = Instant::now();
    let proxies = Arc::new(ProxyCollection::new(args.seed));
    let mut links = Vec::new();
    for planned in &planned {
        let link = planned
            .link
            .map(|link| relay::emulate(planned.target.clone(), link))
            .transpose()?;
        let listens = create(&proxies, planned, link.as_ref())?;
        let over = planned
            .link
            .map_or_else(String::new, |link| format!(" over {link}"));
        output_health.print_line(&format!(
            "relaying {listens} to {}{over}: proxy {}",
            planned.target.server(),
            planned.name
        ));
        links.extend(link);
    }
    let access = ApiAccess {
        hosts: [std::slice::from_ref(&at.host), &args.api_host].concat(),
    };
    let server = toxiproxy::serve(at.address, access, proxies.clone())?;
    output_health.print_line(&format!(
        "toxiproxy's API {API_VERSION} at http://{}{}",
        server.address(),
        relays::ENDS
    ));
    asked.wait();
    let status = Status::Interrupted;
    drop(server);
    proxies.clear();
    let counters = proxies.counters();
    let stopped = links
        .into_iter()
        .filter_map(|link| link.stop(Duration::ZERO).link);
    let links: Vec<LinkOutcome> = stopped.collect();
    output_health.print_unless_quiet(&summary(counters));
    for link in &links {
        output_health.record_written("the relay's counts are", output::print_link(link));
    }
    if let Some(format) = args.records.format() {
        let written = write_records(format, typed, &planned, (counters, &links), began.elapsed());
        output_health.record_written("the records on stdout are", written);
    }
    Ok(output_health.status(status))
}

/// Creates a proxy for a target of the command line and returns the listen address.
fn create(proxies: &ProxyCollection, planned: &PlannedRelay, link: Option<&Relay>) -> Result<String> {
    if TlsSettings::from_target(&planned.target)?.mode.insists() {
        bail!(
            "{}: proxies behind --api pass TLS through and speak none themselves: leave it out of the target",
            planned.name
        );
    }
    let listen = planned.listen.to_string();
    let (upstream, through) = (planned.target.server(), link.map(Relay::local_addr));
    let created = proxies.create(&planned.name, &listen, &upstream, through);
    created.with_context(|| format!("could not start the proxy {}", planned.name))
}

fn summary(counters: &ProxyCounters) -> String {
    let [up, down] = counters.payload_bytes().into_array();
    let failed = match counters.failed() {
        0 => String::new(),
        failed => format!("; {failed} did not reach their upstream"),
    };
    let connections = model::counted(counters.connections(), "connection", "connections");
    format!("Relayed {connections}: {up} bytes up, {down} down{failed}")
}

fn write_records(
    format: RecordFormat,
    typed: &CommandLine,
    planned: &[PlannedRelay],
    (counters, links): (&ProxyCounters, &[LinkOutcome]),
    duration: Duration,
) -> io::Result<()> {
    let conditions = output::conditions(
        typed,
        "the monotonic clock",
        "proxies of toxiproxy's API".to_owned(),
    );
    let conditions = relaying::with_links(conditions, planned);
    let summary = Summary {
        connections: counters.connections(),
        payload_bytes: counters.payload_bytes(),
        duration,
        ..Summary::default()
    };
    output::print_records(format, &conditions, &[], &summary, |records| {
        links.iter().try_for_each(|link| records.link(link))
    })
}
