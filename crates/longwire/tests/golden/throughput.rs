//! Residuals of throughputs that `split` predicts, with a statement or a server left out.

use super::{Accepted, Cell, Prediction, conformal, errors};
use crate::errors::Judged;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const BEGIN: &str = "<!-- errors of tests/split -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn file() -> PathBuf {
    root().join("crates/core/predict/src/split/scales.tsv")
}

pub fn scales() -> String {
    let (cells, predicted) = measured("statement");
    conformal::table_of_scales(&cells, &predicted)
}

pub fn page() -> (PathBuf, String) {
    let mut table = HEAD.to_owned();
    let (cells, predicted) = measured("statement");
    let by_statement = conformal::leave_one_out(&cells, &predicted);
    let mut add = |name: &str, all: &[Judged<'_>], holds: &dyn Fn(&Judged<'_>) -> bool| {
        let of_class: Vec<Judged<'_>> = all.iter().filter(|one| holds(one)).cloned().collect();
        table += &errors::throughputs(name, &of_class);
    };
    for class in CLASSES {
        add(class, &by_statement, &|(_, prediction)| {
            prediction.as_ref().is_some_and(|one| one.class == class)
        });
    }
    for rtt in [2.0, 10.0, 40.0] {
        add(&format!("{rtt} ms"), &by_statement, &|(cell, _)| {
            (rtt..rtt * 1.5).contains(&cell.rtt_ms)
        });
    }
    for conditions in ["idle", "one processor"] {
        add(conditions, &by_statement, &|(cell, _)| {
            cell.operation_name.ends_with(conditions)
        });
    }
    for statement in conformal::products(&cells) {
        add(statement, &by_statement, &|(cell, _)| cell.product == statement);
    }
    add("all", &by_statement, &|_| true);
    let (cells, predicted) = measured("server");
    let by_server = conformal::leave_one_out(&cells, &predicted);
    for server in conformal::products(&cells) {
        add(&format!("{server}, itself left out"), &by_server, &|(cell, _)| {
            cell.product == server
        });
    }
    (root().join("docs/accuracy.md"), table)
}

const HEAD: &str = "\
| class | cells | predicted | median error, % | worst, % | runs differ by, % | inside the bounds, % | width, % |
|---|---|---|---|---|---|---|---|";
const CLASSES: [&str; 4] = [
    "one client, mostly network",
    "one client, computing",
    "several clients, mostly network",
    "several clients, computing",
];

fn measured(key: &str) -> (Vec<Cell>, Accepted) {
    let text = std::fs::read_to_string(root().join("tests/split/cells.jsonl")).expect("tests/split");
    let mut rows: Vec<(Cell, Option<Prediction>)> = text
        .lines()
        .map(|line| {
            let record: Value = serde_json::from_str(line).expect("a line of JSON");
            (cell(&record, key), prediction(&record))
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| a.product.cmp(&b.product));
    let predicted: BTreeMap<String, Prediction> = rows
        .iter()
        .filter_map(|(cell, prediction)| Some((cell.key(), prediction.clone()?)))
        .collect();
    let cells: Vec<Cell> = rows.into_iter().map(|(cell, _)| cell).collect();
    let accepted = Accepted::from_predictions(&cells, &predicted);
    (cells, accepted)
}

fn cell(record: &Value, key: &str) -> Cell {
    let text = |key: &str| record[key].as_str().expect("text");
    let clients = record["clients"].as_u64().expect("a number");
    let millis = |per_second: &Value| clients as f64 / per_second.as_f64().expect("a number") * 1e3;
    Cell {
        product: text(key).to_owned(),
        operation_name: ["server", "statement", "conditions"].map(text).join(", "),
        clients,
        rtt_ms: record["rtt_ns"].as_f64().expect("nanoseconds") / 1e6,
        far_ms: [0, 1].map(|run| millis(&record["measured"][run])),
    }
}

fn prediction(record: &Value) -> Option<Prediction> {
    let millis = |key: &str| Some(record[key].as_f64()? / 1e6);
    let unscaled_ms = [millis("unscaled_low_ns")?, millis("unscaled_high_ns")?];
    Some(Prediction {
        round_trips: 0.0,
        median_ms: millis("transaction_ns")?,
        is_stated: true,
        bounds_ms: unscaled_ms,
        unscaled_ms,
        class: record["bounds_class"].as_str()?.to_owned(),
    })
}
