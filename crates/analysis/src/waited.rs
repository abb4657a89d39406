//! How long a client waited for an exchange, and for what.

use model::{Exchange, Margin, Step};
use std::time::Duration;

/// How long the client waited for one exchange, and of that the server's and the network's part.
///
/// A pipelined exchange counts from the end of the reply before it, so that sums over statements count no
/// time twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExchangeWait {
    /// From the first byte of the request to the last of the reply, with the client's side of the round trip.
    pub total: Duration,
    /// Of this, the server computed.
    pub server: Duration,
    /// By how much `server` may be wrong: what is not the server's is the network's.
    pub server_margin: Margin,
    /// Of this, bytes were on their way.
    pub network: Duration,
    /// Of this, the client was still producing the request. The rest of `total` cannot be determined, or is a
    /// pooler's.
    pub client: Duration,
}

/// How long the client waited for an exchange.
pub fn waited(exchange: &Exchange) -> ExchangeWait {
    let pooler = exchange.pooler_time();
    let mut waited = of_step(&exchange.first, pooler.total());
    for step in &exchange.more {
        let more = of_step(step, Duration::ZERO);
        waited.total += more.total;
        waited.server += more.server;
        waited.server_margin.add(more.server_margin);
        waited.network += more.network;
        waited.client += more.client;
    }
    waited.network = waited.network.saturating_sub(pooler.own());
    waited
}

/// That of one step, behind whose connection a pooler took the time `pooler`.
fn of_step(step: &Step, pooler: Duration) -> ExchangeWait {
    let total = step_time(step, step.server + pooler);
    let server = step.server.min(total);
    let rest = total - server;
    let unknown = if step.server_side_rtt.is_some() {
        Duration::ZERO
    } else {
        unexplained(step).min(rest)
    };
    let client = step.client_inside_request.min(rest - unknown);
    ExchangeWait {
        total,
        server,
        server_margin: step.server_margin.within(server),
        network: rest - unknown - client,
        client,
    }
}

/// Of a step with this much time of the server and what is behind its connection.
fn step_time(step: &Step, server: Duration) -> Duration {
    let (Some(reply_started), Some(reply_ended)) = (step.reply_started, step.reply_ended) else {
        return step.request_ended.since(step.request_started);
    };
    if step.turn {
        reply_ended.since(step.request_started) + step.client_side_rtt.unwrap_or_default()
    } else {
        server - step.server_inside_reply.min(server) + reply_ended.since(reply_started)
    }
}

fn unexplained(step: &Step) -> Duration {
    step.reply_started
        .map(|at| at.since(step.request_ended))
        .unwrap_or_default()
}
