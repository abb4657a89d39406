//! Fetches rows of one statement, one packet each.

use super::Args;
use crate::password;
use anyhow::{Result, bail, ensure};
use model::{Summary, Warning, WarningKind};
use pipeline::output::{self, Status};
use probe::ping::rows::{RowsOptions, measure};
use sys::arguments::CommandLine;
use sys::{Clock, Target, TlsMode, TlsSettings};

/// Exactly one target is allowed.
pub fn run(args: &Args, rows: u64, typed: &CommandLine) -> Result<Status> {
    let [target] = args.targets.as_slice() else {
        bail!("--rows takes one target: rows of several would share the client's packets and time");
    };
    ensure!(
        args.count.is_none(),
        "-n counts samples, and --rows takes none but with --via: leave one out"
    );
    let mut target = password::completed(Target::parse(target)?);
    // TLS is only preferred: inside it, rows are not packets.
    if !TlsSettings::from_target(&target)?.mode.insists() {
        target.security.mode = Some(TlsMode::Disable);
    }
    let stop = output::stop_on_signals()?;
    let clock = Clock::anchored_now();
    let began = clock.now();
    let train = measure(
        &target,
        &RowsOptions {
            rows,
            timeout: args.timeout,
            stop: &stop,
            clock,
        },
    )?;
    let warning = (!train.is_exact()).then(|| {
        let text = format!(
            "not every row was one packet ({} packets for {rows} rows): loss, a proxy, or a server that sends rows together",
            train.packets.map_or_else(|| "unknown".to_owned(), |packets| packets.to_string())
        );
        Warning::new(WarningKind::DoneOtherwise, text)
    });
    let Some(format) = args.records.format() else {
        output::print(&format!(
            "{target}\n{}",
            report::text::rows_view(&train, &args.all.style())
        ))?;
        return Ok(Status::Done);
    };
    let conditions = output::conditions(
        typed,
        "kernel receive timestamps",
        "the client's socket".to_owned(),
    );
    let summary = Summary {
        connections: 1,
        duration: clock.now().since(began),
        ..Summary::default()
    };
    output::print_records(format, &conditions, warning.as_slice(), &summary, |records| {
        records.rows(&train)
    })?;
    Ok(Status::Done)
}
