//! Figures that appear several times are equal in text, page and records.

mod sample_page;
mod samples;

use model::{Prediction, StatementOutcome, format_duration};
use proptest::collection::vec;
use proptest::prelude::*;
use report::html::Page;
use report::outcome::{LabOutcome, LabPoint};
use report::text::{lab_view, prediction_view, read_view};
use report::{Colour, Extent, JsonWriter, ReadOutcome, Style};
use samples::{micros, prediction, statement};
use serde_json::Value;
use std::time::Duration;

const ALL: Style = Style {
    width: 400,
    colour: Colour::Plain,
    extent: Extent::All,
};

fn statements() -> impl Strategy<Value = Vec<StatementOutcome>> {
    vec(
        (1_u64..5_000_000, 0_u64..9_999, 1_u64..900_000, 1_u64..90_000_000),
        1..8,
    )
    .prop_map(|rows| {
        let numbered = rows.into_iter().enumerate();
        let made = numbered.map(|(number, (calls, more, each, median))| {
            let plain = statement(&format!("select from relation{number}"), calls, calls + more);
            StatementOutcome {
                text_source: None,
                total: micros(calls * each),
                server: micros(calls * each / 3),
                server_margin: model::Margin {
                    below: micros(calls * each / 9),
                    above: micros(calls),
                },
                network: micros(calls * each / 2),
                spread: model::Distribution {
                    p50: Some(micros(median)),
                    ..plain.spread
                },
                ..plain
            }
        });
        made.collect()
    })
}

fn predictions() -> impl Strategy<Value = Vec<Prediction>> {
    vec(
        (1_u64..90_000_000, 67_u64..100, 100_u64..200, 500_u64..2_000),
        1..9,
    )
    .prop_map(|rows| {
        let numbered = rows.into_iter().enumerate();
        let made = numbered.map(|(number, (middle, low, high, off))| Prediction {
            duration: micros(middle * 100),
            low: micros(middle * low),
            high: micros(middle * high),
            measured: Some(samples::measured(20 + number as u64, middle * off / 10 + 1)),
            ..prediction(&format!("GET /page{}/?", letters(number)), 10, 3.0, None)
        });
        made.collect()
    })
}

fn letters(number: usize) -> String {
    char::from(b'a' + number as u8).to_string()
}

fn records(write: impl FnOnce(&mut JsonWriter<Vec<u8>>)) -> Vec<Value> {
    let mut writer = JsonWriter::new(Vec::new());
    write(&mut writer);
    let bytes = writer.into_inner().expect("memory takes it");
    let text = String::from_utf8(bytes).expect("records are UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record is JSON"))
        .collect()
}

fn text_row(view: &str, name: &str) -> Vec<String> {
    let line = view
        .lines()
        .find(|line| line.trim_start().starts_with(name))
        .unwrap_or_else(|| panic!("no line of {name} in:\n{view}"));
    let cells = line.trim().split("  ").map(str::trim);
    cells.filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

fn html_cell(html: &str, section: &str, name: &str, label: &str) -> String {
    let section = html
        .split(&format!("id=\"{section}\""))
        .nth(1)
        .expect("the section is there");
    let row = section
        .split(name)
        .nth(1)
        .unwrap_or_else(|| panic!("no row of {name}"));
    let row = row.split("</tr>").next().expect("a row ends");
    let cell = row
        .split(&format!("data-label=\"{label}\">"))
        .nth(1)
        .unwrap_or_else(|| panic!("no {label} in {row}"));
    let cell = cell.split("</td>").next().expect("a cell ends");
    let mut plain = String::new();
    let mut inside = false;
    for letter in cell.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            letter if !inside => plain.push(letter),
            _ => {}
        }
    }
    plain.replace(" µs", " us").replace('−', "-")
}

fn span(record: &Value, key: &str) -> String {
    let nanos = record[key].as_u64().unwrap_or_else(|| panic!("{key}: {record}"));
    format_duration(Duration::from_nanos(nanos))
}

fn page_of(outcome: &ReadOutcome) -> String {
    let sample = sample_page::full();
    sample_page::html(&Page {
        outcome,
        ..sample.page()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn statements_are_counted_alike(statements in statements()) {
        let outcome = ReadOutcome { statements: statements.clone(), ..samples::read_outcome() };
        let (text, html) = (read_view(&outcome, &ALL), page_of(&outcome));
        let records = records(|writer| {
            statements.iter().for_each(|one| writer.statement(one).expect("memory takes it"));
        });
        for (one, record) in statements.iter().zip(&records) {
            let shown = text_row(&text, &one.fingerprint);
            let on_page = |label| html_cell(&html, "h-statements", &one.fingerprint, label);
            for (column, key, label) in [(1, "turns", "trips"), (2, "calls", "calls")] {
                prop_assert_eq!(&shown[column], &record[key].to_string());
                prop_assert_eq!(on_page(label).replace(',', ""), record[key].to_string());
            }
            prop_assert_eq!(&shown[3], &span(record, "total_ns"));
            prop_assert_eq!(on_page("time"), span(record, "total_ns"));
            prop_assert_eq!(&shown[6], &span(record, "p50_ns"));
            prop_assert_eq!(on_page("median"), span(record, "p50_ns"));
            // Shares of the same sums.
            prop_assert_eq!(&shown[4].replace(' ', ""), &on_page("network").replace(' ', ""));
            prop_assert_eq!(&shown[5].replace(' ', ""), &on_page("server").replace(' ', ""));
        }
    }

    #[test]
    fn predictions_and_what_was_measured_are_told_alike(predictions in predictions()) {
        let outcome = ReadOutcome { predictions: predictions.clone(), ..samples::read_outcome() };
        let (text, html) = (prediction_view(&predictions, &[], &ALL), page_of(&outcome));
        let records = records(|writer| {
            predictions.iter().for_each(|one| writer.prediction(one).expect("memory takes it"));
        });
        for (one, record) in predictions.iter().zip(&records) {
            let shown = text_row(&text, &one.operation_name);
            let on_page = |label| html_cell(&html, "h-measured", &one.operation_name, label);
            for key in ["duration_ns", "low_ns", "high_ns", "measured_ns"] {
                let figure = span(record, key);
                prop_assert!(shown.contains(&figure), "{}: {} in {:?}", key, figure, shown);
            }
            prop_assert_eq!(on_page("predicted"), span(record, "duration_ns"));
            prop_assert_eq!(on_page("measured"), span(record, "measured_ns"));
            let bounds = format!("{} to {}", span(record, "low_ns"), span(record, "high_ns"));
            prop_assert!(on_page("low to high").starts_with(&bounds), "{}", on_page("low to high"));
            let measured = record["measured_ns"].as_f64().expect("a number");
            let error = record["duration_ns"].as_f64().expect("a number") / measured * 100.0 - 100.0;
            prop_assert_eq!(on_page("error"), format!("{error:+.1} %"));
            let digits = usize::from(error.abs() < 100.0);
            let error = format!("{error:+.digits$} %");
            prop_assert!(shown.contains(&error), "{} in {:?}", error, shown);
        }
    }

    #[test]
    fn a_lab_has_one_median_error(predictions in predictions()) {
        let point = |prediction: &Prediction| LabPoint {
            measured: prediction.measured.clone(),
            prediction: Some(prediction.clone()),
            against: None,
            times: None,
            ..samples::lab().points.remove(0)
        };
        let mut lab = LabOutcome { points: predictions.iter().map(point).collect(), ..samples::lab() };
        // The captured point verifies no prediction and is not counted.
        let of_baseline = Prediction { duration: Duration::from_secs(3_600), ..predictions[0].clone() };
        lab.points.push(LabPoint { is_baseline: true, ..point(&of_baseline) });
        let record = records(|writer| writer.lab(&lab).expect("memory takes it")).remove(0);
        let median = record["median_error_share"].as_f64().expect("a number") * 100.0;
        let within = record["points_within_bounds"].as_u64().expect("a number");
        let shown: Vec<Prediction> = lab.points.iter().filter_map(|point| point.prediction.clone()).collect();
        let outcome = ReadOutcome { predictions: shown, ..samples::read_outcome() };
        let sample = sample_page::full();
        let html = sample_page::html(&Page { outcome: &outcome, lab: Some(&lab), ..sample.page() });
        let verdict = format!("the median error is <b>{median:.1} %</b>");
        prop_assert!(html.contains(&verdict), "{}", verdict);
        let inside = format!("; {within} of {} measured medians", predictions.len());
        prop_assert!(html.contains(&inside), "{}", inside);
        let text = lab_view(&lab, &ALL);
        let digits = if median < 100.0 { 1 } else { 0 };
        let line = format!("off by {median:.digits$} % (median)");
        prop_assert!(text.contains(&line), "{}\n{}", line, text);
        // The table has its error nevertheless.
        let left_out = text.contains("Not counted: 1 point without distance");
        prop_assert_eq!(left_out, of_baseline.error().is_some(), "{}", text);
    }
}
