//! `docs/output.md` matches the output: every type, every key, and its example lines.

mod samples;

use model::{PerDirection, Protocol, RequestId, Timestamp, Warning, WarningKind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

#[derive(Default)]
struct Section {
    keys: BTreeSet<String>,
    examples: Vec<String>,
}

fn documented() -> BTreeMap<String, Section> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/output.md");
    let text = std::fs::read_to_string(file).expect("docs/output.md is there");
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            current = backticked(heading).into_iter().next();
            continue;
        }
        let Some(name) = &current else { continue };
        let section = sections.entry(name.clone()).or_default();
        if line.starts_with('{') {
            section.examples.push(line.to_owned());
        }
        if let Some(row) = line.strip_prefix("| `") {
            let cell = format!("`{}", row.split('|').next().unwrap_or_default());
            for key in backticked(&cell) {
                assert!(
                    section.keys.insert(key.clone()),
                    "{name}: {key} is documented twice"
                );
            }
        }
    }
    sections
}

fn backticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn written_of_connections() -> [String; 5] {
    use samples::{conditions, connection, endpoint, line};
    [
        line(|writer| writer.conditions(&conditions())),
        line(|writer| {
            writer.conditions(&model::Conditions {
                generated: true,
                ..conditions()
            })
        }),
        line(|writer| {
            writer.opened(
                connection().id,
                samples::START,
                endpoint(1, 40_312),
                endpoint(2, 5432),
            )
        }),
        line(|writer| {
            writer.started(
                connection().id,
                Timestamp::from_nanos(1_790_000_000_052_000_000),
                Some(&Arc::from("GET /page")),
                Some(RequestId(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c)),
            )
        }),
        line(|writer| {
            writer.begun(
                model::ConnectionId(4),
                Timestamp::from_nanos(1_790_000_000_060_000_000),
            )
        }),
    ]
}

fn written_of_evidence() -> [String; 2] {
    use samples::{exchange, line, operation_step};
    [
        line(|writer| {
            let guessed = model::OperationStep {
                assigned: Some(model::Assigned::Order),
                probability: model::Share::of_counts(93, 100),
                ..operation_step()
            };
            writer.step(&guessed, 17)
        }),
        line(|writer| {
            let encrypted = model::Exchange {
                fingerprint: None,
                not_seen: Some(model::NotSeen::Encrypted),
                ..exchange()
            };
            writer.exchange(&encrypted, Protocol::Postgres, None)
        }),
    ]
}

/// One line of every type with every possible key.
fn written() -> Vec<String> {
    use samples::{
        connection, copy, exchange, line, operation, operation_step, prediction, statement, summary, warning,
    };
    let written = [
        line(|writer| writer.step(&operation_step(), 17)),
        line(|writer| writer.exchange(&copy(), Protocol::Postgres, None)),
        line(|writer| writer.connection(&connection())),
        line(|writer| writer.connection(&samples::opaque_connection())),
        line(|writer| {
            writer.statement(&statement(
                "SELECT name, price FROM article WHERE id = ?",
                6_000,
                6_000,
            ))
        }),
        line(|writer| writer.operation(&operation())),
        line(|writer| {
            let mut prediction = prediction("GET /article/?", 40, 27.6, Some("10Mbit/s"));
            prediction.operations = 1_000;
            prediction.spread = samples::spread(1_000, 1_113_892);
            writer.prediction(&prediction)
        }),
        line(|writer| {
            let mut prediction = prediction("GET /article/?", 40, 27.6, Some("10Mbit/s"));
            prediction.measured = Some(samples::measured(9, 1_102_371));
            prediction.order = Some(samples::order(model::OrderKind::AtOnce));
            (prediction.clients, prediction.workers) = (8, Some(4));
            writer.prediction(&prediction)
        }),
        line(|writer| writer.finding(&samples::finding())),
        line(|writer| writer.finding(&samples::doubtful_finding())),
        line(|writer| writer.finding(&samples::unrated_finding())),
        line(|writer| writer.link(&samples::link())),
        line(|writer| writer.lab_point(11, &samples::lab().settings, &samples::lab().points[0])),
        line(|writer| writer.lab_slope(&samples::lab().slopes[0])),
        line(|writer| writer.lab(&samples::lab())),
        line(|writer| writer.warning(&warning())),
        line(|writer| {
            let mut summary = summary();
            summary.spread = samples::spread(1_000, 281_000);
            writer.summary(&summary)
        }),
        line(|writer| writer.rows(&samples::rows())),
        line(|writer| writer.database_link(&samples::database_link())),
        line(|writer| writer.sample(&samples::sample())),
        line(|writer| writer.intermediary(&samples::intermediary())),
        line(|writer| {
            let sample = samples::sample();
            writer.leg(&sample.target, 1, sample.at, &samples::leg())
        }),
        line(|writer| {
            let mut sample = samples::sample();
            (sample.number, sample.duration, sample.server) = (4, None, None);
            sample.error = Some("server: no complete reply within 5 s".into());
            writer.sample(&sample)
        }),
        line(|writer| writer.echo(&samples::echo())),
        line(|writer| writer.estimate(&samples::estimate())),
        line(|writer| writer.bulk(&samples::bulk())),
        line(|writer| writer.exchange(&exchange(), Protocol::Postgres, None)),
    ];
    written_of_connections()
        .iter()
        .chain(&written_of_evidence())
        .chain(&written)
        .chain(&written_of_transactions())
        .chain(&written_of_samples())
        .chain(&written_of_poolers())
        .chain(&written_of_ranges())
        .flat_map(|lines| lines.lines().map(str::to_owned))
        .collect()
}

fn written_of_transactions() -> [String; 3] {
    use samples::line;
    [
        line(|writer| writer.held(&samples::held()[0])),
        line(|writer| {
            let mut held = samples::held().remove(0);
            (held.count, held.spread) = (1_000, samples::spread(1_000, 4_100));
            writer.held(&held)
        }),
        line(|writer| {
            let mut held = samples::held_predictions().remove(1);
            held.rate = PerDirection::splat(model::BitRate::parse("10Mbit/s").ok());
            held.link = "rtt=40ms rate=10mbit".into();
            writer.held_prediction(&held)
        }),
    ]
}

fn written_of_poolers() -> [String; 6] {
    use samples::{line, micros};
    let pooled = model::Attribution {
        pooler: micros(17),
        ..model::Attribution::default()
    };
    [
        line(|writer| {
            let mut exchange = samples::exchange();
            exchange.pooler = Some(Box::new(model::PoolerTime {
                waiting: micros(15),
                processing: micros(2),
                network: micros(40),
            }));
            writer.exchange(&exchange, Protocol::Postgres, None)
        }),
        line(|writer| {
            let mut operation = samples::operation();
            operation.attribution = pooled;
            writer.operation(&operation)
        }),
        line(|writer| {
            let mut unlike = samples::prediction("GET /article/?", 40, 27.6, None);
            unlike.low = std::time::Duration::ZERO;
            writer.prediction(&unlike)
        }),
        line(|writer| {
            let mut prediction = samples::prediction("GET /article/?", 40, 27.6, None);
            prediction.attribution = pooled;
            writer.prediction(&prediction)
        }),
        line(|writer| {
            let mut held = samples::held().remove(0);
            held.attribution = pooled;
            writer.held(&held)
        }),
        line(|writer| {
            let mut summary = samples::summary();
            summary.attribution = pooled;
            writer.summary(&summary)
        }),
    ]
}

fn written_of_ranges() -> [String; 6] {
    use samples::{line, micros};
    let server_margin = model::Margin {
        below: micros(120),
        above: micros(15),
    };
    let ranged = model::Attribution {
        server: micros(241),
        server_margin,
        ..model::Attribution::default()
    };
    [
        line(|writer| {
            let mut exchange = samples::copy();
            exchange.first.server_margin = server_margin;
            writer.exchange(&exchange, Protocol::Postgres, None)
        }),
        line(|writer| {
            let mut statement = samples::statement("SELECT 1", 1, 1);
            statement.server_margin = server_margin;
            statement.text_source = Some(model::TextSource::SameConnection);
            writer.statement(&statement)
        }),
        line(|writer| writer.recognised(&samples::recognised())),
        line(|writer| {
            let mut operation = samples::operation();
            operation.attribution = ranged;
            writer.operation(&operation)
        }),
        line(|writer| {
            let mut held = samples::held().remove(0);
            held.attribution = ranged;
            writer.held(&held)
        }),
        line(|writer| {
            let mut summary = samples::summary();
            summary.attribution = ranged;
            writer.summary(&summary)
        }),
    ]
}

fn written_of_samples() -> [String; 13] {
    [
        samples::line(|writer| writer.tune(&samples::tune())),
        samples::line(|writer| writer.check(&samples::checked())),
        samples::line(|writer| writer.plan(&samples::planned())),
        samples::line(|writer| writer.program(&samples::program())),
        samples::line(|writer| {
            writer.summary(&model::Summary {
                turns: 1_005,
                exchanges: 1_002,
                connections: 3,
                duration: std::time::Duration::from_secs(1_003),
                spread: samples::spread(1_000, 40_300),
                samples: Some(samples::totals()),
                ..model::Summary::default()
            })
        }),
        samples::line(|writer| writer.load_interval(&samples::load_interval())),
        samples::line(|writer| writer.load(&samples::load_report())),
        samples::line(|writer| writer.split(&samples::split())),
        samples::line(|writer| writer.elsewhere(&samples::elsewhere())),
        samples::line(|writer| writer.elsewhere(&samples::not_predicted())),
        samples::line(|writer| writer.advice(&samples::advice())),
        samples::line(|writer| {
            writer.notice(
                samples::START,
                "the near end 10.0.0.1:40312 is connected (1 lane)",
            )
        }),
        samples::line(|writer| writer.tunnel("far", &samples::tunnel())),
    ]
}

/// Keys of every type, and of `steps`, `levels` and `asked` in an exchange.
fn written_keys() -> BTreeMap<String, BTreeSet<String>> {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in written() {
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        let record = record.as_object().expect("it is an object");
        assert_eq!(record.get("schema"), Some(&Value::from(1)));
        let name = record.get("type").and_then(Value::as_str).expect("it has a type");
        let keys = record
            .keys()
            .filter(|key| !matches!(key.as_str(), "type" | "schema"));
        types.entry(name.to_owned()).or_default().extend(keys.cloned());
        if let Some(asked) = record.get("asked").and_then(Value::as_object) {
            types
                .entry("asked".to_owned())
                .or_default()
                .extend(asked.keys().cloned());
        }
        for list in ["steps", "levels"] {
            let parts = record.get(list).and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                let part = part.as_object().expect("a part is an object");
                types
                    .entry(list.to_owned())
                    .or_default()
                    .extend(part.keys().cloned());
            }
        }
    }
    types
}

#[test]
fn every_type_and_key_is_documented_and_no_other() {
    let documented = documented();
    let written = written_keys();
    let names = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect::<Vec<_>>();
    assert_eq!(names(&mut documented.keys()), names(&mut written.keys()));
    for (name, keys) in written {
        assert_eq!(documented[&name].keys, keys, "keys of {name}");
    }
}

/// Words in backticks in the rows of each key.
fn documented_parts() -> BTreeMap<String, BTreeSet<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/output.md");
    let text = std::fs::read_to_string(file).expect("docs/output.md is there");
    let mut parts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let mut words = backticked(row).into_iter();
        let key = words.next().unwrap_or_default();
        parts.entry(key).or_default().extend(words);
    }
    parts
}

/// Objects under a key, of keys that are not names.
fn parts<'a>(key: &str, value: &'a Value) -> Vec<&'a serde_json::Map<String, Value>> {
    match value {
        Value::Object(named) if key == "services" => named.values().filter_map(Value::as_object).collect(),
        Value::Object(part) if key != "settings" => vec![part],
        Value::Array(list) => list.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn keys_of_parts_are_documented_with_them() {
    let documented = documented_parts();
    let mut seen = BTreeSet::new();
    for line in written() {
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        for (key, value) in record.as_object().expect("it is an object") {
            // These have sections of their own.
            if ["asked", "steps", "levels"].contains(&key.as_str()) {
                continue;
            }
            for part in parts(key, value).into_iter().flat_map(|part| part.keys()) {
                assert!(
                    documented[key].contains(part),
                    "{part} of {key} is not in its row"
                );
                seen.insert(key.clone());
            }
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(
        seen,
        [
            "as_good",
            "assigned",
            "evidence",
            "new_findings",
            "pooler",
            "services",
            "tags"
        ]
    );
}

#[test]
fn the_examples_are_lines_that_are_written() {
    let written = written();
    for (name, section) in documented() {
        assert!(
            ["asked", "steps", "levels"].contains(&name.as_str()) || !section.examples.is_empty(),
            "{name} has no example"
        );
        for example in section.examples {
            let now: Vec<&String> = written
                .iter()
                .filter(|line| line.contains(&format!("\"type\":\"{name}\"")))
                .collect();
            assert!(
                written.contains(&example),
                "{name} shows\n{example}\nwritten is\n{now:#?}"
            );
        }
    }
}

#[test]
fn keys_tell_their_units() {
    for line in written() {
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        for (key, value) in record.as_object().expect("it is an object") {
            let is_span = key.ends_with("_ns");
            assert!(!is_span || value.is_i64() || value.is_u64(), "{key} is {value}");
            assert!(!value.is_null(), "{key} is there without a value");
            assert!(
                key.chars()
                    .all(|letter| letter.is_ascii_lowercase() || matches!(letter, '_' | '0'..='9'))
            );
        }
    }
}

#[test]
fn every_kind_of_warning_is_documented_and_has_a_name_of_its_own() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/output.md");
    let text = std::fs::read_to_string(file).expect("docs/output.md is there");
    let (_, section) = text
        .split_once("### Kinds of warnings\n")
        .expect("a table of kinds");
    let section = section.split("\n## ").next().expect("its end");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let kinds: Vec<&str> = WarningKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(documented, kinds, "the table has the kinds in their order");
    assert_eq!(
        WarningKind::OtherVersion as usize + 1,
        kinds.len(),
        "the list has all"
    );
    for (place, (kind, name)) in WarningKind::ALL.iter().zip(&kinds).enumerate() {
        assert_eq!(*kind as usize, place, "{name}");
        let is_kebab = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        assert!(name.chars().all(is_kebab), "{name}");
        assert_eq!(WarningKind::from_name(name), Some(*kind));
        let line = samples::line(|writer| writer.warning(&Warning::new(*kind, "text")));
        assert!(line.contains(&format!("\"kind\":\"{name}\"")), "{line}");
    }
}

#[test]
fn what_has_no_bounds_has_no_duration_but_a_reason() {
    let mut unlike = samples::prediction("GET /article/?", 40, 27.6, None);
    let keys = |unlike: &model::Prediction| {
        let line = samples::line(|writer| writer.prediction(unlike));
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        ["duration_ns", "low_ns", "high_ns", "slope", "no_duration"].map(|key| record.get(key).is_some())
    };
    assert_eq!(keys(&unlike), [true, true, true, true, false]);
    unlike.low = unlike.high / 21;
    assert_eq!(keys(&unlike), [false, false, false, false, true]);
}
