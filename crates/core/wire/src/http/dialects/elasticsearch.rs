//! Elasticsearch and OpenSearch.

use super::reply::{Reading, Reads, Sign};
use super::{Call, Dialect, Fit, json, page, target, words};
use model::{CallSyntax, Protocol};

pub(super) const ROW: Dialect = Dialect {
    answers: Some(|name, value| name.eq_ignore_ascii_case(b"x-elastic-product") && value == b"Elasticsearch"),
    reads: Reading::ByName(
        |name| match name.split(|byte| matches!(byte, b' ' | b'?')).next() {
            Some(b"bulk") => Reads::Members(const { &[Sign::failed(1, b"errors")] }),
            Some(b"msearch" | b"mget") => Reads::Members(const { &[Sign::failed(2, b"error")] }),
            // Of failed shards the hits are missing.
            Some(b"search" | b"scroll") => {
                Reads::Members(const { &[Sign::failed(2, b"failed"), Sign::row(3, b"_id")] })
            }
            _ => Reads::Nothing,
        },
    ),
    ..Dialect::new(Protocol::Elasticsearch, |call| Fit::in_body(is_it(call)), name)
};

fn is_it(call: &Call<'_>) -> bool {
    let clues = call.clues;
    let is_clients = clues.is_marked(Protocol::Elasticsearch)
        || clues.is_client(&CLIENTS)
        || clues.has_type(b"application/vnd.elasticsearch+");
    let is_operation = || {
        let has_json = clues.is_json() || clues.has_type(b"application/x-ndjson");
        has_json && operation(call).is_some_and(|(word, _)| ITS_OWN.contains(&word))
    };
    is_clients || is_operation()
}

// The part that begins with an underscore, and the index.
fn operation<'a>(call: &Call<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let mut index: &[u8] = b"";
    for (place, part) in target::parts(call.path).enumerate() {
        match part {
            [b'_', word @ ..] => return Some((word, index)),
            _ if place == 0 => index = part,
            _ => return None,
        }
    }
    None
}

fn name(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let (operation, index) = operation(call)?;
    let word: &[u8] = match (operation, call.method) {
        (b"doc" | b"create" | b"source", b"PUT" | b"POST") => b"index",
        (b"doc" | b"source", b"GET") => b"get",
        (b"doc" | b"source", b"HEAD") => b"exists",
        (b"doc", b"DELETE") => b"delete",
        (b"search", _) if target::parts(call.path).any(|part| part == b"scroll") => {
            words(
                text,
                &[if call.method == b"DELETE" {
                    b"clear_scroll"
                } else {
                    b"scroll"
                }],
            )?;
            return Some(match call.method {
                b"DELETE" => CallSyntax::Words,
                _ => CallSyntax::NextPage,
            });
        }
        (b"search", _) => return name_search(call, index, text),
        (operation, _) if NAMED.contains(&operation) => operation,
        _ => return None,
    };
    words(text, &[word, index])
}

/// A user may want the page that begins at `from`; `search_after` continues behind the last hit.
fn name_search(call: &Call<'_>, index: &[u8], text: &mut Vec<u8>) -> Option<CallSyntax> {
    let names = [b"from".as_slice(), b"size", b"search_after"];
    let [from, size, after] = json::outer(call.body, names);
    words(text, &[b"search", index])?;
    if from.is_some() || call.parameter(b"from").is_some() {
        text.extend_from_slice(b"?from");
    }
    let size = size
        .and_then(|size| size.number())
        .or_else(|| call.parameter(b"size").and_then(target::number));
    Some(page(after.is_some(), size))
}

const CLIENTS: [&str; 6] = [
    "elasticsearch",
    "elastic-",
    "opensearch",
    "go-elasticsearch",
    "es-transport",
    "elastic/",
];

/// Without its client's name, only these are taken for its own.
const ITS_OWN: [&[u8]; 8] = [
    b"search",
    b"msearch",
    b"bulk",
    b"mget",
    b"doc",
    b"update_by_query",
    b"delete_by_query",
    b"count",
];

const NAMED: [&[u8]; 15] = [
    b"search",
    b"msearch",
    b"bulk",
    b"mget",
    b"count",
    b"update",
    b"update_by_query",
    b"delete_by_query",
    b"refresh",
    b"explain",
    b"field_caps",
    b"pit",
    b"termvectors",
    b"reindex",
    b"flush",
];
