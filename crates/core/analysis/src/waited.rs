//! A client's wait for an exchange, divided by cause.

use model::{Exchange, Margin, Step};
use std::time::Duration;

/// A pipelined exchange counts from the end of the reply before it, so sums over statements count
/// no time twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExchangeWait {
    /// First byte of the request to last of the reply, with the client's side of the round trip.
    pub total: Duration,
    /// Server time in `total`.
    pub server: Duration,
    /// Error of `server`, in exchange for network time.
    pub server_margin: Margin,
    /// Network time in `total`.
    pub network: Duration,
    /// Time in which the client still produced the request. The rest of `total` is unknown or a
    /// pooler's.
    pub client: Duration,
}

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

/// `pooler` is the time of a pooler behind the connection.
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

/// `server` includes the time behind the connection.
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
