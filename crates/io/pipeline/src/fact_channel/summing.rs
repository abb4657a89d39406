//! Merges pipelined exchanges.

use model::{Exchange, Phase, RequestTraits};

/// Merges `next` into `exchange`, its predecessor on the connection, if both are the same statement
/// and `next` was not waited for separately. Preserves totals of round trips, bytes, executions and
/// waiting time.
///
/// 1. A pipelined exchange counts from the end of the previous reply (`analysis::waited`), as does the rest
///    of a reply after its beginning. The server's time for `next` becomes time inside the reply.
/// 2. An exchange stays separate if it has an error, changes the transaction state, or has tags or a kept
///    literal.
pub(super) fn add_pipelined(exchange: &mut Exchange, next: &Exchange) -> bool {
    if !is_alike(exchange, next) {
        return false;
    }
    exchange.request_bytes += next.request_bytes;
    exchange.reply_bytes += next.reply_bytes;
    exchange.request_messages = exchange.request_messages.saturating_add(next.request_messages);
    exchange.reply_messages = exchange.reply_messages.saturating_add(next.reply_messages);
    exchange.executions = exchange.executions.saturating_add(next.executions);
    if let Some(rows) = next.rows {
        *exchange.rows.get_or_insert(0) += rows;
    }
    add_traits(&mut exchange.asked, &next.asked);
    let (step, more) = (&mut exchange.first, &next.first);
    step.request_bytes += more.request_bytes;
    step.reply_bytes += more.reply_bytes;
    step.reply_ended = more.reply_ended;
    step.server += more.server;
    step.server_margin.add(more.server_margin);
    step.server_inside_reply += more.server;
    step.recovery += more.recovery;
    true
}

fn is_alike(exchange: &Exchange, next: &Exchange) -> bool {
    let is_plain = |exchange: &Exchange| {
        exchange.phase == Phase::Work
            && exchange.more.is_empty()
            && exchange.first.reply_ended.is_some()
            && exchange.error.is_none()
            && exchange.literal.is_none()
            && exchange.tags.is_none()
            && exchange.levels.is_none()
            && exchange.pooler.is_none()
    };
    is_plain(exchange)
        && is_plain(next)
        && next.turns == 0
        && Some(next.at) <= exchange.first.reply_ended
        && exchange.connection == next.connection
        && exchange.fingerprint == next.fingerprint
        && exchange.transaction == next.transaction
}

fn add_traits(asked: &mut RequestTraits, next: &RequestTraits) {
    asked.prepares = asked.prepares.saturating_add(next.prepares);
    asked.prepared_executions = asked.prepared_executions.saturating_add(next.prepared_executions);
    asked.fetches = asked.fetches.saturating_add(next.fetches);
    asked.closes = asked.closes.saturating_add(next.closes);
    asked.sets = asked.sets.saturating_add(next.sets);
    asked.returns_rows |= next.returns_rows;
    asked.on_stream |= next.on_stream;
    asked.fetch_rows = next.fetch_rows.or(asked.fetch_rows);
    asked.fetch_bytes = next.fetch_bytes.or(asked.fetch_bytes);
    if asked.request_digest != next.request_digest {
        asked.request_digest = None;
    }
    if asked.rows_digest != next.rows_digest {
        asked.rows_digest = None;
    }
}
