//! Stores of keys and documents: etcd, Firestore, CouchDB.

use super::reply::{Reading, Reads, Sign};
use super::{Call, Dialect, Fit, json, page, target, words};
use model::{CallSyntax, Protocol};

pub(super) const ETCD: Dialect = Dialect::new(
    Protocol::Etcd,
    |call| Fit::in_body(call.is_post() && etcd_operation(call.path).is_some()),
    |call, text| words(text, &[etcd_operation(call.path)?]),
);

pub(super) const FIRESTORE: Dialect = Dialect {
    // The fields of a document may have any name.
    reads: Reading::ByName(|name| match name.split(|&byte| byte == b' ').next() {
        Some(b"list") => Reads::Members(const { &[Sign::row(2, b"name")] }),
        Some(b"batchWrite") => Reads::Members(const { &[Sign::failed(2, b"code")] }),
        Some(b"runQuery") => {
            Reads::Members(const { &[Sign::failed(1, b"error"), Sign::row(1, b"document")] })
        }
        Some(b"batchGet") => Reads::Members(const { &[Sign::failed(1, b"error"), Sign::row(1, b"found")] }),
        _ => Reads::Nothing,
    }),
    ..Dialect::new(
        Protocol::Firestore,
        |call| match firestore_documents(call.path) {
            Some(_) if call.is_post() => Fit::InBody,
            found => Fit::named(found.is_some()),
        },
        name_firestore,
    )
};

pub(super) const COUCHDB: Dialect = Dialect {
    answers: Some(|name, value| name.eq_ignore_ascii_case(b"server") && value.starts_with(b"CouchDB")),
    // A document may have such a member too.
    reads: Reading::ByName(|name| match name.starts_with(b"bulk_docs") {
        true => Reads::Members(const { &[Sign::failed(1, b"error")] }),
        false => Reads::Nothing,
    }),
    ..Dialect::new(
        Protocol::Couchdb,
        |call| Fit::in_body(is_couchdb(call)),
        name_couchdb,
    )
};

fn etcd_operation(path: &[u8]) -> Option<&[u8]> {
    let versions = [b"/v3/".as_slice(), b"/v3beta/", b"/v3alpha/"];
    let rest = versions.iter().find_map(|version| path.strip_prefix(*version))?;
    let mut parts = rest.split(|&byte| byte == b'/');
    let found = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        (b"kv", Some(word), None, None) => word,
        (b"lease", Some(word), None, None) | (b"kv", Some(b"lease"), Some(word), None) => word,
        (b"auth", Some(b"authenticate"), None, None) => b"authenticate",
        _ => return None,
    };
    ETCD_WORDS.contains(&found).then_some(found)
}

// `/v1/projects/P/databases/D/documents/PATH`.
fn firestore_documents(path: &[u8]) -> Option<&[u8]> {
    if !path.starts_with(b"/v1/projects/") && !path.starts_with(b"/v1beta1/projects/") {
        return None;
    }
    let place = path.windows(DOCUMENTS.len()).position(|part| part == DOCUMENTS)?;
    let is_database = path.windows(DATABASES.len()).any(|part| part == DATABASES);
    is_database.then(|| path.get(place + DOCUMENTS.len()..))?
}

/// Paths alternate between collections and documents.
fn name_firestore(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let rest = firestore_documents(call.path)?;
    let colon = rest.iter().rposition(|&byte| byte == b':');
    let is_verb = |&place: &usize| FIRESTORE_VERBS.contains(&&rest[place + 1..]);
    let (path, verb) = rest.split_at(colon.filter(is_verb).unwrap_or(rest.len()));
    let count = target::parts(path).count();
    let last_collection = target::parts(path)
        .nth(count.saturating_sub(1) / 2 * 2)
        .unwrap_or_default();
    if let Some(verb) = verb.get(1..).filter(|verb| !verb.is_empty()) {
        let collection = json::members(call.body, &[b"collectionId"]).next();
        return words(text, &[verb, collection.unwrap_or(last_collection)]);
    }
    let word: &[u8] = match (call.method, count % 2) {
        (b"GET", 0) => b"get",
        (b"GET", _) => b"list",
        (b"POST", _) => b"createDocument",
        (b"PATCH", _) => b"patch",
        (b"DELETE", _) => b"delete",
        _ => return None,
    };
    words(text, &[word, last_collection])?;
    let limit = call.parameter(b"pageSize").and_then(target::number);
    Some(page(call.parameter(b"pageToken").is_some(), limit))
}

fn is_couchdb(call: &Call<'_>) -> bool {
    let is_operation = || {
        let word = target::parts(call.path).nth(1);
        word.is_some_and(|word| COUCHDB_WORDS.contains(&word))
    };
    call.clues
        .is_client(&["nano/", "couchdb", "python-cloudant", "follow"])
        || is_operation()
}

fn name_couchdb(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let mut parts = target::parts(call.path);
    let database = parts.next().filter(|name| !name.starts_with(b"_"))?;
    let word: &[u8] = match (parts.next(), call.method) {
        (Some(b"_design"), b"GET" | b"POST") if target::parts(call.path).nth(3) == Some(b"_view") => b"view",
        (Some(part @ [b'_', word @ ..]), _) if COUCHDB_WORDS.contains(&part) => word,
        (Some(_), b"GET") => b"get",
        (Some(_), b"HEAD") => b"head",
        (Some(_), b"PUT") | (None, b"POST") => b"put",
        (Some(_), b"DELETE") => b"delete",
        _ => return None,
    };
    words(text, &[word, database])
}

const DOCUMENTS: &[u8] = b"/documents";
const DATABASES: &[u8] = b"/databases/";
const FIRESTORE_VERBS: [&[u8]; 8] = [
    b"runQuery",
    b"runAggregationQuery",
    b"batchGet",
    b"batchWrite",
    b"commit",
    b"beginTransaction",
    b"rollback",
    b"listCollectionIds",
];
const ETCD_WORDS: [&[u8]; 11] = [
    b"range",
    b"put",
    b"deleterange",
    b"txn",
    b"compaction",
    b"grant",
    b"revoke",
    b"keepalive",
    b"timetolive",
    b"leases",
    b"authenticate",
];
const COUCHDB_WORDS: [&[u8]; 6] = [
    b"_all_docs",
    b"_find",
    b"_bulk_docs",
    b"_bulk_get",
    b"_changes",
    b"_revs_diff",
];
