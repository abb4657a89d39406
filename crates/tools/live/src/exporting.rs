//! Exports to monitoring systems, of `watch` and `agent`.

use anyhow::Result;
use model::{Finding, Timestamp};
use pipeline::aggregator::Exports;
use pipeline::output_health::OutputHealth;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use sys::metrics::MetricsServer;
use telemetry::exporters::{Exposition, Health, OtlpExporter, OtlpSettings, serve_metrics};
use telemetry::metrics::{FamilyKind, NameLimits, SeriesFamily, SharedRegistry};

#[derive(Debug, Clone, Default)]
pub struct ExportPlan {
    /// Bounds the number of names with series.
    pub limits: NameLimits,
    /// The address for Prometheus.
    pub prometheus: Option<SocketAddr>,
    pub otlp: Option<OtlpSettings>,
}

/// The settings of the environment, with this endpoint if one is given.
///
/// # Errors
/// When a variable of OpenTelemetry cannot be parsed.
pub fn otlp_settings(endpoint: Option<&str>) -> Result<OtlpSettings> {
    let host = pipeline::output::host_name();
    let variables = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Ok(OtlpSettings::of_variables(endpoint, host.as_deref(), &variables)?)
}

/// Counts of the observation itself, exported as series.
#[derive(Debug, Default)]
pub struct SeenCounts {
    packets: AtomicU64,
    dropped: AtomicU64,
    exchanges_dropped: AtomicU64,
    failed_reloads: AtomicU64,
    succeeded_reloads: AtomicU64,
}

impl SeenCounts {
    /// The kernel's counts of an interface.
    pub fn packets(&self, passed: u64, dropped: u64) {
        self.packets.store(passed, Ordering::Relaxed);
        self.dropped.store(dropped, Ordering::Relaxed);
    }

    /// Exchanges dropped because they came faster than they were added up.
    pub fn exchanges_dropped(&self, count: u64) {
        self.exchanges_dropped.store(count, Ordering::Relaxed);
    }

    /// Notes that the configuration was read again.
    pub fn reloaded(&self, succeeded: bool) {
        let count = match succeeded {
            true => &self.succeeded_reloads,
            false => &self.failed_reloads,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn families(&self, since: u64) -> Vec<SeriesFamily> {
        let counter = |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Counter);
        let value = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        let reloads = [
            ("failed", &self.failed_reloads),
            ("succeeded", &self.succeeded_reloads),
        ]
        .into_iter()
        .fold(
            counter(
                "longwire_config_reloads_total",
                "longwire.config.reloads",
                "Times that the configuration was read again.",
            ),
            |family, (result, count)| family.with(vec![("result", Arc::from(result))], since, value(count)),
        );
        vec![
            counter(
                "longwire_packets_total",
                "longwire.packets",
                "Packets that passed the filter at an interface; 0 behind relays.",
            )
            .with(Vec::new(), since, value(&self.packets)),
            counter(
                "longwire_packets_dropped_total",
                "longwire.packets.dropped",
                "Of these, packets that the kernel dropped because longwire was too slow: their content is missing in all figures.",
            )
            .with(Vec::new(), since, value(&self.dropped)),
            counter(
                "longwire_exchanges_dropped_total",
                "longwire.exchanges.dropped",
                "Exchanges behind relays that longwire dropped because it was too slow: they are missing in all figures.",
            )
            .with(Vec::new(), since, value(&self.exchanges_dropped)),
            reloads,
        ]
    }
}

pub struct Exporting {
    registry: SharedRegistry,
    exposition: Exposition,
    health: Health,
    server: Option<MetricsServer>,
    otlp: Option<OtlpExporter>,
    plan: ExportPlan,
}

impl Exporting {
    /// # Errors
    /// When an address cannot be served, or a file of TLS cannot be used.
    pub fn start(plan: ExportPlan, seen: &Arc<SeenCounts>) -> Result<Self> {
        let began = now();
        let registry = SharedRegistry::new(plan.limits, began);
        let seen = Arc::clone(seen);
        let more = Arc::new(move || seen.families(began.as_nanos()));
        let mut exporting = Self {
            exposition: Exposition::new(registry.clone(), began).with_more(more),
            registry,
            health: Health::default(),
            server: None,
            otlp: None,
            plan: ExportPlan::default(),
        };
        let otlp = Self::prepare(&plan, &exporting.exposition)?;
        exporting.change(plan, otlp)?;
        Ok(exporting)
    }

    /// Prepares OTLP exports for [`Exporting::change`]. Reads files: do not call it on the
    /// observing thread.
    ///
    /// # Errors
    /// When a file of TLS cannot be used, or a thread cannot be started.
    pub fn prepare(plan: &ExportPlan, exposition: &Exposition) -> Result<Option<OtlpExporter>> {
        let settings = plan.otlp.as_ref();
        let started = settings.map(|settings| OtlpExporter::start(settings, exposition));
        Ok(started.transpose()?)
    }

    /// Switches to `plan`, except for limits of names, with the exports of [`Exporting::prepare`].
    /// Unchanged exports continue.
    ///
    /// # Errors
    /// When an address cannot be served; nothing changes then.
    pub fn change(&mut self, plan: ExportPlan, otlp: Option<OtlpExporter>) -> Result<()> {
        if plan.prometheus != self.plan.prometheus {
            self.server = match plan.prometheus {
                Some(address) => Some(serve_metrics(
                    address,
                    self.exposition.clone(),
                    self.health.clone(),
                )?),
                None => None,
            };
        }
        if let Some(before) = std::mem::replace(&mut self.otlp, otlp) {
            before.finish(HANDOVER);
        }
        self.plan = plan;
        Ok(())
    }

    pub const fn exposition(&self) -> &Exposition {
        &self.exposition
    }

    /// Receives facts and operations.
    pub fn exports(&self) -> Exports {
        Exports {
            registry: Some(self.registry.clone()),
            spans: self.otlp.as_ref().and_then(OtlpExporter::span_sink),
        }
    }

    /// The address for Prometheus.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(MetricsServer::address)
    }

    /// For the page of `/health`.
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// Reports failed exports.
    pub fn tick(&self, output_health: &OutputHealth) {
        self.health.alive();
        if let Some(otlp) = &self.otlp {
            otlp.news().iter().for_each(|text| output_health.print_line(text));
        }
    }

    /// Exports the findings of the last `window`.
    pub fn found(&self, findings: &[Finding], window: Duration) {
        self.registry.lock().found(findings, window);
    }

    /// Exports the rest within this time and reports undelivered data.
    pub fn finish(self, within: Duration, output_health: &OutputHealth) {
        if let Some(otlp) = self.otlp {
            otlp.finish(within)
                .iter()
                .for_each(|text| output_health.print_line(text));
        }
        let counts = self.exposition.counts();
        let (given_up, dropped, rejected) = (counts.given_up(), counts.dropped(), counts.rejections());
        if given_up + dropped + rejected > 0 {
            output_health.print_line(&format!(
                "warning: {given_up} exports over OTLP were given up, {dropped} spans dropped, {rejected} data points or spans rejected"
            ));
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Time limit for an exporter that is replaced.
const HANDOVER: Duration = Duration::from_secs(1);
