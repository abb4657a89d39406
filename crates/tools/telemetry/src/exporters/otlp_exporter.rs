//! Exports metrics at intervals and spans as they come, each on a thread.

mod sending;
mod settings;
mod spans;

pub use settings::{OtlpSettings, OtlpTarget};
pub use spans::SpanSink;

use crate::exporters::error::Error;
use crate::exporters::exposition::Exposition;
use crate::metrics::SeriesFamily;
use crate::otlp::{SpansOfOperation, TraceOptions, metrics_request, traces_request};
use model::{ConnectionMap, Timestamp};
use sending::{Sending, Stop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use sys::StopToken;
use sys::receiver::{StoppableReceiver, WaitLimit, WakingSender, stoppable};
use sys::signals::block_all_signals;
use sys::threads::spawn;

#[derive(Debug)]
pub struct OtlpExporter {
    threads: Vec<Running>,
    news: News,
    queue: Option<SpanQueue>,
}

#[derive(Debug, Clone)]
struct SpanQueue {
    options: TraceOptions,
    sender: WakingSender<Sender<SpansOfOperation>>,
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
    counts: crate::exporters::counts::ExportCounts,
}

/// Messages about failing and recovered exports, shared by clones.
#[derive(Debug, Clone, Default)]
struct News(Arc<Mutex<Vec<String>>>);

impl News {
    fn add(&self, text: String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_NOTICES {
            all.push(text);
        }
    }
}

impl OtlpExporter {
    /// Starts the exporting threads.
    ///
    /// # Errors
    /// If a TLS file cannot be used, or a thread cannot be started.
    pub fn start(settings: &OtlpSettings, exposition: &Exposition) -> Result<Self, Error> {
        let news = News::default();
        let sending = Sending::new(
            settings.metrics.clone(),
            &settings.tls,
            exposition.counts().clone(),
        )?;
        let mut threads = vec![start_thread("longwire otlp", {
            let mut metrics = MetricsExport {
                settings: settings.clone(),
                exposition: exposition.clone(),
                sending,
                state: State::new(settings.metrics.shown(), news.clone()),
            };
            move |stop| metrics.run(stop)
        })?];
        let mut queue = None;
        if let Some(options) = settings.trace_options {
            let (sender, receiver) = stoppable(mpsc::channel())?;
            let waiting = Arc::new(AtomicUsize::new(0));
            queue = Some(SpanQueue {
                options,
                sender,
                waiting: waiting.clone(),
                most_waiting: settings.most_waiting,
                counts: exposition.counts().clone(),
            });
            let mut spans = SpansExport {
                sending: Sending::new(
                    settings.traces.clone(),
                    &settings.tls,
                    exposition.counts().clone(),
                )?,
                settings: settings.clone(),
                receiver,
                waiting,
                counts: exposition.counts().clone(),
                state: State::new(settings.traces.shown(), news.clone()),
            };
            threads.push(start_thread("longwire spans", move |stop| spans.run(stop))?);
        }
        Ok(Self { threads, news, queue })
    }

    pub fn span_sink(&self) -> Option<SpanSink> {
        self.queue.clone().map(|queue| SpanSink {
            options: queue.options,
            sender: queue.sender,
            waiting: queue.waiting,
            most_waiting: queue.most_waiting,
            counts: queue.counts,
            servers: ConnectionMap::default(),
        })
    }

    /// New messages since the last call.
    pub fn news(&self) -> Vec<String> {
        std::mem::take(&mut *self.news.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn finish(mut self, within: Duration) -> Vec<String> {
        let until = Instant::now() + within;
        drop(self.queue.take());
        for thread in &self.threads {
            thread.stop.request(until);
        }
        for thread in std::mem::take(&mut self.threads) {
            // An attempt in progress ends by its own timeout, possibly later: it is not awaited.
            if thread.ended.wait_until(until) {
                thread.handle.join().ok();
            }
        }
        std::mem::take(&mut *self.news.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Without [`OtlpExporter::finish`], nothing is exported at the end.
impl Drop for OtlpExporter {
    fn drop(&mut self) {
        for thread in &self.threads {
            thread.stop.token.stop();
        }
    }
}

#[derive(Debug)]
struct Running {
    stop: Stop,
    ended: StopToken,
    handle: JoinHandle<()>,
}

fn start_thread(name: &str, run: impl FnOnce(&Stop) + Send + 'static) -> Result<Running, Error> {
    let stop = Stop::new()?;
    let own = stop.clone();
    let ended = StopToken::new()?;
    let last = ended.clone();
    let handle = spawn(name.to_owned(), move || {
        block_all_signals();
        run(&own);
        last.stop();
    })?;
    Ok(Running { stop, ended, handle })
}

/// Whether a signal's exports arrive; changes are reported once.
struct State {
    shown: String,
    fails: bool,
    news: News,
}

impl State {
    fn new(shown: String, news: News) -> Self {
        Self {
            shown,
            fails: false,
            news,
        }
    }

    fn record_delivery(&mut self, delivered: &Result<(), String>, kept: &str) {
        match delivered {
            Err(reason) if !self.fails => self.news.add(format!(
                "warning: exports to {} fail: {reason}; {kept}",
                self.shown
            )),
            Ok(()) if self.fails => self.news.add(format!("exports to {} arrive again", self.shown)),
            _ => {}
        }
        self.fails = delivered.is_err();
    }
}

struct MetricsExport {
    settings: OtlpSettings,
    exposition: Exposition,
    sending: Sending,
    state: State,
}

impl MetricsExport {
    fn run(&mut self, stop: &Stop) {
        let mut next = Instant::now() + self.settings.interval;
        loop {
            let was_stopped = stop.token.wait_until(next);
            if was_stopped && stop.until().is_none() {
                return;
            }
            next = (next + self.settings.interval).max(Instant::now());
            self.export(next, stop);
            if was_stopped {
                return;
            }
            if stop.token.is_stopped() {
                // The export in progress is older: the last sums follow.
                return self.export(next, stop);
            }
        }
    }

    fn export(&mut self, until: Instant, stop: &Stop) {
        let families = self.exposition.families();
        let time = now();
        let mut delivered = Ok(());
        for some in in_requests(families) {
            let body = metrics_request(
                &some,
                &self.settings.resource,
                self.settings.metrics_options,
                time,
            );
            delivered = self.sending.deliver(&body, until, stop);
            if delivered.is_err() {
                break;
            }
        }
        self.state
            .record_delivery(&delivered, "totals are not lost: the next export includes them");
    }
}

/// Splits families below the request sizes that collectors accept.
fn in_requests(families: Vec<SeriesFamily>) -> Vec<Vec<SeriesFamily>> {
    let mut all: Vec<Vec<SeriesFamily>> = Vec::new();
    let mut series = usize::MAX;
    for family in families {
        series = series.saturating_add(family.series.len());
        if series > MAX_SERIES {
            all.push(Vec::new());
            series = family.series.len();
        }
        if let Some(last) = all.last_mut() {
            last.push(family);
        }
    }
    all
}

struct SpansExport {
    settings: OtlpSettings,
    receiver: StoppableReceiver<SpansOfOperation>,
    waiting: Arc<AtomicUsize>,
    sending: Sending,
    counts: crate::exporters::counts::ExportCounts,
    state: State,
}

impl SpansExport {
    fn run(&mut self, stop: &Stop) {
        loop {
            let was_stopped = stop.token.is_stopped();
            let batch = self.batch(stop);
            let count: usize = batch.iter().map(SpansOfOperation::count).sum();
            if count == 0 {
                match was_stopped {
                    true => return,
                    false => continue,
                }
            }
            let body = traces_request(batch, &self.settings.resource);
            let delivered = self
                .sending
                .deliver(&body, Instant::now() + MAX_DELIVERY_DURATION, stop);
            self.waiting.fetch_sub(count, Ordering::Relaxed);
            match &delivered {
                Ok(()) => self.counts.spans_sent(count),
                Err(_) => self.counts.spans_dropped(count),
            }
            self.state
                .record_delivery(&delivered, "spans that find no room are dropped and counted");
        }
    }

    /// A full batch of spans, or those that came until the delay ended.
    fn batch(&self, stop: &Stop) -> Vec<SpansOfOperation> {
        let until = Instant::now() + self.settings.batch_delay;
        let (mut batch, mut count) = (Vec::new(), 0);
        while count < self.settings.batch {
            let left = until.saturating_duration_since(Instant::now());
            match self.receiver.receive(WaitLimit::new(&stop.token, left)) {
                Ok(spans) => {
                    count += spans.count();
                    batch.push(spans);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // The observation has ended: the request to stop is on its way.
                    stop.token.wait();
                    break;
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        batch
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A request has some megabytes at most.
const MAX_SERIES: usize = 2_000;

/// For one export of spans, so that retries do not block the queue.
const MAX_DELIVERY_DURATION: Duration = Duration::from_secs(60);

const MAX_NOTICES: usize = 100;
