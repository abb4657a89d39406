//! ClickHouse's HTTP interface: a statement is in the parameter `query` or in the body.

use super::reply::{MatchText, Reading, Reads};
use super::{Call, Dialect, Fit, target};
use model::{CallSyntax, Protocol};

pub(super) const ROW: Dialect = Dialect {
    answers: Some(|name, _| {
        let beginning = name.get(..b"x-clickhouse-".len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(b"x-clickhouse-"))
    }),
    // An exception after the first rows ends the body.
    reads: Reading::Same(Reads::Text(MatchText::LastLine(b"Code: ", b"DB::Exception"))),
    ..Dialect::new(Protocol::Clickhouse, recognise, name)
};

fn recognise(call: &Call<'_>) -> Fit {
    if call.path != b"/" || !(call.is_post() || call.method == b"GET") {
        return Fit::No;
    }
    let query = call.parameter(b"query");
    let is_clients = call.clues.is_marked(Protocol::Clickhouse) || call.clues.is_client(&CLIENTS);
    let is_it = is_clients || query.is_some_and(target::begins_sql);
    match (is_it, query) {
        (true, Some(query)) if !query.is_empty() => Fit::Named,
        (true, _) => Fit::in_body(call.is_post()),
        (false, _) => Fit::if_body(call.is_post() && is_plain(call)),
    }
}

/// A body that may be a statement; curl says that it is a form.
fn is_plain(call: &Call<'_>) -> bool {
    let clues = call.clues;
    clues.content_type.is_empty() || clues.is_form() || clues.has_type(b"text/plain")
}

fn name(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    match call.parameter(b"query").filter(|query| !query.is_empty()) {
        Some(query) => target::decode(query, text),
        None => text.extend_from_slice(call.body),
    }
    without_rows(text);
    (call.clues.is_marked(Protocol::Clickhouse)
        || call.clues.is_client(&CLIENTS)
        || target::begins_sql(text))
    .then_some(())
    .filter(|()| !text.is_empty())?;
    Some(CallSyntax::Statement)
}

/// Rows follow an INSERT in another format, and its name does not depend on them.
fn without_rows(text: &mut Vec<u8>) {
    let word = text.trim_ascii_start().get(..6);
    if !word.is_some_and(|word| word.eq_ignore_ascii_case(b"insert")) {
        return;
    }
    let format = text
        .windows(FORMAT.len())
        .position(|word| word.eq_ignore_ascii_case(FORMAT));
    if let Some(place) = format {
        let name = text.get(place + FORMAT.len()..).unwrap_or_default();
        let length = name.iter().position(|byte| !byte.is_ascii_alphanumeric());
        text.truncate(place + FORMAT.len() + length.unwrap_or(name.len()));
    }
}

const FORMAT: &[u8] = b" format ";
const CLIENTS: [&str; 4] = ["clickhouse", "ch-go", "ClickHouse-Java", "Go-clickhouse"];
