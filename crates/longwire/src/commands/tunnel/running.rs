//! A running end of a tunnel: events go to stderr and into records, with a summary at the end.

use crate::commands::record_args::RecordArgs;
use anyhow::{Context, Result};
use model::{Conditions, Summary, TunnelTotals};
use pipeline::output::{self, Status};
use report::RecordPrinter;
use report::text::{tunnel_metrics, tunnel_view};
use std::io::Stdout;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::time::Duration;
use sys::Clock;
use sys::StopToken;
use sys::metrics::MetricsServer;
use sys::poller::Waker;
use tunnel_io::{Notice, Notify};

pub(super) trait Running: Send + Sync {
    fn totals(&self) -> TunnelTotals;
    fn stop(self) -> TunnelTotals;
}

pub(super) struct Told {
    end: &'static str,
    notices: Receiver<Notice>,
    /// Rung for each notice.
    bell: Arc<Waker>,
    /// Events discarded since the last report of discards.
    dropped: Arc<AtomicU64>,
    clock: Clock,
    records: Option<RecordPrinter<Stdout>>,
    stop: StopToken,
}

impl Told {
    /// Returns the sender for the end called `end` and the receiver of its events.
    pub(super) fn new(end: &'static str, clock: Clock, records: &RecordArgs) -> Result<(Notify, Self)> {
        let (sender, notices) = sync_channel(MAX_NOTICES);
        let dropped = Arc::new(AtomicU64::new(0));
        let dropping = Arc::clone(&dropped);
        let bell = Arc::new(Waker::new()?);
        let ringing = Arc::clone(&bell);
        let told = Self {
            end,
            notices,
            bell,
            dropped,
            clock,
            records: records.printer(),
            stop: output::stop_on_signals()?,
        };
        // The receiver is only gone during shutdown.
        let notify: Notify = Box::new(move |notice| {
            if let Err(TrySendError::Full(_)) = sender.try_send(notice.clone()) {
                dropping.fetch_add(1, Ordering::Relaxed);
            }
            ringing.wake();
        });
        Ok((notify, told))
    }

    /// Runs until the user stops it, regardless of the peer's input.
    ///
    /// # Errors
    /// If this end's own keys are insufficient, or records cannot be written to stdout.
    pub(super) fn attend<R: Running + 'static>(
        mut self,
        running: R,
        conditions: &Conditions,
        prometheus: Option<SocketAddr>,
    ) -> Result<Status> {
        if let Some(records) = &mut self.records {
            records.conditions(conditions).context(NOT_WRITTEN)?;
            records.flush().context(NOT_WRITTEN)?;
        }
        let running = Arc::new(running);
        let metrics = prometheus
            .map(|address| self.serve(address, &running))
            .transpose()?;
        let ended = self.listen();
        // The thread holds the other reference.
        drop(metrics);
        let last = running.totals();
        let totals = match Arc::into_inner(running) {
            // The gauges before shutdown are more useful than zeros.
            Some(running) => TunnelTotals {
                lanes: last.lanes,
                open_streams: last.open_streams,
                ..running.stop()
            },
            None => last,
        };
        ended?;
        self.sum_up(&totals)?;
        Ok(Status::Interrupted)
    }

    fn serve<R: Running + 'static>(&self, address: SocketAddr, running: &Arc<R>) -> Result<MetricsServer> {
        let (end, running) = (self.end, Arc::clone(running));
        let server = MetricsServer::start(address, move || tunnel_metrics(end, &running.totals()))?;
        output::print_note(&format!(
            "figures for Prometheus are at http://{}/metrics",
            server.address()
        ));
        Ok(server)
    }

    fn listen(&mut self) -> Result<()> {
        while !self.stop.is_stopped() {
            self.stop.until_readable([Some(self.bell.as_fd())], A_DAY);
            self.bell.reset();
            while !self.stop.is_stopped()
                && let Ok(notice) = self.notices.try_recv()
            {
                match notice {
                    Notice::NoLane { reason } if reason.is_own() => return Err(reason.into()),
                    notice => self.print_notice(&notice)?,
                }
            }
            self.say_dropped();
        }
        Ok(())
    }

    /// Reports discarded events once the queue is empty.
    fn say_dropped(&self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            output::print_note(&format!(
                "warning: {} dropped, because they came faster than they were written",
                model::counted(dropped, "event was", "events were")
            ));
        }
    }

    fn print_notice(&mut self, notice: &Notice) -> Result<()> {
        let text = notice.to_string();
        output::print_note(&text);
        if let Notice::NoLane { reason } = notice
            && let Some(hint) = reason.hint()
        {
            output::print_note(&format!("hint: {hint}"));
        }
        if let Some(records) = &mut self.records {
            records.notice(self.clock.now(), &text).context(NOT_WRITTEN)?;
            // Readers follow records live.
            records.flush().context(NOT_WRITTEN)?;
        }
        Ok(())
    }

    fn sum_up(&mut self, totals: &TunnelTotals) -> Result<()> {
        let Some(records) = &mut self.records else {
            return Ok(output::print(&tunnel_view(self.end, totals, &output::style()))?);
        };
        let summary = Summary {
            connections: totals.streams,
            payload_bytes: totals.ways.map(|way| way.payload_bytes),
            duration: totals.elapsed,
            ..Summary::default()
        };
        records
            .tunnel(self.end, totals)
            .and_then(|()| records.summary(&summary))
            .and_then(|()| records.flush())
            .context(NOT_WRITTEN)
    }
}

const A_DAY: Duration = Duration::from_secs(24 * 3600);
const NOT_WRITTEN: &str = "could not write all records";

/// The queue is bounded because the data path never waits for the log.
const MAX_NOTICES: usize = 1024;
