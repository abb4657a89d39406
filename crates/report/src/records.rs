//! Records: one JSON object a line, `{"type": ..., "schema": 1, ...}`, keys in snake_case with their units.
//!
//! `docs/output.md` describes every type and key, and a test compares it with what is written here. A key is added
//! without a new schema number; a meaning never changes under an old name. What is not known has no key: a zero is
//! always a measured zero. Spans are nanoseconds, points in time nanoseconds since the Unix epoch.

mod advice;
mod check;
mod connection;
mod distance;
mod echo;
mod exchange;
mod finding;
mod lab;
mod leg;
mod link;
mod load;
mod outcome;
mod program;
mod sample;
mod split;
mod tune;
mod tunnel;
mod words;

pub mod reader;
pub mod writer;

use model::Fingerprint;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// The schema number of the records written, and the greatest that is read.
pub const SCHEMA: u32 = 1;

/// A text that borrows from the line it was read from, unless an escape in it had to be resolved.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

/// A value of a record that this version does not know.
struct UnknownValue {
    key: &'static str,
    value: String,
}

impl UnknownValue {
    fn new(key: &'static str, value: &str) -> Self {
        Self {
            key,
            value: value.chars().take(SHOWN_CHARACTERS).collect(),
        }
    }
}

/// Equal texts share one allocation. Forgets all when it holds much, so that a stream of ever new texts cannot
/// fill the memory; sharing then starts anew.
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

/// Nanoseconds of `span`; spans beyond 584 years become the greatest number.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

const SHOWN_CHARACTERS: usize = 60;
const SHARED_TEXTS: usize = 65_536;
/// Texts of this size in all, and one more.
const SHARED_BYTES: usize = 32 * 1024 * 1024;
