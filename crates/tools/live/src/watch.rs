//! A run of `watch`: collects from relays or interfaces, and writes all outputs.

use crate::child::Child;
use crate::exporting::{ExportPlan, Exporting, SeenCounts};
use crate::sparing::proofs;
use crate::traffic::LiveTraffic;
use anyhow::Result;
use model::{Conditions, LinkOutcome, SparingOutcome, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::output::{self, EndRequest, Status};
use pipeline::output_health::OutputHealth;
use pipeline::page::PageFile;
use pipeline::progress::ShownProgress;
use pipeline::senders;
use report::Style;
use screen::RingCounts;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::receiver::WaitLimit;

/// Interval of pricing findings for series.
const PRICED: Duration = Duration::from_secs(10);

const LAST_EXPORT: Duration = Duration::from_secs(10);

/// Interval of forwarding collected data.
const CHECKPOINT: Duration = Duration::from_secs(1);

pub struct Run {
    pub aggregator: Aggregator,
    pub output_health: OutputHealth,
    /// Whether findings are proved after they were observed.
    proves: bool,
    began: Instant,
    progress: ShownProgress,
    asked: Vec<predict::PredictionTarget>,
    wake_up: predict::WakeUp,
    page: Option<PageFile>,
    exporting: Option<Exporting>,
    seen: Arc<SeenCounts>,
    priced: Instant,
    reported_drops: u64,
}

pub struct RunPlan {
    pub config: AggregatorConfig,
    pub page: Option<PageFile>,
    pub exports: ExportPlan,
    pub has_command: bool,
    pub proves: bool,
}

/// What is said after the last fact.
#[derive(Default)]
pub struct Ended {
    pub warnings: Vec<Warning>,
    pub packets: Option<u64>,
    pub links: Vec<LinkOutcome>,
    pub sparing: Vec<SparingOutcome>,
    pub hint: Option<String>,
    pub fault: Option<anyhow::Error>,
}

impl Run {
    /// # Errors
    /// If an output cannot be begun.
    pub fn new(plan: RunPlan, conditions: Conditions) -> Result<Self> {
        let output_health = OutputHealth::default();
        let page = plan.page;
        let wanted = AggregatorConfig {
            senders: senders::of_this_system(),
            samples: page.as_ref().map(PageFile::samples),
            output_health: Some(output_health.clone()),
            ..plan.config
        };
        let mut aggregator = Aggregator::new(&wanted, conditions)?;
        let seen = Arc::new(SeenCounts::default());
        let mut exporting = None;
        if plan.exports.prometheus.is_some() || plan.exports.otlp.is_some() {
            let started = Exporting::start(plan.exports, &seen)?;
            aggregator.export(started.exports());
            if let Some(address) = started.address() {
                output_health
                    .print_unless_quiet(&format!("series for Prometheus are at http://{address}/metrics"));
            }
            exporting = Some(started);
        }
        Ok(Self {
            exporting,
            seen,
            priced: Instant::now(),
            reported_drops: 0,
            aggregator,
            proves: plan.proves,
            began: Instant::now(),
            progress: ShownProgress::new(plan.has_command),
            asked: wanted.targets,
            wake_up: wanted.wake_up,
            page,
            output_health,
        })
    }

    /// Collects until a signal, the end of the command, or that of the traffic. A failed
    /// output does not end the run.
    pub fn until_ended(
        &mut self,
        traffic: &mut impl LiveTraffic,
        mut child: Option<&mut Child>,
        asked: &EndRequest,
    ) -> Status {
        let mut last = Instant::now();
        loop {
            let signal = asked.take_signal();
            let ended = match &mut child {
                Some(child) => child.ended(signal),
                None if signal.is_some() => Some(Status::Interrupted),
                None => traffic.ended(!self.aggregator.is_over()),
            };
            if let Some(status) = ended {
                return status;
            }
            let checkpoint = CHECKPOINT.saturating_sub(last.elapsed());
            let limit = WaitLimit {
                other: child.as_ref().map(|child| child.reports()),
                ..WaitLimit::new(asked.bell(), checkpoint.min(self.progress.due_in()))
            };
            traffic.collect(limit, &mut self.aggregator);
            if last.elapsed() >= CHECKPOINT {
                last = Instant::now();
                traffic.report_news(&self.output_health);
                let ring = traffic.ring().unwrap_or_default();
                self.report_drops(ring);
                self.aggregator.checkpoint();
                self.tick(ring);
            }
            self.show_progress(traffic);
        }
    }

    fn report_drops(&mut self, ring: RingCounts) {
        let RingCounts { passed, dropped } = ring;
        if dropped > self.reported_drops {
            self.reported_drops = dropped;
            self.output_health.print_line(&format!(
                "warning: {dropped} of {passed} packets were dropped so far"
            ));
        }
    }

    /// Updates the series' inputs other than facts. Pricing findings costs a few milliseconds, so
    /// it is done at intervals.
    fn tick(&mut self, ring: RingCounts) {
        let Some(exporting) = &self.exporting else {
            return;
        };
        exporting.tick(&self.output_health);
        self.seen.packets(ring.passed, ring.dropped);
        self.seen.exchanges_dropped(self.aggregator.dropped_exchanges());
        if self.priced.elapsed() >= PRICED {
            self.priced = Instant::now();
            exporting.found(&self.aggregator.findings_so_far(), self.began.elapsed());
        }
    }

    fn show_progress(&mut self, traffic: &impl LiveTraffic) {
        let Some(interval) = self.progress.due() else {
            return;
        };
        let elapsed = self.began.elapsed();
        let progress = self
            .aggregator
            .progress(elapsed, interval, traffic.open_connections());
        let text = traffic
            .status()
            .unwrap_or_else(|| report::text::progress_line(&progress));
        self.progress
            .show(&self.output_health, &text, progress.exchanges == 0);
    }

    /// Prints a view in this style, if any, and ends the other outputs.
    ///
    /// # Errors
    /// If facts were lost or an output failed for a reason that ends the run.
    pub fn finish(mut self, style: Option<&Style>, ended: Ended) -> Result<()> {
        self.output_health.show_status("");
        ended.links.iter().for_each(|link| self.aggregator.link(link));
        let moved = self.aggregator.moved();
        let outcome = self
            .aggregator
            .finish_amended(ended.warnings, ended.packets, |outcome| match self.proves {
                true => proofs::add_promises(outcome, ended.sparing),
                false => outcome.sparing = ended.sparing,
            })?;
        if let Some(exporting) = self.exporting {
            exporting.found(&outcome.findings, self.began.elapsed());
            exporting.finish(LAST_EXPORT, &self.output_health);
        }
        match style {
            None => output::warn(&outcome.warnings),
            Some(style) => {
                let view = report::text::read_view(&outcome, style);
                let proofs = match outcome.sparing.as_slice() {
                    proofs if self.proves => report::text::proofs_view(proofs, style),
                    [spared, ..] => report::text::sparing_view(spared, style),
                    [] => String::new(),
                };
                let printed = output::print(&(view + &proofs));
                self.output_health
                    .record_written("the view on stdout is", printed);
            }
        }
        if let Some(page) = self.page {
            let written = page.write(&pipeline::page::PageRun {
                title: &outcome.conditions.observation_point,
                outcome: &outcome,
                moved: &moved,
                asked: &self.asked,
                computing: predict::ComputingByClients::default(),
                wake_up: self.wake_up,
                links: &ended.links,
            });
            self.output_health
                .record_written("the page is", written.map_err(|fault| format!("{fault:#}")));
        }
        for link in &ended.links {
            self.output_health
                .record_written("the link's figures are", output::print_link(link));
        }
        if let Some(hint) = &ended.hint {
            self.output_health.hint(hint);
        }
        ended.fault.map_or(Ok(()), Err)
    }
}
