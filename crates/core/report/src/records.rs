//! Records: one JSON object a line, `{"type": ..., "schema": 1, ...}`, keys in snake_case with
//! units.
//!
//! `docs/output.md` describes every type and key; a test compares it with the output. New keys keep
//! the schema number; a key never changes its meaning. Unknown values are omitted: a zero is always
//! a measured zero. Spans are nanoseconds, points in time nanoseconds since the Unix epoch.

#[macro_use]
mod keys;

mod advice;
mod check;
mod comparison;
mod connection;
mod distance;
mod echo;
mod estimate;
mod exchange;
mod finding;
mod held;
mod lab;
mod leg;
mod link;
mod load;
mod outcome;
mod plan;
mod program;
mod sample;
mod sparing;
mod split;
mod tune;
mod tunnel;

pub mod printer;
pub mod reader;
pub mod record;
pub mod types;
pub mod writer;

use model::{BitRate, Direction, Fingerprint, LinkRates, Nanos};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// The schema number that is written, and the highest that is read.
pub const SCHEMA: u32 = 1;

/// The keys of a record besides `type` and `schema`.
trait RecordBody: Serialize {
    const NAME: &'static str;
}

/// A record as it is written: an object that starts with `type` and `schema`.
#[derive(Debug, Serialize)]
pub struct RecordLine<'a, B> {
    #[serde(rename = "type")]
    name: &'static str,
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(flatten)]
    body: &'a B,
}

const fn line<B: RecordBody>(body: &B) -> RecordLine<'_, B> {
    RecordLine {
        name: B::NAME,
        schema: SCHEMA,
        file: None,
        body,
    }
}

impl<'a, B> RecordLine<'a, B> {
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub const fn body(&self) -> &'a B {
        self.body
    }
}

/// Borrows from its line unless an escape had to be resolved.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

/// Equal texts share one allocation. Cleared when it is full, so that a stream of ever new texts
/// cannot fill the memory.
#[derive(Default)]
struct Interner {
    texts: HashSet<Arc<str>>,
    bytes: usize,
}

impl Interner {
    fn share(&mut self, text: &str) -> Fingerprint {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        if self.texts.len() >= SHARED_TEXTS || self.bytes >= SHARED_BYTES {
            self.texts.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        let new: Arc<str> = Arc::from(text);
        self.texts.insert(Arc::clone(&new));
        new
    }
}

/// Saturates after 584 years.
fn nanos(span: Duration) -> u64 {
    Nanos::from(span).get()
}

fn rate(rates: LinkRates, direction: Direction) -> Option<u64> {
    rates[direction].map(BitRate::as_bits_per_second)
}

const SHARED_TEXTS: usize = 65_536;
/// Limit of an interner, exceeded by one text at most.
const SHARED_BYTES: usize = 32 * 1024 * 1024;
