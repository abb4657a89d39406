//! Runs a lab's workload on its host.

use super::config::{Amount, CommandLine, Lab, WorkloadKind};
use super::wiring::Wiring;
use anyhow::{Context, Result};
use load::script::Scripts;
use load::{QueryMode, RunControl};
use std::net::SocketAddr;
use std::process::Command;
use sys::Target;

/// Failed operations are part of the outcome.
///
/// # Errors
/// If the workload cannot run at all.
pub fn run(lab: &Lab, amount: Amount, wiring: &Wiring, control: &RunControl) -> Result<load::Outcome> {
    let workload = &lab.workload;
    let plan = load::Plan {
        clients: workload.clients,
        operations: amount.operations,
        duration: amount.duration,
        timeout: workload.timeout,
        seed: lab.seed,
        ..load::Plan::default()
    };
    let host = wiring.host(&workload.host);
    match &workload.kind {
        WorkloadKind::Http { url, keep_alive } => {
            let address = address(url, 80, wiring)?;
            let http = load::http::HttpLoad::new(url, address, *keep_alive)?;
            let ran = wiring
                .network()
                .within(host, || load::run(&http, &plan, control, None));
            Ok(ran?)
        }
        WorkloadKind::Sql {
            target,
            statements,
            reconnect,
        } => {
            let target = Target::parse(target)?;
            let quoting = load::sql::quoting(target.scheme);
            let script = Scripts::parse(statements.iter().map(String::as_str), quoting)?;
            let address = SocketAddr::new(wiring.address(&target.host), target.port);
            let sql = load::sql::SqlLoad::new(&target, script, QueryMode::Simple)?
                .at(address)
                .reconnecting(*reconnect);
            let ran = wiring
                .network()
                .within(host, || load::run(&sql, &plan, control, None));
            Ok(ran?)
        }
        WorkloadKind::Command { command } => run_command(command, lab, amount, wiring, plan, control),
    }
}

/// One run performs all operations, unless runs are the operations.
fn run_command(
    command: &CommandLine,
    lab: &Lab,
    amount: Amount,
    wiring: &Wiring,
    plan: load::Plan,
    control: &RunControl,
) -> Result<load::Outcome> {
    let workload = &lab.workload;
    let host = wiring.host(&workload.host);
    let make = || {
        let mut made = self::command(command, lab, amount);
        wiring.network().run_in(host, &mut made);
        made
    };
    let runs = load::command::CommandLoad::new(&make);
    let plan = match workload.operation {
        None => plan,
        Some(_) => load::Plan {
            clients: 1,
            operations: Some(1),
            duration: None,
            timeout: workload
                .timeout
                .saturating_mul(u32::try_from(amount.operations.unwrap_or(1)).unwrap_or(u32::MAX)),
            ..plan
        },
    };
    Ok(load::run(&runs, &plan, control, None)?)
}

fn address(url: &str, port: u16, wiring: &Wiring) -> Result<SocketAddr> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port.parse().with_context(|| format!("{port} is no port"))?),
        None => (authority, port),
    };
    Ok(SocketAddr::new(wiring.address(host), port))
}

fn command(line: &CommandLine, lab: &Lab, amount: Amount) -> Command {
    let mut command = Command::new(&line.words[0]);
    command.args(&line.words[1..]).current_dir(&lab.home);
    let clients = u64::from(lab.workload.clients);
    command.env("LONGWIRE_CLIENTS", clients.to_string());
    if let Some(operations) = amount.operations {
        command.env("LONGWIRE_OPERATIONS", operations.to_string());
        let each = operations.div_ceil(clients.max(1));
        command.env("LONGWIRE_OPERATIONS_PER_CLIENT", each.to_string());
    }
    if let Some(duration) = amount.duration {
        command.env("LONGWIRE_SECONDS", duration.as_secs().max(1).to_string());
    }
    command
}
