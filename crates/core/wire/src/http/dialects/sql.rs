//! SQL in JSON: Neon, libSQL (Turso), BigQuery, Snowflake.

use super::reply::{Reading, Reads, Sign};
use super::{Call, Dialect, Fit, json, page, target, words};
use model::{CallSyntax, Protocol};

pub(super) const NEON: Dialect = Dialect {
    // Several statements have a result each.
    reads: Reading::Same(Reads::Members(&[
        Sign::rows(1, b"rowCount"),
        Sign::rows(2, b"rowCount"),
    ])),
    ..Dialect::new(
        Protocol::Neon,
        |call| Fit::in_body(call.clues.is_marked(Protocol::Neon) && call.path == b"/sql"),
        |call, text| statements(call, &[b"query"], text).or_else(|| words(text, &[b"sql"])),
    )
};

pub(super) const LIBSQL: Dialect = Dialect {
    reads: Reading::Same(Reads::Members(&[Sign::failed(2, b"error")])),
    ..Dialect::new(
        Protocol::Libsql,
        |call| Fit::if_body(call.is_post() && PIPELINES.contains(&call.path)),
        |call, text| {
            let parts = json::outer(call.body, [b"requests".as_slice(), b"stmt", b"batch"]);
            let is_it = parts.iter().any(Option::is_some);
            is_it.then(|| statements(call, &[b"sql"], text).or_else(|| words(text, &[b"pipeline"])))?
        },
    )
};

pub(super) const BIGQUERY: Dialect = Dialect {
    reads: Reading::Same(Reads::Members(&[
        Sign::failed(1, b"errors"),
        Sign::failed(1, b"insertErrors"),
        Sign::failed(2, b"errorResult"),
        Sign::row(2, b"f"),
    ])),
    ..Dialect::new(
        Protocol::Bigquery,
        |call| match call.path.starts_with(b"/bigquery/v2/projects/") {
            true if call.is_post() => Fit::InBody,
            is_it => Fit::named(is_it),
        },
        name_job,
    )
};

pub(super) const SNOWFLAKE: Dialect = Dialect {
    reads: Reading::Same(Reads::Members(&[
        Sign::failed_if(1, b"success", b"false"),
        Sign::rows(2, b"returned"),
    ])),
    ..Dialect::new(Protocol::Snowflake, recognise_snowflake, name_query)
};

fn recognise_snowflake(call: &Call<'_>) -> Fit {
    let is_its_path = call.path.starts_with(b"/queries/v1/") || call.path.starts_with(b"/session/v1/");
    let is_statement = call.path.starts_with(b"/api/v2/statements") && is_snowflake(call);
    match is_its_path && (is_snowflake(call) || call.parameter(b"requestId").is_some()) || is_statement {
        true if call.is_post() => Fit::InBody,
        is_it => Fit::named(is_it),
    }
}

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
            let limit = call.parameter(b"maxResults").and_then(target::number);
            Some(page(call.parameter(b"pageToken").is_some(), limit))
        }
        (b"GET", b"jobs") if last != b"jobs" => words(text, &[b"getJob"]),
        (b"POST", b"jobs" | b"queries") => words(text, &[b"insertJob"]),
        (b"POST", _) if last == b"insertAll" => words(text, &[b"insertAll"]),
        _ => None,
    }
}

fn name_query(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let [own, of_api] = json::outer(call.body, [b"sqlText".as_slice(), b"statement"]);
    if let Some(raw) = own.or(of_api).and_then(|member| member.string()) {
        json::unescape(raw, text);
        return Some(CallSyntax::Statement);
    }
    // Further parts of a result, by number.
    if call.parameter(b"partition").is_some() {
        words(text, &[b"partition"])?;
        return Some(CallSyntax::NextPage);
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
