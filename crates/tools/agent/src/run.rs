//! The agent's main loop.

use crate::AgentPlan;
use crate::config::{AgentConfig, AgentSource};
use crate::reload::Reload;
use crate::totals::AgentTotals;
use anyhow::{Context, Result};
use live::exporting::{Exporting, SeenCounts};
use live::interface::{CLOCK, OpenedInterfaces};
use live::relaying;
use live::relays;
use live::traffic::{GATHER, InterfaceTraffic, LiveTraffic, RelayedTraffic};
use model::{Conditions, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig, TABLES_LAST, TablesInput, Window};
use pipeline::fact_channel::FactChannel;
use pipeline::input::Reading;
use pipeline::output::{self, EndRequest, Status};
use pipeline::output_health::OutputHealth;
use report::RecordPrinter;
use std::io::{self, StdoutLock};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::Target;
use sys::arguments::CommandLine;
use sys::receiver::WaitLimit;
use sys::service::ServiceManager;

/// # Errors
/// If a target cannot be observed, or traffic can no longer be seen.
pub fn run(asked: &AgentPlan, config: AgentConfig, typed: &CommandLine) -> Result<Status> {
    let end = EndRequest::on_signals()?;
    match config.source.clone() {
        AgentSource::Relays(relays) => {
            let planned = relays.plan()?;
            let with_tls = planned
                .iter()
                .map(|planned| Ok((planned.clone(), relaying::tls_as_asked(&planned.target)?)));
            let with_tls = with_tls.collect::<Result<_>>()?;
            let mut traffic = RelayedTraffic::start(with_tls, FactChannel::new(false)?, None, None)?;
            traffic.relays.announce(&OutputHealth::default(), false, "");
            let conditions = relaying::conditions(typed, &planned);
            let (mut agent, mut aggregator) = Agent::start(&Instant::now, asked, config, conditions, end)?;
            begin_tables(&agent.config, &mut aggregator, TablesInput::Live)?;
            agent.observe(&mut traffic, &mut aggregator)?;
            let ended = traffic.stop(Status::Interrupted, &mut aggregator);
            agent.end(aggregator, relays::warnings(&ended.relays))
        }
        AgentSource::Interfaces(interface, targets) => {
            let keys = interface.open_keys()?;
            let folder = config.tables.as_ref().map(|(folder, _)| folder.as_path());
            keys.rights.prepare_folder(folder)?;
            let reading = Reading {
                keys: keys.file.clone(),
                ..Reading::default()
            };
            let targets: Vec<Target> = targets
                .plan()?
                .into_iter()
                .map(|planned| planned.target)
                .collect();
            let opened = OpenedInterfaces::open(&interface, &targets)?;
            let conditions = output::conditions(typed, CLOCK, opened.observation_point().to_owned());
            let (mut agent, mut aggregator) = Agent::start(&Instant::now, asked, config, conditions, end)?;
            let folder = agent.config.tables.as_ref().map(|(folder, _)| folder.as_path());
            let source = opened.begin_with_tables(reading, &keys, folder, &mut || {
                begin_tables(&agent.config, &mut aggregator, TablesInput::Live)
            })?;
            let mut traffic = InterfaceTraffic {
                source,
                keys,
                gather: GATHER,
            };
            agent.observe(&mut traffic, &mut aggregator)?;
            let summary = traffic
                .source
                .stop(&agent.output_health, &mut |fact| aggregator.fact(fact))?;
            agent.end(aggregator, summary.warnings)
        }
    }
}

struct Agent<'a> {
    clock: &'a dyn Fn() -> Instant,
    plan: &'a AgentPlan,
    config: AgentConfig,
    conditions: Conditions,
    asked: EndRequest,
    exporting: Exporting,
    seen: Arc<SeenCounts>,
    manager: ServiceManager,
    output_health: OutputHealth,
    totals: AgentTotals,
    began: Instant,
    window_began: Instant,
    tables_checked: Instant,
    reload: Option<Reload>,
}

impl<'a> Agent<'a> {
    fn start(
        clock: &'a dyn Fn() -> Instant,
        plan: &'a AgentPlan,
        config: AgentConfig,
        conditions: Conditions,
        asked: EndRequest,
    ) -> Result<(Self, Aggregator)> {
        let seen = Arc::new(SeenCounts::default());
        let exporting = Exporting::start(config.exports.clone(), &seen)?;
        let output_health = OutputHealth::default();
        let wanted = AggregatorConfig {
            rule: config.rule,
            hosts: analysis::hosts::HostSettings {
                own: match config.hosts.only_given {
                    true => Vec::new(),
                    false => sys::own_addresses::all(),
                },
                ..config.hosts.clone()
            },
            findings: Some(config.distances.clone()),
            output_health: Some(output_health.clone()),
            ..AggregatorConfig::default()
        };
        let mut aggregator = Aggregator::new(&wanted, conditions.clone())?;
        aggregator.export(exporting.exports());
        if let Some(address) = exporting.address() {
            output_health.print_unless_quiet(&format!(
                "series for Prometheus are at http://{address}/metrics, whether all is well at /health"
            ));
        }
        let now = clock();
        let agent = Self {
            clock,
            plan,
            config,
            conditions,
            asked,
            exporting,
            seen,
            manager: ServiceManager::of_environment(),
            output_health,
            totals: AgentTotals::default(),
            began: now,
            window_began: now,
            tables_checked: now,
            reload: None,
        };
        Ok((agent, aggregator))
    }

    /// Returns on a signal, or when traffic can no longer be seen.
    fn observe(&mut self, traffic: &mut impl LiveTraffic, aggregator: &mut Aggregator) -> Result<()> {
        self.manager.ready(&self.conditions.observation_point);
        self.write(|records, agent| records.conditions(&agent.conditions));
        let watchdog = self.manager.watchdog().map_or(TICK, |asked| asked.min(TICK));
        let mut ticked = (self.clock)();
        loop {
            match self.asked.take_signal() {
                Some(libc_signal) if libc_signal == signal_hook::consts::SIGHUP => self.begin_reload(),
                Some(_) => break,
                None => {}
            }
            self.end_reload(aggregator);
            let longest = watchdog.saturating_sub((self.clock)().duration_since(ticked));
            traffic.collect(WaitLimit::new(self.asked.bell(), longest), aggregator);
            let now = (self.clock)();
            if now.duration_since(ticked) >= watchdog {
                ticked = now;
                self.tick(now, traffic, aggregator);
                if let Some(reason) = traffic.over() {
                    anyhow::bail!("{}", reason.trim_end_matches("; q quits"));
                }
            }
        }
        self.manager.stopping();
        Ok(())
    }

    fn tick(&mut self, now: Instant, traffic: &mut impl LiveTraffic, aggregator: &mut Aggregator) {
        self.manager.alive();
        traffic.report_news(&self.output_health);
        if let Some(ring) = traffic.ring() {
            self.seen.packets(ring.passed, ring.dropped);
        }
        self.seen.exchanges_dropped(aggregator.dropped_exchanges());
        self.exporting.tick(&self.output_health);
        // Poolers are recognised early or never, and series wait for the decision.
        aggregator.decide_poolers();
        aggregator.close_resting();
        if now.duration_since(self.window_began) >= self.config.window {
            let window = aggregator.end_window();
            self.resume_tables(now, aggregator);
            self.take_window(now, window);
        }
        aggregator.checkpoint();
        if now.duration_since(self.tables_checked) >= TABLES_LAST {
            self.resume_tables(now, aggregator);
        }
    }

    /// Restarts tables after an output failure.
    fn resume_tables(&mut self, now: Instant, aggregator: &mut Aggregator) {
        self.tables_checked = now;
        if !aggregator.writes_tables()
            && let Err(fault) = begin_tables(&self.config, aggregator, TablesInput::Resumed)
        {
            self.output_health.print_line(&format!("warning: {fault:#}"));
        }
    }

    fn take_window(&mut self, now: Instant, window: Window) {
        let length = now.duration_since(self.window_began);
        self.window_began = now;
        self.totals.add(&window.totals.summary);
        self.write(|records, _| write_window(records, &window));
        self.exporting.found(&window.findings, length);
    }

    /// Records never block observation for long: if the reader closes the pipe, records end and the
    /// agent continues.
    fn write(&self, write: impl FnOnce(&mut RecordPrinter<StdoutLock<'static>>, &Self) -> io::Result<()>) {
        let Some(format) = self.plan.records else { return };
        let mut records = RecordPrinter::new(format, io::stdout().lock());
        let written = write(&mut records, self).and_then(|()| records.flush());
        self.output_health
            .record_written("the records of a window on stdout are", written);
    }

    /// During a reload, schedules one more.
    fn begin_reload(&mut self) {
        if let Some(reload) = &mut self.reload {
            reload.again = true;
            return;
        }
        self.manager.reloading();
        match Reload::begin(
            self.plan,
            &self.config,
            self.exporting.exposition(),
            self.asked.bell(),
        ) {
            Ok(reload) => self.reload = Some(reload),
            Err(fault) => self.reloaded(Err(fault)),
        }
    }

    fn end_reload(&mut self, aggregator: &mut Aggregator) {
        let Some(reload) = self.reload.take_if(|reload| reload.is_read()) else {
            return;
        };
        let again = reload.again;
        let changed = reload.outcome().and_then(|(config, otlp)| {
            self.exporting
                .change(config.exports.clone(), otlp)
                .context("the exports")?;
            aggregator.export(self.exporting.exports());
            self.config = config;
            Ok(())
        });
        self.reloaded(changed);
        if again {
            self.begin_reload();
        }
    }

    /// A failed reload leaves the old configuration in effect.
    fn reloaded(&self, changed: Result<()>) {
        self.seen.reloaded(changed.is_ok());
        let trouble = match changed {
            Ok(()) => {
                self.output_health
                    .print_unless_quiet("the configuration was read again");
                None
            }
            Err(error) => {
                let text = format!("the configuration was not changed: {error:#}");
                self.output_health.print_line(&format!("warning: {text}"));
                Some(text)
            }
        };
        self.exporting.health().set_trouble(trouble);
        self.manager.ready(&self.conditions.observation_point);
    }

    fn end(mut self, aggregator: Aggregator, warnings: Vec<Warning>) -> Result<Status> {
        // Open transactions end with the observation and are exported too.
        let outcome = aggregator.finish(warnings, None)?;
        output::warn(&outcome.warnings);
        let now = (self.clock)();
        self.take_window(now, Window::new(outcome));
        self.exporting
            .finish(self.config.stop_within, &self.output_health);
        self.output_health
            .print_unless_quiet(&self.totals.line((self.clock)().duration_since(self.began)));
        Ok(self.output_health.status(Status::Done))
    }
}

fn begin_tables(config: &AgentConfig, aggregator: &mut Aggregator, input: TablesInput<'_>) -> Result<()> {
    match &config.tables {
        Some((folder, host)) => aggregator.tables(folder, host.as_deref(), input),
        None => Ok(()),
    }
}

fn write_window(records: &mut RecordPrinter<StdoutLock<'static>>, window: &Window) -> io::Result<()> {
    window
        .totals
        .statements
        .iter()
        .try_for_each(|statement| records.statement(statement))?;
    window
        .findings
        .iter()
        .try_for_each(|finding| records.finding(finding))?;
    records.warnings(&window.warnings)?;
    records.summary(&window.totals.summary)
}

/// Interval of updates to series and the service manager.
const TICK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
