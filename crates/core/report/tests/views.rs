//! Compares the views with `tests/data`. After an intended change rewrite them with `WRITE_VIEWS=1
//! cargo test -p longwire-report --test views`, and review the difference.

mod samples;

use model::{ByteCount, DatabaseLinkOutcome, Direction, OrderKind, PerDirection, Prediction, RowTrain};
use report::outcome::{LoadReport, LoadWork, ProgressLine};
use report::text::{
    LoadStyle, comparison_view, demo_view, explain_view, finding_sentences, link_line, link_warnings,
    load_progress_line, load_view, prediction_sentences, prediction_view, progress_line, read_view,
    rows_view, statement_sentences, summary_line, summary_sentences, via_view,
};
use report::{Colour, Extent, ReadOutcome, Style};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[expect(clippy::too_many_lines, reason = "a list")]
fn views() -> Vec<(&'static str, String)> {
    let run = samples::read_outcome();
    let links: Vec<_> = [("GET /article/?", 27.6), ("PUT /basket", 29.0)]
        .into_iter()
        .flat_map(|(name, turns)| {
            [0, 10, 40, 120].map(|rtt| samples::prediction(name, rtt, turns, Some("10Mbit/s")))
        })
        .collect();
    let several = [
        Prediction {
            order: Some(samples::order(OrderKind::AtOnce)),
            slope: 0.25,
            ..samples::prediction("COMMIT", 10, 1.0, None)
        },
        Prediction {
            operation_name: "GET /open".into(),
            order: Some(samples::order(OrderKind::Open)),
            ..samples::prediction("GET /open", 10, 1.0, None)
        },
        Prediction {
            clients: 64,
            ..samples::prediction("COMMIT", 10, 1.0, Some("10Mbit/s"))
        },
    ];
    let mut proved = links.clone();
    for (prediction, measured) in proved.iter_mut().zip([9_870, 284_100, 1_130_500]) {
        prediction.measured = Some(samples::measured(9, measured));
    }
    vec![
        (
            "rows.txt",
            rows_view(&samples::rows(), &style(100, Colour::Plain)),
        ),
        (
            "rows-not-exact.txt",
            rows_view(&uneven_rows(), &style(100, Colour::Plain)),
        ),
        ("trace.json", report::trace::chrome_trace(&samples::explanation())),
        (
            "wide.txt",
            prediction_view(&wide(), &[], &style(100, Colour::Plain)),
        ),
        (
            "via.txt",
            via_view(&samples::database_link(), &style(100, Colour::Plain)),
        ),
        (
            "via-unknown.txt",
            via_view(&unknown_turns(), &style(100, Colour::Plain)),
        ),
        ("read-100.txt", read_view(&run, &style(100, Colour::Plain))),
        ("read-60.txt", read_view(&run, &style(60, Colour::Plain))),
        ("read-all.txt", read_view(&run, &all(100))),
        ("read-colour.txt", read_view(&run, &style(100, Colour::Ansi))),
        (
            "sentences.txt",
            sentences(&ReadOutcome {
                predictions: links.clone(),
                ..samples::read_outcome()
            }),
        ),
        (
            "read-nothing.txt",
            read_view(&ReadOutcome::default(), &style(100, Colour::Plain)),
        ),
        (
            "demo-100.txt",
            demo_view(&samples::demo(), &style(100, Colour::Plain)),
        ),
        (
            "demo-80.txt",
            demo_view(&samples::demo(), &style(80, Colour::Plain)),
        ),
        (
            "comparison-80.txt",
            comparison_view(&samples::comparison(), &style(80, Colour::Plain)),
        ),
        (
            "comparison-all.txt",
            comparison_view(&samples::comparison(), &all(100)),
        ),
        (
            "explain-120.txt",
            explain_view(&samples::explanation(), &style(120, Colour::Plain)),
        ),
        (
            "prediction-120.txt",
            prediction_view(&links, &[], &style(120, Colour::Plain)),
        ),
        (
            "prediction-several.txt",
            prediction_view(&several, &[], &style(120, Colour::Plain)),
        ),
        (
            "prediction-measured-80.txt",
            prediction_view(&proved, &[], &style(80, Colour::Plain)),
        ),
        (
            "prediction-measured-110.txt",
            prediction_view(&proved, &[], &style(110, Colour::Plain)),
        ),
        (
            "prediction-none.txt",
            prediction_view(&[], &[], &style(120, Colour::Plain)),
        ),
    ]
}

/// Those of each tool of `mcp`.
fn sentences(outcome: &ReadOutcome) -> String {
    [
        summary_sentences(outcome),
        finding_sentences(outcome),
        prediction_sentences(outcome),
        statement_sentences(&outcome.statements, "time", outcome),
    ]
    .join("\n\n")
        + "\n"
}

fn all(width: usize) -> Style {
    Style {
        extent: Extent::All,
        ..style(width, Colour::Plain)
    }
}

fn style(width: usize, colour: Colour) -> Style {
    Style {
        width,
        colour,
        extent: Extent::First,
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test says whether it is to write"
)]
fn views_are_as_kept() {
    let write_anew = std::env::var_os(WRITE_ANEW).is_some();
    for (name, shown) in views().into_iter().chain(views_of_load()) {
        if write_anew {
            std::fs::write(file(name), &shown).expect("tests/data can be written");
        }
        let kept = std::fs::read_to_string(file(name)).expect("the view is in tests/data");
        assert!(shown == kept, "{name} differs; now it is:\n{shown}");
    }
}

/// Set to rewrite the views instead of comparing them.
const WRITE_ANEW: &str = "WRITE_VIEWS";

#[test]
fn colour_adds_only_escape_sequences() {
    let outcome = samples::read_outcome();
    let mut coloured = read_view(&outcome, &style(100, Colour::Ansi));
    while let Some(start) = coloured.find('\u{1b}') {
        let end = coloured[start..].find('m').expect("a colour sequence ends in m");
        coloured.replace_range(start..=start + end, "");
    }
    assert_eq!(coloured, read_view(&outcome, &style(100, Colour::Plain)));
}

#[test]
fn one_screen_whatever_was_seen() {
    let mut outcome = samples::read_outcome();
    for count in 0..500 {
        let name = format!("operation {count}");
        outcome
            .operations
            .push(samples::group(&name, model::OperationKind::Http, 1, 2));
        outcome.statements.push(samples::statement(&name, 1, 1));
        outcome.connections.push(samples::connection());
        outcome
            .predictions
            .push(samples::prediction(&name, 10, 2.0, None));
        outcome.warnings.push(samples::warning());
        outcome.findings.push(samples::finding());
    }
    let shown = read_view(&outcome, &style(80, Colour::Plain));
    assert!(
        shown.lines().count() <= 24,
        "{} lines:\n{shown}",
        shown.lines().count()
    );
}

#[test]
fn a_server_time_that_is_not_certain_is_a_range() {
    let mut outcome = samples::read_outcome();
    let parts = &mut outcome.summary.attribution;
    let whole = parts.total();
    parts.server_margin = model::Margin::between(parts.server, [parts.server / 2, parts.server]);
    let (operations, server) = (outcome.summary.operations as u32, parts.server);
    let times = [server / 2, server].map(|server| model::format_duration(server / operations));
    let shares = [server / 2, server]
        .map(|server| model::Share::from_parts(server, whole).map(|share| share.to_string()));
    let shown = read_view(&outcome, &all(100));
    let line = shown
        .lines()
        .find(|line| line.starts_with("  server"))
        .expect("a line of the server");
    let from = |range: &str| range.split(' ').next().expect("a number").to_owned();
    for (from, to) in [
        (from(&times[0]), times[1].clone()),
        (
            from(shares[0].as_deref().expect("a share")),
            shares[1].clone().expect("a share"),
        ),
    ] {
        assert!(
            line.contains(&format!("{from} to {to}")),
            "{from} to {to}: {line}"
        );
    }
    assert!(shown.contains("server: a range"), "{shown}");
    outcome.summary.attribution.server_margin =
        model::Margin::between(server, [server - server / 20, server]);
    let shown = read_view(&outcome, &all(100));
    assert!(!shown.contains("server: a range"), "{shown}");
}

#[test]
fn findings_that_rest_on_guesses_say_so() {
    let guessed = model::Finding {
        owners: model::FindingOwners::Guessed(model::Share::of_fraction(0.87)),
        ..samples::finding()
    };
    let doubtful = model::Finding {
        fingerprint: Some("SELECT sold FROM stock".into()),
        ..samples::doubtful_finding()
    };
    let with = |findings: &[model::Finding]| {
        let outcome = ReadOutcome {
            findings: findings.to_vec(),
            ..samples::read_outcome()
        };
        // Joins wrapped lines.
        let shown = read_view(&outcome, &style(120, Colour::Plain));
        testbed::binary::unwrapped(&shown)
    };
    let shown = with(&[guessed, doubtful.clone()]);
    assert!(shown.contains(" ~ n+1 SELECT name, price"), "{shown}");
    assert!(shown.contains("about 87 % are their own"), "{shown}");
    assert!(shown.contains("1 finding not listed"), "{shown}");
    assert!(!shown.contains("SELECT sold"), "{shown}");
    let shown = with(&[samples::finding()]);
    assert!(!shown.contains('~') && !shown.contains("not listed"), "{shown}");
    assert!(with(&[doubtful]).contains("1 finding not listed"));
}

/// The answer, the cost of distance and the main cause are in the first lines of a terminal of 24
/// by 80.
#[test]
fn what_matters_is_seen_without_scrolling() {
    let mut outcome = samples::read_outcome();
    outcome.findings.extend((0..9).map(|_| samples::finding()));
    let shown = read_view(&outcome, &style(80, Colour::Plain));
    let first: Vec<&str> = shown.lines().take(24).collect();
    let first = first.join("\n");
    for part in [
        "At 40.0 ms, ",
        "median at an rtt of",
        "findings, by cost",
        "--all: 10 findings, ",
    ] {
        assert!(first.contains(part), "'{part}' is below:\n{first}");
    }
}

#[test]
fn all_that_was_predicted_is_in_the_table_that_shows_all() {
    let predictions: Vec<_> = (0..40)
        .map(|count| samples::prediction(&format!("operation {count}"), 10, 2.0, None))
        .collect();
    let usual = prediction_view(&predictions, &[], &style(80, Colour::Plain));
    assert!(
        usual.contains("and 31 more operation names: --all lists all"),
        "{usual}"
    );
    let shown = prediction_view(&predictions, &[], &all(80));
    for count in 0..40 {
        assert!(shown.contains(&format!("operation {count} ")), "{shown}");
    }
    assert!(shown.contains("p99") && !shown.contains("--json"), "{shown}");
}

#[test]
fn bounds_that_bound_nothing_are_not_printed() {
    let wide = Prediction {
        operations: 3,
        low: Duration::ZERO,
        high: Duration::from_secs(7),
        spread: model::Distribution {
            min: Some(Duration::from_millis(4)),
            max: Some(Duration::from_secs(6)),
            ..model::Distribution::default()
        },
        ..samples::prediction("connection to 10.0.0.2:27017", 10, 138.0, None)
    };
    let shown = prediction_view(&[wide], &[], &style(120, Colour::Plain));
    assert!(
        shown.contains("3 operations are unlike (from 4.00 ms to 6.00 s), so no median is predicted"),
        "{shown}"
    );
    assert!(
        !shown.contains("0 ns") && !shown.contains("Each millisecond"),
        "{shown}"
    );
}

#[test]
fn operations_left_out_as_slower_are_said() {
    let warm = Prediction {
        operations: 80,
        warming_up: 40,
        ..samples::prediction("GET /tasks", 10, 2.0, None)
    };
    let shown = prediction_view(&[warm], &[], &style(120, Colour::Plain));
    let line = "GET /tasks: the first 40 of 120 were slower than the rest, and are left out.";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn nothing_from_the_wire_reaches_the_terminal_raw() {
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\r\nfake line\u{202e}";
    let mut outcome = samples::read_outcome();
    outcome.statements = vec![samples::statement(evil, 9_000, 9_000)];
    outcome.operations = vec![samples::group(evil, model::OperationKind::Http, 9, 900)];
    outcome.predictions = vec![samples::prediction(evil, 40, 99.0, None)];
    outcome.warnings = vec![model::Warning::new(model::WarningKind::LeftOut, evil)];
    let mut explained = samples::explanation();
    explained.operation_name = evil.into();
    explained.steps[0].name = evil.into();
    let style = style(200, Colour::Plain);
    let shown = read_view(&outcome, &style)
        + &read_view(&outcome, &all(200))
        + &prediction_view(&outcome.predictions, &outcome.unmoved, &style)
        + &explain_view(&explained, &style)
        + &sentences(&outcome);
    assert!(
        !shown.contains(['\u{1b}', '\u{7}', '\u{9b}', '\r', '\u{202e}']),
        "{shown}"
    );
    assert_eq!(shown.matches("\\u{1b}]0;owned").count(), 21, "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("fake")), "{shown}");
}

#[test]
fn a_link_tells_what_it_did_in_a_line() {
    let mut link = samples::link();
    assert_eq!(
        link_line(&link),
        "Link client-server, requested rtt=40ms rate=2Mbit/s/10Mbit/s loss=0.1%: rtt +31.2 us (p99 +214 us); \
         2.00 Mbit/s of 2.00 Mbit/s up; 9.97 Mbit/s of 10.0 Mbit/s down; 11151 packets, \
         dropped 17 by its queue, 8 at random; floor 62.0 us\n"
    );
    assert_eq!(link_warnings(&link), []);
    link.rtt_error_p50_ns = Some(-900_000);
    link.directions[Direction::ServerToClient].realised_rate =
        link.directions[Direction::ClientToServer].rate;
    let texts: Vec<String> = link_warnings(&link)
        .into_iter()
        .map(|warning| warning.text)
        .collect();
    assert!(texts[0].contains("900 us too short in the median"), "{texts:?}");
    assert!(
        texts[1].contains("2.00 Mbit/s instead of 10.0 Mbit/s"),
        "{texts:?}"
    );
    link.rtt_error_p50_ns = None;
    link.rtt_error_p99_ns = None;
    link.directions = Default::default();
    link.floor = None;
    assert!(link_line(&link).ends_with(": too few packets to check its rtt; 0 packets\n"));
    assert_eq!(link_warnings(&link), []);
}

#[test]
fn a_summary_is_one_line() {
    for summary in [samples::summary(), model::Summary::default()] {
        assert_eq!(summary_line(&summary).matches('\n').count(), 1);
    }
}

#[test]
fn progress_tells_rates_of_its_interval() {
    let mut progress = ProgressLine {
        elapsed: Duration::from_secs(12),
        interval: Duration::from_millis(500),
        open_connections: 1,
        exchanges: 600,
        turns: 610,
        network: model::Share::from_parts(Duration::from_millis(3), Duration::from_millis(4)),
    };
    assert_eq!(
        progress_line(&progress),
        " 12.0 s  1 connection open  1200 exchanges/s  1220 round trips/s  network 75 %"
    );
    progress.interval = Duration::ZERO;
    progress.network = None;
    assert_eq!(
        progress_line(&progress),
        " 12.0 s  1 connection open  - exchanges/s  - round trips/s  network -"
    );
}

/// Rows on loopback, where a packet holds more than a server sends at a time.
fn uneven_rows() -> RowTrain {
    RowTrain {
        packets: Some(1_990),
        segment: ByteCount::from_bytes(8_192),
        own_segment: Some(ByteCount::from_bytes(32_768)),
        pauses: 3,
        shared_stamps: 1_204,
        ..samples::rows()
    }
}

fn unknown_turns() -> DatabaseLinkOutcome {
    DatabaseLinkOutcome {
        turns_per_call: None,
        calls_in_round_trips: None,
        evidence: "not established: the two are so near that the servers' own time is most of a call"
            .to_owned(),
        connect: None,
        rows: None,
        client_rtt: None,
        failed: 2,
        ..samples::database_link()
    }
}

fn views_of_load() -> Vec<(&'static str, String)> {
    vec![
        (
            "load-pgbench.txt",
            load_view(&load_with_statements(), LoadStyle::Pgbench, &all(100)),
        ),
        (
            "load-ab.txt",
            load_view(&samples::load_of_http(), LoadStyle::Ab, &all(100)),
        ),
        (
            "load-jmeter.txt",
            load_view(&samples::load_of_http(), LoadStyle::Jmeter, &all(100)),
        ),
        (
            "load-none.txt",
            load_view(&load_that_failed(), LoadStyle::Pgbench, &all(100)),
        ),
        ("load-progress.txt", load_progress_line(&samples::load_interval())),
    ]
}

fn load_with_statements() -> LoadReport {
    LoadReport {
        statements: vec![samples::statement(
            "SELECT name, price FROM article WHERE id = ?",
            1_097,
            1_097,
        )],
        ..samples::load_report()
    }
}

#[test]
fn what_nobody_counted_of_a_load_is_a_dash_and_no_zero() {
    let uncounted = LoadReport {
        payload_bytes: PerDirection::default(),
        ..samples::load_of_http()
    };
    let view = load_view(&uncounted, LoadStyle::Jmeter, &all(100));
    let value = |name: &str| {
        let line = view.lines().find(|line| line.starts_with(name)).expect("a line");
        line.trim_start_matches(name).trim().to_owned()
    };
    assert_eq!(
        (value("Received KB/sec"), value("Sent KB/sec")),
        ("-".to_owned(), "-".to_owned())
    );
    let nothing = LoadReport {
        succeeded: 0,
        elapsed: std::time::Duration::ZERO,
        ..uncounted
    };
    let view = load_view(&nothing, LoadStyle::Jmeter, &all(100));
    assert!(!view.contains("0.00") && !view.contains("0.0/"), "{view}");
}

fn load_that_failed() -> LoadReport {
    LoadReport {
        work: LoadWork::Sql {
            scripts: "page.sql".to_owned(),
            scale: None,
            mode: "simple",
            reconnect: true,
        },
        succeeded: 0,
        failed: 3,
        per_second: 0.0,
        spread: model::Distribution::default(),
        deviation: None,
        failures: samples::load_report().failures,
        ..samples::load_of_http()
    }
}

fn predicted_as(change: impl Fn(&mut Prediction)) -> String {
    let predictions = [10, 40].map(|rtt| {
        let mut one = samples::prediction("GET /page", rtt, 4.0, None);
        change(&mut one);
        one
    });
    prediction_view(&predictions, &[], &style(120, Colour::Plain))
}

#[test]
fn the_slope_between_two_unlike_operations_is_not_printed() {
    let view = predicted_as(|one| {
        one.slope = 3062.0;
        if let Some(examples) = &mut one.examples {
            examples.longest.turns = 6000;
        }
    });
    assert!(
        !view.contains("Each millisecond") && !view.contains("3062"),
        "{view}"
    );
    // A few long ones among many short ones do not change the typical one.
    let view = predicted_as(|one| {
        if let Some(examples) = &mut one.examples {
            examples.longest.turns = 6000;
        }
    });
    assert!(
        view.contains("Each millisecond of round-trip time adds about 4.0 ms to GET /page"),
        "{view}"
    );
}

#[test]
fn what_is_open_only_may_pass_at_once() {
    let with = |order: Option<OrderKind>| {
        predicted_as(|one| {
            one.slope = 2.0;
            one.order = order.map(samples::order);
        })
    };
    assert!(with(Some(OrderKind::AtOnce)).contains("some of its 4.0 round trips run in parallel"));
    assert!(with(Some(OrderKind::Open)).contains("of its 4.0 round trips some may pass at once"));
    for order in [None, Some(OrderKind::InSequence)] {
        // The round trips do not explain it, and the cause is unknown.
        let line = "Each millisecond of round-trip time adds about 2.0 ms to GET /page.\n";
        assert!(with(order).contains(line), "{}", with(order));
    }
}

/// The interval is too wide for a median.
fn wide() -> [Prediction; 1] {
    let prediction = samples::prediction("GET /article/?", 40, 27.6, None);
    [Prediction {
        low: prediction.high / 4,
        ..prediction
    }]
}
