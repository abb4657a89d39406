//! Output of `ping --print-script`: printed by a database's own client when it ran the script.

use anyhow::{Context, Result};
use model::{DatabaseLinkOutcome, Summary};
use pipeline::output::{self, Status};
use probe::ping::via::oracle;
use report::JsonWriter;
use std::io::{self, Read};
use std::path::Path;
use sys::files::open_regular;

/// The text of the file at `path`, where it is such output. Regular files only: a pipe can be read only once.
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

/// Shows it.
pub fn show(path: &Path, outcome: &DatabaseLinkOutcome, json: bool) -> Result<Status> {
    if json {
        let mut records = JsonWriter::new(io::stdout());
        records.conditions(&output::conditions(
            format!("longwire read {}", path.display()),
            "the source database's clock",
            "the source database".to_owned(),
        ))?;
        records.database_link(outcome)?;
        records.summary(&Summary {
            exchanges: outcome.calls.count,
            connections: 1,
            turns: outcome.turns_per_call.unwrap_or_default() * outcome.calls.count,
            spread: outcome.round_trips,
            ..Summary::default()
        })?;
        records.flush()?;
    } else {
        output::print(&report::text::via_view(outcome, &output::style()))?;
    }
    Ok(match outcome.calls.count {
        0 => Status::Negative,
        _ => Status::Done,
    })
}

/// The output begins within this many bytes, after the client's own first lines.
const PROBE: u64 = 64 * 1024;
/// A hundred thousand lines have fewer bytes.
const MAX_OUTPUT_LEN: u64 = 16 * 1024 * 1024;
