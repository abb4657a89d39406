//! The configuration, read again while the agent observes: on a thread of its own, because files and names
//! may take long.

use super::Args;
use super::config::AgentConfig;
use crate::commands::exporting::Exporting;
use anyhow::{Result, anyhow, ensure};
use exporters::{Exposition, OtlpExporter};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use sys::signals::block_all_signals;
use sys::threads::spawn;

/// A configuration that is being read.
pub(super) struct Reload {
    thread: JoinHandle<()>,
    outcome: Receiver<Outcome>,
    /// Whether it was to be read again meanwhile.
    pub(super) again: bool,
}

type Outcome = Result<(AgentConfig, Option<OtlpExporter>)>;

impl Reload {
    /// Begins to read it; `now` is what is in effect.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(super) fn begin(args: &Args, now: &AgentConfig, exposition: &Exposition) -> Result<Self> {
        let (path, plain_clients) = (args.config.clone(), args.plain_clients);
        let (now, exposition) = (now.clone(), exposition.clone());
        let (sender, outcome) = sync_channel(1);
        let thread = spawn("longwire reload".to_owned(), move || {
            block_all_signals();
            let read = AgentConfig::read_file(&path, plain_clients).and_then(|config| {
                refuse_changes(&now, &config)?;
                let otlp = Exporting::prepare(&config.exports, &exposition)?;
                Ok((config, otlp))
            });
            // Nobody waits for it when the agent has ended.
            sender.send(read).ok();
        })?;
        Ok(Self {
            thread,
            outcome,
            again: false,
        })
    }

    /// Whether [`Reload::outcome`] does not wait.
    pub(super) fn is_read(&self) -> bool {
        self.thread.is_finished()
    }

    /// What was read.
    ///
    /// # Errors
    /// When it cannot be used, or changes what cannot change while the agent runs.
    pub(super) fn outcome(self) -> Outcome {
        // It ends without an outcome only through a defect.
        let none = |_| Err(anyhow!("the thread that read it has ended"));
        self.outcome.try_recv().unwrap_or_else(none)
    }
}

fn refuse_changes(now: &AgentConfig, config: &AgentConfig) -> Result<()> {
    let unchanged = config.source == now.source
        && config.rule == now.rule
        && config.hosts == now.hosts
        && config.tables == now.tables
        && config.exports.limits == now.exports.limits;
    ensure!(
        unchanged,
        "[[relay]], [interface], [operations], [names] and [parquet] cannot change while it runs: restart the agent"
    );
    Ok(())
}
