//! Predictions next to measurements.

use super::markup::{DASH, count, counted, cut, number, time};
use super::old::{Escaped, small_print};
use super::predicted::rate_words;
use crate::accuracy::{Accuracy, is_within_bounds};
use crate::outcome::LabOutcome;
use model::Prediction;
use std::fmt::Write;

/// Predictions with a measurement, each with its error. A lab's verdict covers only points that
/// differ from the captured one.
pub fn section(predictions: &[Prediction], lab: Option<&LabOutcome>, out: &mut String) {
    let rows: Vec<&Prediction> = predictions
        .iter()
        .filter(|prediction| prediction.measured.is_some())
        .collect();
    if rows.is_empty() {
        return;
    }
    out.push_str(
        "<section aria-labelledby=\"h-measured\">\n<h2 id=\"h-measured\">Predicted and measured</h2>\n",
    );
    match lab.and_then(LabOutcome::errors) {
        Some(errors) => verdict(
            errors.points,
            errors.median,
            errors.worst,
            errors.within_bounds,
            out,
        ),
        None => {
            if let Some(accuracy) = Accuracy::from_predictions(rows.iter().copied().enumerate()) {
                verdict(
                    accuracy.points,
                    accuracy.median,
                    accuracy.worst,
                    accuracy.within_bounds,
                    out,
                );
            }
        }
    }
    out.push_str(
        "<table class=\"stack\">\n<thead><tr><th scope=\"col\">operation</th><th scope=\"col\" class=\"n\">rtt</th>\
         <th scope=\"col\" class=\"n\">rate</th><th scope=\"col\" class=\"n\">clients</th><th scope=\"col\" class=\"n\">predicted</th>\
         <th scope=\"col\" class=\"n\">low to high</th><th scope=\"col\" class=\"n\">measured</th><th scope=\"col\" class=\"n\">operations</th>\
         <th scope=\"col\" class=\"n\">error</th></tr></thead>\n<tbody>\n",
    );
    for row in rows.iter().take(SHOWN) {
        table_row(row, out);
    }
    out.push_str("</tbody></table>\n");
    let more = match rows.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("And {}; --json lists all. ", counted(more as u64, "more point")),
    };
    small_print(
        &format!(
            "{more}Error: predicted median over measured median, less one; positive is predicted too long. Operations: how many were \
             measured. Few of them, or a duration near the floor of the link below, make an error mean little."
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn verdict(points: usize, median: f64, worst: f64, within_bounds: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "<p>Over {} the median error is <b>{:.1} %</b>, the worst {:.1} %; {within_bounds} of {points} measured medians lie between low \
         and high.</p>",
        counted(points as u64, "point"),
        median * 100.0,
        worst.abs() * 100.0,
    );
}

fn table_row(row: &Prediction, out: &mut String) {
    let Some(measured) = &row.measured else { return };
    let failed = if measured.errors > 0 {
        format!(
            " <span class=\"kind bad\">{}</span>",
            counted(measured.errors, "failure")
        )
    } else {
        String::new()
    };
    let error = row.error().map_or_else(
        || DASH.to_owned(),
        |error| format!("{:+.1} %", error * 100.0).replace('-', "−"),
    );
    let outside = if is_within_bounds(row) {
        ""
    } else {
        " <span class=\"kind bad\">outside</span>"
    };
    let _ = writeln!(
        out,
        "<tr><th scope=\"row\">{}{failed}</th><td class=\"n\" data-label=\"rtt\">{}</td><td class=\"n\" data-label=\"rate\">{}</td>\
         <td class=\"n\" data-label=\"clients\">{}</td><td class=\"n\" data-label=\"predicted\"><b>{}</b></td>\
         <td class=\"n\" data-label=\"low to high\">{} to {}{outside}</td><td class=\"n\" data-label=\"measured\"><b>{}</b></td>\
         <td class=\"n\" data-label=\"operations\">{}</td><td class=\"n\" data-label=\"error\">{error}</td></tr>",
        Escaped(&cut(&row.operation_name, MAX_NAME_LEN)),
        time(row.rtt),
        rate_words(row.rate),
        count(row.clients.into()),
        time(row.duration),
        time(row.low),
        time(row.high),
        time(measured.duration),
        number_of(measured.operations),
    );
}

fn number_of(operations: u64) -> String {
    if operations < 1000 {
        count(operations)
    } else {
        number(operations as f64)
    }
}

const SHOWN: usize = 120;
const MAX_NAME_LEN: usize = 120;
