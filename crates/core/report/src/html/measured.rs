//! Predictions next to measurements.

use super::markup::{
    self, DASH, cell, count, counted, cut, number, small_print, table_head, time, time_or_dash,
};
use super::predicted::rate_words;
use crate::accuracy::{Accuracy, is_within_bounds};
use crate::outcome::LabOutcome;
use maud::{Markup, html};
use model::Prediction;

/// Predictions with a measurement, each with its error. A lab's verdict covers only points that
/// differ from the captured one.
pub fn section(predictions: &[Prediction], lab: Option<&LabOutcome>) -> Markup {
    let rows: Vec<&Prediction> = predictions
        .iter()
        .filter(|prediction| prediction.measured.is_some())
        .collect();
    if rows.is_empty() {
        return Markup::default();
    }
    let accuracy = || Accuracy::from_predictions(rows.iter().copied().enumerate());
    let more = match rows.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("And {}; --json lists all. ", counted(more as u64, "more point")),
    };
    let content = html! {
        @if let Some(errors) = lab.and_then(LabOutcome::errors) {
            (verdict(errors.points, [errors.median, errors.worst], errors.within_bounds))
        } @else if let Some(accuracy) = accuracy() {
            (verdict(accuracy.points, [accuracy.median, accuracy.worst], accuracy.within_bounds))
        }
        table.stack {
            (table_head("operation", HEADINGS))
            tbody { @for prediction in rows.iter().take(SHOWN) { (row(prediction)) } }
        }
        (small_print(format!(
            "{more}Error: predicted median over measured median, less one; positive is predicted too long. Operations: how many were \
             measured. Few of them, or a duration near the floor of the link below, make an error mean little."
        )))
    };
    markup::section("measured", "Predicted and measured", content)
}

fn verdict(points: usize, [median, worst]: [f64; 2], within_bounds: usize) -> Markup {
    html! {
        p {
            "Over " (counted(points as u64, "point")) " the median error is "
            b { (format!("{:.1} %", median * 100.0)) }
            (format!(
                ", the worst {:.1} %; {within_bounds} of {points} measured medians lie between low and high.",
                worst.abs() * 100.0
            ))
        }
    }
}

fn row(prediction: &Prediction) -> Markup {
    let Some(measured) = &prediction.measured else {
        return Markup::default();
    };
    let error = prediction.error().map_or_else(
        || DASH.to_owned(),
        |error| format!("{:+.1} %", error * 100.0).replace('-', "−"),
    );
    html! {
        tr {
            th scope="row" {
                (cut(&prediction.operation_name, MAX_NAME_LEN))
                @if measured.errors > 0 { " " span.kind.bad { (counted(measured.errors, "failure")) } }
            }
            (cell("rtt", time(prediction.rtt)))
            (cell("rate", rate_words(prediction.rate)))
            (cell("clients", count(prediction.clients.into())))
            td.n data-label="predicted" { b { (time_or_dash(prediction.bounded())) } }
            td.n data-label="low to high" {
                (time(prediction.low)) " to " (time(prediction.high))
                @if !is_within_bounds(prediction) { " " span.kind.bad { "outside" } }
            }
            td.n data-label="measured" { b { (time(measured.duration)) } }
            (cell("operations", number_of(measured.operations)))
            (cell("error", error))
        }
    }
}

fn number_of(operations: u64) -> String {
    if operations < 1000 {
        count(operations)
    } else {
        number(operations as f64)
    }
}

const HEADINGS: [&str; 8] = [
    "rtt",
    "rate",
    "clients",
    "predicted",
    "low to high",
    "measured",
    "operations",
    "error",
];
const SHOWN: usize = 120;
const MAX_NAME_LEN: usize = 120;
