//! Output of `ping --print-script`, as printed by a database's own client.

use anyhow::{Context, Result};
use model::{DatabaseLinkOutcome, Summary};
use pipeline::output::{self, Status};
use probe::ping::via::oracle;
use report::RecordFormat;
use std::io::Read;
use std::path::Path;
use sys::arguments::CommandLine;
use sys::files::open_regular;

/// `None` if the file is not such output. Regular files only, because a pipe can be read only once.
pub fn find(path: &Path) -> Result<Option<DatabaseLinkOutcome>> {
    if !path.is_file() {
        return Ok(None);
    }
    let name = path.display();
    let mut file = open_regular(path).with_context(|| format!("could not open {name}"))?;
    let mut bytes = Vec::new();
    let mut take = |bytes: &mut Vec<u8>, most: u64| {
        file.by_ref()
            .take(most)
            .read_to_end(bytes)
            .with_context(|| format!("could not read {name}"))
    };
    take(&mut bytes, PROBE)?;
    if !oracle::is_output(&String::from_utf8_lossy(&bytes)) {
        return Ok(None);
    }
    take(&mut bytes, MAX_OUTPUT_LEN)?;
    Ok(oracle::parse_outcome(&String::from_utf8_lossy(&bytes)))
}

pub fn show(
    outcome: &DatabaseLinkOutcome,
    records: Option<RecordFormat>,
    typed: &CommandLine,
) -> Result<Status> {
    if let Some(format) = records {
        let (clock, point) = ("the source database's clock", "the source database");
        let conditions = output::conditions(typed, clock, point.to_owned());
        let summary = Summary {
            exchanges: outcome.calls.count,
            connections: 1,
            turns: outcome.turns_per_call.unwrap_or_default() * outcome.calls.count,
            spread: outcome.round_trips,
            ..Summary::default()
        };
        output::print_records(format, &conditions, &[], &summary, |records| {
            records.database_link(outcome)
        })?;
    } else {
        output::print(&report::text::via_view(outcome, &output::style()))?;
    }
    Ok(match outcome.calls.count {
        0 => Status::Negative,
        _ => Status::Done,
    })
}

/// The output starts within this many bytes, after the client's own lines.
const PROBE: u64 = 64 * 1024;
/// Enough for 100,000 lines.
const MAX_OUTPUT_LEN: u64 = 16 * 1024 * 1024;
