//! Stores of time series: InfluxDB and Prometheus.

use super::reply::{Reading, Reads, Sign};
use super::{Call, Dialect, Fit, target, words};
use model::{CallSyntax, Protocol};

pub(super) const INFLUXDB: Dialect = Dialect {
    answers: Some(|name, _| {
        name.eq_ignore_ascii_case(b"x-influxdb-version") || name.eq_ignore_ascii_case(b"x-influxdb-build")
    }),
    reads: Reading::Same(Reads::Members(&[
        Sign::failed(1, b"error"),
        Sign::failed(2, b"error"),
    ])),
    ..Dialect::new(Protocol::Influxdb, recognise_influxdb, name_influxdb)
};

pub(super) const PROMETHEUS: Dialect = Dialect {
    reads: Reading::Same(Reads::Members(&[Sign::failed_if(1, b"status", b"\"error\"")])),
    ..Dialect::new(Protocol::Prometheus, recognise_prometheus, name_prometheus)
};

fn recognise_influxdb(call: &Call<'_>) -> Fit {
    let is_clients = || call.clues.is_client(&["influx", "python-influxdb"]);
    let has = |name: &[u8]| call.parameter(name).is_some();
    match call.path {
        b"/query" => match call.parameter(b"q") {
            Some(text) => Fit::named(is_clients() || (target::begins_sql(text) && has(b"db"))),
            None => Fit::if_body(call.is_post() && call.clues.is_form()),
        },
        b"/write" => Fit::named(call.is_post() && has(b"db")),
        b"/api/v2/write" => Fit::named(call.is_post() && has(b"bucket")),
        b"/api/v2/query" => Fit::named(call.is_post() && (is_clients() || has(b"org") || has(b"orgID"))),
        _ => Fit::No,
    }
}

fn name_influxdb(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    match call.path {
        b"/query" => {
            let query = call
                .parameter(b"q")
                .or_else(|| target::parameter(call.body, b"q"))?;
            let is_it = target::begins_sql(query) || call.clues.is_client(&["influx"]);
            target::decode(query, text);
            is_it.then_some(CallSyntax::Statement)
        }
        b"/write" => words(text, &[b"write", call.parameter(b"db").unwrap_or_default()]),
        b"/api/v2/write" => words(text, &[b"write", call.parameter(b"bucket").unwrap_or_default()]),
        b"/api/v2/query" => words(text, &[b"query"]),
        _ => None,
    }
}

/// Its paths are common, so its parameters have to fit too.
fn recognise_prometheus(call: &Call<'_>) -> Fit {
    let Some(word) = operation(call.path) else {
        return Fit::No;
    };
    let has = |name: &[u8]| call.parameter(name).is_some();
    let is_clients = call.clues.is_client(&["prom", "grafana", "PrometheusConnect"]);
    match word {
        _ if is_clients => Fit::Named,
        b"query" if call.is_post() && call.clues.is_form() => Fit::IfBody,
        b"query_range" if call.is_post() && call.clues.is_form() => Fit::IfBody,
        b"query" => Fit::named(has(b"query") && has(b"time")),
        b"query_range" => Fit::named(has(b"query") && has(b"start") && has(b"step")),
        _ => Fit::named(has(b"match[]") || has(b"match%5B%5D")),
    }
}

/// Never the expression: it holds values.
fn name_prometheus(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let word = operation(call.path)?;
    let has = |name: &[u8]| call.parameter(name).is_some() || target::parameter(call.body, name).is_some();
    let is_named =
        !call.is_post() || (has(b"query") && (has(b"time") || has(b"step"))) || call.body.is_empty();
    is_named.then(|| words(text, &[word]))?
}

fn operation(path: &[u8]) -> Option<&[u8]> {
    let rest = path.strip_prefix(b"/api/v1/")?;
    let is_label = rest.starts_with(b"label/") && rest.ends_with(b"/values");
    let known = [
        b"query".as_slice(),
        b"query_range",
        b"series",
        b"labels",
        b"query_exemplars",
    ];
    if is_label {
        return Some(b"label_values");
    }
    known.contains(&rest).then_some(rest)
}
