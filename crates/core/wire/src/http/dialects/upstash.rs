//! Upstash: commands of Redis as arrays of JSON.

use super::reply::{Reading, Reads, Sign};
use super::{Call, Dialect, Fit, json, words};
use model::{CallSyntax, Protocol};

pub(super) const ROW: Dialect = Dialect {
    reads: Reading::Same(Reads::Members(&[Sign::failed(1, b"error")])),
    ..Dialect::new(
        Protocol::Upstash,
        |call| {
            let is_its_host = call.clues.host.ends_with(b".upstash.io");
            Fit::in_body((call.clues.is_marked(Protocol::Upstash) || is_its_host) && call.is_post())
        },
        name,
    )
};

/// Arguments are quoted as Redis' decoder does.
fn name(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let mut all = json::strings(call.body);
    let command = all.next().filter(|command| !command.raw.is_empty())?;
    let word = command.raw.to_ascii_uppercase();
    if !word
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
    {
        return None;
    }
    // Its client sends a command alone as a pipeline too.
    let is_alone = |argument: json::Text<'_>| argument.begun == command.begun;
    if command.depth > 1 && !json::strings(call.body).all(is_alone) {
        return words(text, &[b"pipeline", &word]);
    }
    text.extend_from_slice(&word);
    for argument in all.take(MAX_ARGUMENTS) {
        text.extend_from_slice(b" \"");
        text.extend_from_slice(argument.raw);
        text.push(b'"');
    }
    Some(CallSyntax::Statement)
}

const MAX_ARGUMENTS: usize = 4;
