//! Progress of a lab's run on stderr: a bar with the remaining time on a terminal, else a line per
//! point.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pipeline::output;
use pipeline::progress::{LogProgress, ProgressSink};
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub struct LabProgress {
    bar: Option<ProgressBar>,
    log: LogProgress,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    /// Expected duration of pending measurements.
    waiting: Duration,
    /// Start and expected duration of the current measurement.
    now: Option<(Instant, Duration)>,
    done: u64,
    all: u64,
}

impl LabProgress {
    /// Without a bar at most a line each `interval`.
    pub fn new(interval: Duration) -> Self {
        let has_bar = io::stderr().is_terminal() && !output::is_quiet();
        let bar = has_bar.then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self {
            bar,
            log: LogProgress::every(interval),
            left: Mutex::default(),
        }
    }

    pub fn refresh(&self, what: &str) {
        let Some(bar) = &self.bar else {
            return;
        };
        let left = self.left();
        let now = left.now.map_or(Duration::ZERO, |(begun, expected)| {
            expected.saturating_sub(begun.elapsed())
        });
        let what = report::text::escape::printable(what);
        bar.set_message(format!("{what}, {} left", minutes(left.waiting + now)));
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Left> {
        self.left
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl ProgressSink for LabProgress {
    fn show_note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::print_note(text)),
            None => output::print_note(text),
        }
    }

    fn status(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.log.line(text),
        }
    }

    fn expect(&self, runs: u64, time: Duration) {
        let mut left = self.left();
        left.all += runs;
        left.waiting += time;
        if let Some(bar) = &self.bar {
            bar.set_length(left.all);
        }
    }

    fn begin(&self, text: &str, expected: Duration) {
        let mut left = self.left();
        left.waiting = left.waiting.saturating_sub(expected);
        left.now = Some((Instant::now(), expected));
        drop(left);
        if self.bar.is_some() {
            self.refresh(text);
        }
    }

    fn done(&self, text: &str) {
        let mut left = self.left();
        left.done += 1;
        left.now = None;
        let (done, all) = (left.done, left.all);
        drop(left);
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None => self.log.line(&format!("{done} of {all}: {text}")),
        }
    }
}

/// Rough, as the remaining time is an estimate: `12 s`, `3 min 20 s`.
fn minutes(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
