//! One export over HTTP, with retries (OTLP specification, "OTLP/HTTP Response" and "Retries").

use super::settings::OtlpTarget;
use crate::exporters::counts::ExportCounts;
use crate::exporters::error::Error;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::error::LiveError;
use sys::http_client::PemFiles;
use ureq::{Agent, Body, http};

pub(super) struct Sending {
    agent: Agent,
    target: OtlpTarget,
    counts: ExportCounts,
    pause: Duration,
}

/// A request to stop, shared by clones.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    pub(super) token: StopToken,
    until: Arc<OnceLock<Instant>>,
}

impl Stop {
    pub(super) fn new() -> Result<Self, LiveError> {
        Ok(Self {
            token: StopToken::new()?,
            until: Arc::default(),
        })
    }

    /// The first request counts.
    pub(super) fn request(&self, until: Instant) {
        self.until.set(until).ok();
        self.token.stop();
    }

    /// `None` without a request.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until.get().copied()
    }
}

enum Attempt {
    Taken,
    /// A retry may help, at the earliest after this time.
    Again(Option<Duration>, String),
    Refused(String),
}

impl Sending {
    pub(super) fn new(target: OtlpTarget, tls: &PemFiles, counts: ExportCounts) -> Result<Self, Error> {
        Ok(Self {
            agent: sys::http_client::agent(&target.url, tls, target.timeout)?,
            target,
            counts,
            pause: FIRST_PAUSE,
        })
    }

    /// Delivers a body, with retries until `until`, or until `stop`'s deadline. Returns the reason
    /// of a failure.
    pub(super) fn deliver(&mut self, body: &[u8], until: Instant, stop: &Stop) -> Result<(), String> {
        let body = match self.target.gzip {
            true => compressed(body),
            false => body.to_vec(),
        };
        self.pause = FIRST_PAUSE;
        loop {
            let until = stop.until().unwrap_or(until);
            let (wait, reason) = match self.attempt(&body, until) {
                Attempt::Taken => {
                    self.counts.request();
                    return Ok(());
                }
                Attempt::Refused(reason) => {
                    self.counts.failed();
                    return Err(reason);
                }
                Attempt::Again(wait, reason) => (wait.unwrap_or_else(|| self.next_pause()), reason),
            };
            if Instant::now() + wait >= until {
                self.counts.failed();
                return Err(reason);
            }
            self.counts.retry();
            // After a stop request, one more attempt follows at once.
            match stop.until() {
                Some(_) => std::thread::sleep(wait),
                None if stop.token.wait_timeout(wait) && stop.until().is_none() => return Err(reason),
                None => {}
            }
        }
    }

    /// Doubles each time, plus up to a half at random, so that many agents do not retry at the same
    /// moment.
    fn next_pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(MAX_PAUSE);
        let share = super::spans::random() as f64 / u64::MAX as f64;
        pause.mul_f64(1.0 + share / 2.0)
    }

    fn attempt(&self, body: &[u8], until: Instant) -> Attempt {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = self.target.timeout.min(left).max(Duration::from_millis(50));
        let mut request = self
            .agent
            .post(&self.target.url)
            .config()
            .timeout_global(Some(timeout))
            .build();
        for (name, value) in &self.target.headers {
            request = request.header(name, value);
        }
        if self.target.gzip {
            request = request.header("Content-Encoding", "gzip");
        }
        match request.content_type("application/x-protobuf").send(body) {
            Ok(response) => self.judge(response),
            Err(error) => Attempt::Again(None, error.to_string()),
        }
    }

    fn judge(&self, mut response: http::Response<Body>) -> Attempt {
        let status = response.status();
        if status.is_success() {
            let answer = response
                .body_mut()
                .with_config()
                .limit(MAX_RESPONSE_BYTES)
                .read_to_vec();
            if let Some((count, reason)) = crate::otlp::rejected(&answer.unwrap_or_default()) {
                self.counts.rejected(count);
                if count > 0 {
                    return Attempt::Refused(format!("{count} were rejected: {reason}"));
                }
            }
            return Attempt::Taken;
        }
        let reason = format!("HTTP status {status}");
        match status.as_u16() {
            429 | 502 | 503 | 504 => {
                let field = response
                    .headers()
                    .get("retry-after")
                    .and_then(|value| value.to_str().ok());
                let wait = field
                    .and_then(|text| text.trim().parse().ok())
                    .map(Duration::from_secs);
                Attempt::Again(wait, reason)
            }
            _ => Attempt::Refused(reason),
        }
    }
}

fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing into a vector cannot fail.
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

const MAX_RESPONSE_BYTES: u64 = 64 * 1024;
