//! Rereads the configuration on a separate thread, because files and name lookups may be slow.

use crate::AgentPlan;
use crate::config::AgentConfig;
use anyhow::{Result, anyhow, ensure};
use live::exporting::Exporting;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use sys::StopToken;
use sys::signals::block_all_signals;
use sys::threads::spawn;
use telemetry::exporters::{Exposition, OtlpExporter};

pub(crate) struct Reload {
    outcome: Receiver<Outcome>,
    read: Option<Outcome>,
    /// Another reload was requested meanwhile.
    pub(crate) again: bool,
}

type Outcome = Result<(AgentConfig, Option<OtlpExporter>)>;

impl Reload {
    /// `now` is the active configuration. `read` wakes the agent.
    pub(crate) fn begin(
        plan: &AgentPlan,
        now: &AgentConfig,
        exposition: &Exposition,
        read: &StopToken,
    ) -> Result<Self> {
        let (path, plain_clients) = (plan.config.clone(), plan.plain_clients);
        let (now, exposition) = (now.clone(), exposition.clone());
        let (sender, outcome) = sync_channel(1);
        let read = read.clone();
        spawn("longwire reload".to_owned(), move || {
            block_all_signals();
            let outcome = AgentConfig::read_file(&path, plain_clients).and_then(|config| {
                refuse_changes(&now, &config)?;
                let otlp = Exporting::prepare(&config.exports, &exposition)?;
                Ok((config, otlp))
            });
            // The agent may have ended already.
            sender.send(outcome).ok();
            read.stop();
        })?;
        Ok(Self {
            outcome,
            read: None,
            again: false,
        })
    }

    /// True if [`Reload::outcome`] is known.
    pub(crate) fn is_read(&mut self) -> bool {
        match self.outcome.try_recv() {
            Ok(outcome) => self.read = Some(outcome),
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => {}
        }
        true
    }

    /// # Errors
    /// If it is invalid, or changes a setting that is fixed while the agent runs.
    pub(crate) fn outcome(self) -> Outcome {
        // Only a bug ends it without an outcome.
        let none = || Err(anyhow!("the thread that read it has ended"));
        self.read.unwrap_or_else(none)
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
