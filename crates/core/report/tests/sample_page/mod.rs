//! A page with all sections: a grid with clients, measured points, an emulated link, a page of two
//! connections.

#![allow(dead_code, reason = "each test uses a part of it")]

use super::samples::{
    exchange, link, measured, micros, operation, operation_step, prediction, read_outcome, step,
};
use model::{
    BitRate, ConnectionId, Exchange, LinkOutcome, Operation, OperationStep, PerDirection, Prediction,
    Protocol, Step,
};
use report::ReadOutcome;
use report::html::{Grid, Page};
use std::time::Duration;

pub struct Sample {
    pub outcome: ReadOutcome,
    pub example: Operation,
    pub moves: Vec<bool>,
    pub grid: Grid,
    pub links: Vec<LinkOutcome>,
}

impl Sample {
    pub fn page(&self) -> Page<'_> {
        Page {
            title: "shop.pcap",
            outcome: &self.outcome,
            example: Some(&self.example),
            moves: &self.moves,
            grid: Some(&self.grid),
            links: &self.links,
            lab: None,
        }
    }
}

pub fn html(page: &Page<'_>) -> String {
    let mut out = Vec::new();
    report::html::write(page, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("a page is UTF-8")
}

/// A sum that can be interpolated exactly: 9,892 us, the round trips, and 1 Mbit over the rate;
/// proportionally more with more clients.
pub fn duration(turns: f64, rtt_millis: f64, rate_mbit: Option<f64>, clients: u32) -> Duration {
    let micros = 9_892.0 + turns * rtt_millis * 1000.0 + rate_mbit.map_or(0.0, |rate| 1e6 / rate);
    Duration::from_nanos((micros * 1000.0 * f64::from(clients)) as u64)
}

pub fn full() -> Sample {
    let names = [("GET /article/?", 27.0), ("PUT /basket", 29.0)];
    let mut predictions = Vec::new();
    for (name, turns) in names {
        for clients in [1, 16] {
            for rate in [None, Some(100.0), Some(1.0)] {
                for rtt in [0, 1, 10, 40, 120, 200] {
                    predictions.push(cell(name, turns, rtt, rate, clients));
                }
            }
        }
    }
    let mut outcome = read_outcome();
    let proven = [10_u64, 40].map(|rtt| Prediction {
        measured: Some(measured(100, 9_500 + 27_300 * rtt)),
        ..cell(names[0].0, names[0].1, rtt, None, 1)
    });
    outcome.predictions = proven.to_vec();
    Sample {
        outcome,
        moves: web_page()
            .steps
            .iter()
            .map(|step| step.protocol.is_database())
            .collect(),
        example: web_page(),
        grid: Grid {
            predictions,
            seen: 1_200,
            replayed: 250,
            names_left_out: 0,
            moved: "all database connections".to_owned(),
            measured_rtt: Some(micros(40)),
            link: String::new(),
        },
        links: vec![link()],
    }
}

fn cell(name: &str, turns: f64, rtt: u64, rate: Option<f64>, clients: u32) -> Prediction {
    let duration = duration(turns, rtt as f64, rate, clients);
    let bits = rate.and_then(|rate| BitRate::from_bits_per_second((rate * 1e6) as u64));
    Prediction {
        rate: PerDirection::splat(bits),
        clients,
        duration,
        low: duration.mul_f64(0.9),
        high: duration.mul_f64(1.1),
        ..prediction(name, rtt, turns, None)
    }
}

/// An HTTP request with `calls` calls to a database, and a different statement each second time.
pub fn web_page() -> Operation {
    web_page_of(12)
}

pub fn web_page_of(calls: u64) -> Operation {
    let base = operation();
    let half = micros(16);
    let begin = base.at.after(half);
    let mut at = begin.after(micros(900));
    let mut steps = Vec::new();
    for call in 0..calls {
        let mut next = operation_step();
        next.exchange = exchange_at(ConnectionId(3), step(at));
        if call % 2 == 1 {
            next.exchange.fingerprint = Some("SELECT count(*) FROM review WHERE article_id = ?".into());
        }
        next.after = Some(call as u32);
        next.after_start = call == 0;
        at = next.exchange.ended().after(micros(150));
        steps.push(next);
    }
    let reply = at.after(micros(400));
    let http = Step {
        request_started: begin,
        request_ended: begin,
        reply_started: Some(reply),
        reply_ended: Some(reply.after(micros(50))),
        server: micros(400),
        server_side_rtt: Some(Duration::ZERO),
        ..step(begin)
    };
    steps.insert(
        0,
        OperationStep {
            exchange: Exchange {
                fingerprint: Some("GET /article/?".into()),
                ..exchange_at(ConnectionId(9), http)
            },
            protocol: Protocol::Http,
            after: None,
            client_before: Duration::ZERO,
            also_after: Vec::new(),
            reply_after: Some(calls as u32),
            reply_also_after: Vec::new(),
            assigned: None,
            probability: None,
            outside_requests: false,
            is_call: false,
            ..operation_step()
        },
    );
    Operation {
        duration: reply.after(micros(66)).since(base.at),
        turns: calls as u32 + 1,
        steps,
        ..base
    }
}

fn exchange_at(connection: ConnectionId, first: Step) -> Exchange {
    Exchange {
        connection,
        at: first.request_started,
        first,
        ..exchange()
    }
}
