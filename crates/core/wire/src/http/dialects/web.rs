//! Programs that call databases: PostgREST (Supabase) and GraphQL.

use super::reply::{Reading, Reads, Sign};
use super::{Call, Dialect, Fit, json, push_words, target, words};
use model::{CallSyntax, Protocol};

pub(super) const POSTGREST: Dialect = Dialect {
    answers: Some(|name, value| name.eq_ignore_ascii_case(b"server") && value.starts_with(b"postgrest")),
    reads: Reading::Same(Reads::ContentRange),
    ..Dialect::new(
        Protocol::Postgrest,
        |call| {
            let is_supabase =
                call.path.starts_with(b"/rest/v1/") && call.clues.is_marked(Protocol::Postgrest);
            Fit::named(is_supabase || call.clues.is_client(&["postgrest", "PostgREST"]))
        },
        |call, text| {
            push_words(text, &[call.method, call.path]);
            if !call.query.is_empty() {
                text.push(b'?');
                text.extend_from_slice(call.query);
            }
            Some(CallSyntax::Target)
        },
    )
};

pub(super) const GRAPHQL: Dialect = Dialect {
    // Also of each of several operations.
    reads: Reading::Same(Reads::Members(&[Sign::failed(1, b"errors")])),
    ..Dialect::new(
        Protocol::Graphql,
        |call| {
            let is_its_path = target::parts(call.path).last() == Some(b"graphql");
            let is_json = call.clues.is_json() || call.clues.has_type(b"application/graphql");
            match call.parameter(b"query") {
                Some(_) if call.method == b"GET" => Fit::named(is_its_path),
                _ => Fit::if_body(call.is_post() && is_its_path && is_json),
            }
        },
        name_operation,
    )
};

fn name_operation<'a>(call: &Call<'a>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let mut document = Vec::new();
    let mut name: &[u8] = b"";
    if let Some(query) = call.parameter(b"query") {
        target::decode(query, &mut document);
        name = call.parameter(b"operationName").unwrap_or_default();
    } else if call.body.trim_ascii_start().starts_with(b"[") {
        return json::members(call.body, &[b"query"])
            .next()
            .and_then(|_| words(text, &[b"batch"]));
    } else if call.clues.is_json() {
        let names = [b"query".as_slice(), b"operationName", b"extensions"];
        let [query, operation, extensions] = json::outer(call.body, names);
        let string = |member: Option<json::Text<'a>>| member?.string();
        json::unescape(string(query).unwrap_or_default(), &mut document);
        name = string(operation).unwrap_or_default();
        if document.is_empty() {
            // A persisted query is known by its digest.
            return extensions.map(|_| words(text, &[b"query", name]))?;
        }
    } else {
        document.extend_from_slice(call.body);
    }
    let mut tokens = document
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_' && *byte != b'{')
        .filter(|token| !token.is_empty());
    let first = tokens.next()?;
    if first.starts_with(b"{") {
        return words(text, &[b"query", name]);
    }
    let is_operation = matches!(first, b"query" | b"mutation" | b"subscription" | b"fragment");
    let own = tokens
        .next()
        .filter(|token| !token.contains(&b'{'))
        .unwrap_or_default();
    let kind: &[u8] = if first == b"fragment" { b"query" } else { first };
    let own = if first == b"fragment" { b"" } else { own };
    is_operation.then(|| words(text, &[kind, if name.is_empty() { own } else { name }]))?
}
