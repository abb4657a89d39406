//! Stores behind HTTP: a row recognises requests by their heads, and names them by head or body.
//!
//! Names hold no keys, documents or values; statements do, as in all protocols.

mod aws;
mod clickhouse;
mod clues;
mod documents;
mod elasticsearch;
mod encoding;
mod json;
mod kept;
mod metrics;
mod naming;
mod reply;
mod sql;
mod target;
mod upstash;
mod web;

pub(crate) use clues::{Clues, ReplyClues, is_clue};
pub(crate) use kept::{Kept, KeptBody, KeptReply, MAX_BODY};
pub(crate) use naming::{BodyStart, RequestHead, name_request};
pub(crate) use reply::{Outcome, Reads};

use encoding::Encoding;
use model::{CallSyntax, Protocol};
use reply::Reading;

#[derive(Debug)]
pub(crate) struct Dialect {
    pub(crate) protocol: Protocol,
    recognise: fn(&Call<'_>) -> Fit,
    /// `None` if the request is another one after all.
    name: fn(&Call<'_>, &mut Vec<u8>) -> Option<CallSyntax>,
    answers: Option<Answers>,
    reads: Reading,
}

type Answers = fn(&[u8], &[u8]) -> bool;

impl Dialect {
    const fn new(
        protocol: Protocol,
        recognise: fn(&Call<'_>) -> Fit,
        name: fn(&Call<'_>, &mut Vec<u8>) -> Option<CallSyntax>,
    ) -> Self {
        Self {
            protocol,
            recognise,
            name,
            answers: None,
            reads: Reading::Same(Reads::Nothing),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    No,
    Named,
    InBody,
    IfBody,
}

impl Fit {
    const fn named(is_it: bool) -> Self {
        if is_it { Self::Named } else { Self::No }
    }

    const fn in_body(is_it: bool) -> Self {
        if is_it { Self::InBody } else { Self::No }
    }

    const fn if_body(is_it: bool) -> Self {
        if is_it { Self::IfBody } else { Self::No }
    }
}

#[derive(Debug)]
struct Call<'a> {
    method: &'a [u8],
    path: &'a [u8],
    query: &'a [u8],
    clues: &'a Clues<'a>,
    /// Empty if not kept, or not to be opened.
    body: &'a [u8],
}

impl<'a> Call<'a> {
    fn new(request: &'a RequestHead<'_>, body: &'a [u8]) -> Self {
        let (path, query) = target::split(request.target);
        Self {
            method: request.method,
            path,
            query,
            clues: &request.clues,
            body,
        }
    }

    fn is_post(&self) -> bool {
        self.method == b"POST"
    }

    fn parameter(&self, name: &[u8]) -> Option<&'a [u8]> {
        target::parameter(self.query, name)
    }
}

/// The dialect of a request, and whether its body names it. `known` is the connection's: a store's
/// other requests are its own too.
pub(crate) fn recognise(
    request: &RequestHead<'_>,
    has_body: bool,
    known: Option<&'static Dialect>,
) -> Option<(&'static Dialect, Fit)> {
    let call = Call::new(request, b"");
    let fit = |dialect: &'static Dialect| match ((dialect.recognise)(&call), has_body) {
        (Fit::No, _) => None,
        (found, true) => Some((dialect, found)),
        (Fit::IfBody, false) => Some((dialect, Fit::No)),
        (Fit::Named | Fit::InBody, false) => Some((dialect, Fit::Named)),
    };
    let unnamed = || known.filter(|known| known.protocol.is_database());
    let found = known
        .and_then(fit)
        .or_else(|| ROWS.iter().find_map(fit))
        .or_else(|| unnamed().map(|known| (known, Fit::Named)));
    found.filter(|(_, fit)| *fit != Fit::No)
}

fn of_response(name: &[u8], value: &[u8]) -> Option<&'static Dialect> {
    ROWS.iter()
        .find(|row| row.answers.is_some_and(|answers| answers(name, value)))
}

fn push_words(text: &mut Vec<u8>, words: &[&[u8]]) {
    for word in words.iter().filter(|word| !word.is_empty()) {
        if !text.is_empty() {
            text.push(b' ');
        }
        text.extend_from_slice(word);
    }
}

fn words(text: &mut Vec<u8>, words: &[&[u8]]) -> Option<CallSyntax> {
    push_words(text, words);
    Some(CallSyntax::Words)
}

/// Form of the words of a request for a part of a result: the next part, or the first with so many
/// rows.
fn page(is_next: bool, rows: Option<u64>) -> CallSyntax {
    let rows = rows.and_then(|rows| u32::try_from(rows).ok());
    match (is_next, rows) {
        (true, _) => CallSyntax::NextPage,
        (false, Some(rows)) => CallSyntax::FirstPage { rows },
        (false, None) => CallSyntax::Words,
    }
}

#[cfg(test)]
pub(crate) fn protocols() -> impl Iterator<Item = Protocol> {
    ROWS.iter().map(|row| row.protocol)
}

static ROWS: &[Dialect] = &[
    aws::DYNAMODB,
    aws::S3,
    aws::AWS,
    elasticsearch::ROW,
    sql::NEON,
    sql::LIBSQL,
    sql::BIGQUERY,
    sql::SNOWFLAKE,
    upstash::ROW,
    metrics::INFLUXDB,
    metrics::PROMETHEUS,
    documents::ETCD,
    documents::FIRESTORE,
    documents::COUCHDB,
    web::POSTGREST,
    web::GRAPHQL,
    // Statements on the root path need no more than that.
    clickhouse::ROW,
];

#[cfg(test)]
pub(crate) mod tests;
