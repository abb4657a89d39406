//! SQL in JSON: Neon, libSQL (Turso), BigQuery, Snowflake.

use super::{Call, Dialect, Fit, json, target, words};
use model::{CallSyntax, Protocol};

pub(super) const NEON: Dialect = Dialect::new(
    Protocol::Neon,
    |call| Fit::in_body(call.clues.is_marked(Protocol::Neon) && call.path == b"/sql"),
    |call, text| statements(call, &[b"query"], text).or_else(|| words(text, &[b"sql"])),
);

pub(super) const LIBSQL: Dialect = Dialect::new(
    Protocol::Libsql,
    |call| Fit::if_body(call.is_post() && PIPELINES.contains(&call.path)),
    |call, text| {
        let has_requests = json::has_key(call.body, b"requests") || json::has_key(call.body, b"stmt");
        let is_it = has_requests || json::has_key(call.body, b"batch");
        is_it.then(|| statements(call, &[b"sql"], text).or_else(|| words(text, &[b"pipeline"])))?
    },
);

pub(super) const BIGQUERY: Dialect = Dialect::new(
    Protocol::Bigquery,
    |call| match call.path.starts_with(b"/bigquery/v2/projects/") {
        true if call.is_post() => Fit::InBody,
        is_it => Fit::named(is_it),
    },
    name_job,
);

pub(super) const SNOWFLAKE: Dialect = Dialect::new(
    Protocol::Snowflake,
    |call| {
        let is_its_path = call.path.starts_with(b"/queries/v1/") || call.path.starts_with(b"/session/v1/");
        let is_statement = call.path.starts_with(b"/api/v2/statements") && is_snowflake(call);
        match is_its_path && (is_snowflake(call) || call.parameter(b"requestId").is_some()) || is_statement {
            true if call.is_post() => Fit::InBody,
            is_it => Fit::named(is_it),
        }
    },
    name_query,
);

fn is_snowflake(call: &Call<'_>) -> bool {
    let clues = call.clues;
    let is_host = clues.host.windows(MARK.len()).any(|part| part == MARK);
    let is_token = clues.authorization.starts_with(b"Snowflake ");
    clues.is_marked(Protocol::Snowflake) || is_host || is_token
}

fn statements(call: &Call<'_>, names: &[&[u8]], text: &mut Vec<u8>) -> Option<CallSyntax> {
    for raw in json::members(call.body, names) {
        if !text.is_empty() {
            text.extend_from_slice(b"; ");
        }
        json::unescape(raw, text);
    }
    (!text.is_empty()).then_some(CallSyntax::Statement)
}

fn name_job(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    if let Some(statement) = statements(call, &[b"query"], text) {
        return Some(statement);
    }
    let last = target::parts(call.path).last().unwrap_or_default();
    let kind = target::parts(call.path).nth(4).unwrap_or_default();
    match (call.method, kind) {
        (b"GET", b"queries") => {
            words(text, &[b"getQueryResults"])?;
            let is_next = call.parameter(b"pageToken").is_some();
            Some(if is_next {
                CallSyntax::NextPage
            } else {
                CallSyntax::Words
            })
        }
        (b"GET", b"jobs") if last != b"jobs" => words(text, &[b"getJob"]),
        (b"POST", b"jobs" | b"queries") => words(text, &[b"insertJob"]),
        (b"POST", _) if last == b"insertAll" => words(text, &[b"insertAll"]),
        _ => None,
    }
}

fn name_query(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    if let Some(raw) = json::member(call.body, b"sqlText").or_else(|| json::member(call.body, b"statement")) {
        json::unescape(raw, text);
        return Some(CallSyntax::Statement);
    }
    match target::parts(call.path).nth(2) {
        Some(word @ (b"query-request" | b"abort-request" | b"login-request" | b"token-request")) => {
            words(text, &[word])
        }
        _ => None,
    }
}

const MARK: &[u8] = b".snowflakecomputing.";
const PIPELINES: [&[u8]; 6] = [
    b"/v2/pipeline",
    b"/v3/pipeline",
    b"/v1/execute",
    b"/v1/batch",
    b"/v2/cursor",
    b"/v3/cursor",
];
