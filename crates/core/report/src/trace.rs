//! The replayed steps of one operation in the Chrome trace event format, which chrome://tracing and
//! Perfetto show.

use crate::outcome::{ExplainOutcome, ExplainedExchange};
use model::{ConnectionId, Direction};
use serde_json::{Value, json};
use std::time::Duration;

/// A row for the operation, and one for each connection in order of first use.
pub fn chrome_trace(explained: &ExplainOutcome) -> String {
    let mut connections: Vec<ConnectionId> = Vec::new();
    let mut events = vec![
        row(OPERATION_ROW, "operation"),
        span(
            OPERATION_ROW,
            &explained.operation_name,
            [Duration::ZERO, explained.predicted],
            &json!({ "link": explained.link }),
        ),
    ];
    for step in &explained.steps {
        let place = connections
            .iter()
            .position(|connection| *connection == step.connection)
            .unwrap_or_else(|| {
                connections.push(step.connection);
                events.push(row(
                    connections.len(),
                    &format!("connection {}", connections.len()),
                ));
                connections.len() - 1
            });
        events.push(exchange(place + 1, step));
    }
    let trace = json!({ "traceEvents": events, "displayTimeUnit": "ms" });
    format!("{trace}\n")
}

fn exchange(row: usize, step: &ExplainedExchange) -> Value {
    span(
        row,
        &step.name,
        [step.started, step.completed],
        &json!({
            "round_trips": step.turns,
            "moved": step.moved,
            "request_bytes": step.bytes[Direction::ClientToServer],
            "reply_bytes": step.bytes[Direction::ServerToClient],
        }),
    )
}

fn row(number: usize, name: &str) -> Value {
    json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": { "name": name } })
}

fn span(row: usize, name: &str, [start, end]: [Duration; 2], details: &Value) -> Value {
    json!({
        "ph": "X",
        "name": name,
        "pid": 1,
        "tid": row,
        "ts": start.as_secs_f64() * 1e6,
        "dur": end.saturating_sub(start).as_secs_f64() * 1e6,
        "args": details,
    })
}

const OPERATION_ROW: usize = 0;
