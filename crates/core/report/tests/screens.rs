//! Every view on a terminal of 24 lines and 80 columns, compared with `tests/data/screens`. After
//! an intended change rewrite them with `WRITE_VIEWS=1`, and review the difference.

mod samples;

use model::{BudgetMeasure, BudgetVerdict, Distribution, Intermediary, Leg, OperationKind, SampleOutcome};
use report::outcome::{CheckReport, EchoReport, EstimateBase, EstimateReport, LabOutline, LoadReport};
use report::outcome::{LoadFailure, PingOpening, PingOutcome, SplitReport, TuneReport};
use report::text::{self, LoadStyle};
use report::{Colour, Extent, ReadOutcome, Style};
use samples::micros;
use std::path::Path;
use std::time::Duration;

const SCREEN: Style = Style {
    width: 80,
    colour: Colour::Plain,
    extent: Extent::First,
};

fn screens() -> Vec<(&'static str, String)> {
    let read = samples::read_outcome();
    vec![
        ("read", text::read_view(&read, &SCREEN)),
        ("read-many", text::read_view(&many(), &SCREEN)),
        ("read-nothing", text::read_view(&ReadOutcome::default(), &SCREEN)),
        (
            "predict",
            text::prediction_view(&read.predictions, &read.unmoved, &SCREEN),
        ),
        (
            "predict-many",
            text::prediction_view(&many().predictions, &[], &SCREEN),
        ),
        ("check", text::check_view(&samples::checked(), &SCREEN)),
        ("check-many", text::check_view(&many_budgets(), &SCREEN)),
        ("check-kept", text::check_view(&without_broken_budgets(), &SCREEN)),
        ("plan", text::plan_view(&samples::planned(), &SCREEN)),
        ("demo", text::demo_view(&samples::demo(), &SCREEN)),
        ("calibrate", text::calibration_view(&calibration(), &SCREEN)),
        ("estimate", text::estimate_view(&estimated(1), &SCREEN)),
        ("estimate-many", text::estimate_view(&estimated(60), &SCREEN)),
        ("lab-run", text::lab_view(&samples::lab(), &SCREEN)),
        ("lab-run-many", text::lab_view(&many_points(), &SCREEN)),
        ("lab-check", text::lab_plan_view(&outline(3), &SCREEN)),
        ("lab-check-many", text::lab_plan_view(&outline(300), &SCREEN)),
        (
            "tunnel-near",
            text::tunnel_view("near", &samples::tunnel(), &SCREEN),
        ),
        ("tunnel-advise", text::advice_view(&samples::advice(), &SCREEN)),
    ]
    .into_iter()
    .chain(of_a_server())
    .collect()
}

/// Of commands that measure a server.
fn of_a_server() -> Vec<(&'static str, String)> {
    let load = |report: &LoadReport, tool| text::load_view(report, tool, &SCREEN);
    vec![
        ("ping", pinged(None)),
        ("ping-proxy", pinged(Some(samples::intermediary()))),
        ("ping-connect", opened()),
        ("ping-several", text::ping_table(&[ping(), ping()], &SCREEN)),
        ("ping-via", text::via_view(&samples::database_link(), &SCREEN)),
        ("ping-rows", text::rows_view(&samples::rows(), &SCREEN)),
        ("echo", text::echo_view(&echoed(2), &SCREEN)),
        ("echo-many", text::echo_view(&echoed(60), &SCREEN)),
        ("split", text::split_view(&split(1), &SCREEN)),
        ("split-many", text::split_view(&split(30), &SCREEN)),
        ("load", load(&samples::load_report(), LoadStyle::Pgbench)),
        ("load-many", load(&many_failures(), LoadStyle::Pgbench)),
        ("load-ab", load(&requests(), LoadStyle::Ab)),
        ("load-jmeter", load(&requests(), LoadStyle::Jmeter)),
        ("tune", text::tune_view(&samples::tune(), &SCREEN)),
        ("tune-many", text::tune_view(&many_recommendations(), &SCREEN)),
        ("tune-set", text::program_view(&samples::program(), &SCREEN)),
    ]
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test says whether it is to write"
)]
fn screens_are_as_kept_and_fit_a_terminal() {
    let write_anew = std::env::var_os("WRITE_VIEWS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/screens");
    let mut faults = Vec::new();
    for (name, shown) in screens() {
        let path = folder.join(format!("{name}.txt"));
        if write_anew {
            std::fs::write(&path, &shown).expect("tests/data can be written");
        }
        let kept = std::fs::read_to_string(&path).expect("the screen is in tests/data/screens");
        if shown != kept {
            faults.push(format!("{name} differs; now it is:\n{shown}"));
        }
        let lines = shown.lines().count();
        let width = shown.lines().map(text::escape::columns).max().unwrap_or(0);
        if lines > 24 || width > 80 {
            faults.push(format!("{name} has {lines} lines, {width} columns:\n{shown}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn many() -> ReadOutcome {
    let mut outcome = samples::read_outcome();
    for count in 0..60 {
        let name = format!("GET /a/rather/long/path/of/an/operation/{count}");
        outcome
            .operations
            .push(samples::group(&name, OperationKind::Http, 1, 2));
        for rtt in [10, 40, 120] {
            outcome
                .predictions
                .push(samples::prediction(&name, rtt, 2.0, None));
        }
        outcome.warnings.push(samples::warning());
        outcome.findings.push(samples::finding());
    }
    outcome
}

fn many_budgets() -> CheckReport {
    let mut report = samples::checked();
    let verdicts = report.verdicts.clone();
    report.verdicts = verdicts.iter().cycle().take(90).cloned().collect();
    report.changes = vec![report.changes[0].clone(); 30];
    report.warnings = vec![samples::warning(); 9];
    report
}

fn without_broken_budgets() -> CheckReport {
    let mut report = samples::checked();
    let is_kept =
        |verdict: &BudgetVerdict| matches!(verdict.measure, BudgetMeasure::Turns { allowed: 40, .. });
    report.verdicts.retain(is_kept);
    report.changes = Vec::new();
    report
}

fn calibration() -> model::Calibration {
    let refused = model::CalibratedRest {
        side: model::Side::Server,
        factor: None,
        refused: Some("scatter: -1.2 to 3.9".into()),
        ..samples::calibrated()
    };
    let unmeasured = model::CalibratedRest {
        samples: 0,
        work: Duration::ZERO,
        additional_ns: 0,
        refused: Some("too few: 0 of 30 requests, 0 of 4 rounds".into()),
        ..refused.clone()
    };
    model::Calibration {
        calibration: model::Calibration::VERSION,
        host: None,
        kernel: None,
        work: "./report.py".into(),
        rests: [vec![samples::calibrated(); 3], vec![refused; 2], vec![unmeasured]].concat(),
    }
}

fn estimated(count: usize) -> EstimateReport {
    EstimateReport {
        here: Some(EstimateBase {
            time: micros(12_300),
            rtt: micros(500),
            round_trips: 4.0,
            work: micros(10_300),
        }),
        compression: Some(model::Compression {
            ratio: 5.0,
            bytes_per_second: Some(40e6),
        }),
        estimates: vec![samples::estimate(); count],
    }
}

fn many_points() -> report::outcome::LabOutcome {
    let mut outcome = samples::lab();
    outcome.points = outcome.points.iter().cycle().take(90).cloned().collect();
    outcome.warnings = vec![samples::warning(); 5];
    outcome
}

fn outline(points: usize) -> LabOutline {
    LabOutline {
        name: "wordpress".to_owned(),
        links: vec![("web-database".to_owned(), ["web", "database"].map(str::to_owned))],
        services: vec![["shop", "php", "web"].map(str::to_owned)],
        workload: "GET http://shop/article/1".to_owned(),
        settings: vec!["links.web-database.rtt".to_owned()],
        points: (0..points).map(|point| vec![format!("{point}ms")]).collect(),
        amount: "200 operations each".to_owned(),
        baselines: 1,
    }
}

fn ping() -> PingOutcome {
    let round_trip = samples::spread(3, 40_225);
    let samples = SampleOutcome {
        time: samples::spread(3, 40_362),
        round_trip,
        round_trip_mdev: Some(micros(39)),
        server: samples::spread(3, 140),
        kernel_rtt: Some(micros(41_059)),
        floor: samples::spread(3, 27),
        first: Some(micros(42_247)),
        turns: 1,
        totals: samples::totals(),
        ..SampleOutcome::default()
    };
    PingOutcome {
        target: "postgres://app@127.0.0.1:5432/shop".to_owned(),
        samples,
        elapsed: Duration::from_secs(3),
        ..PingOutcome::default()
    }
}

/// A reply carries the acknowledgement, so the kernel's round trip holds the server's time.
#[test]
fn of_a_request_without_server_time_the_handshake_is_the_network() {
    let head = |floor: u64| {
        let round_trip = samples::spread(3, 500);
        let mut outcome = PingOutcome {
            handshake: Some(micros(80)),
            ..ping()
        };
        outcome.samples = SampleOutcome {
            time: round_trip,
            round_trip,
            server: model::Distribution::default(),
            kernel_rtt: Some(micros(490)),
            min_kernel_rtt: Some(micros(470)),
            turns: 4,
            ..outcome.samples
        };
        outcome.samples.totals.floor = Some(micros(floor));
        text::ping_view(&[(&outcome, Vec::new())], 0, &SCREEN)
    };
    let shown = head(27);
    assert!(
        shown.contains("16 % of 0.500 ms is the network: 0.080 ms, by the TCP handshake."),
        "{shown}"
    );
    let near = head(170);
    assert!(!near.contains("is the network"), "{near}");
}

/// The opening, the first call and the last sample, and the summary.
fn pinged(intermediary: Option<Intermediary>) -> String {
    let opening = PingOpening {
        target: ping().target,
        server: Some("127.0.0.1:5432".to_owned()),
        version: Some("15.18 (Debian 15.18-0+deb12u1)".to_owned()),
        question: "select extract(epoch from clock_timestamp() - statement_timestamp())".to_owned(),
        legs: vec![samples::leg()],
    };
    let sample = |number: u64| model::Sample {
        number,
        first: number == 0,
        error: None,
        ..samples::sample()
    };
    let lines = (0..2).map(|number| text::ping_line(&sample(number), false, &SCREEN));
    let lines: String = lines.collect();
    let above = text::ping_opening(&opening, &SCREEN) + &lines;
    let outcome = PingOutcome {
        intermediary,
        ..ping()
    };
    below(above, &outcome, Vec::new())
}

fn below(above: String, outcome: &PingOutcome, legs: Vec<Leg>) -> String {
    let lines = above.lines().count();
    above + &text::ping_view(&[(outcome, legs)], lines, &SCREEN)
}

fn opened() -> String {
    let legs = vec![samples::leg(); 8];
    let outcome = PingOutcome {
        samples: SampleOutcome {
            time: samples::spread(3, 489_000),
            totals: samples::totals(),
            turns: 6,
            ..SampleOutcome::default()
        },
        ..ping()
    };
    below("\n".repeat(4), &outcome, legs)
}

fn echoed(count: usize) -> EchoReport {
    EchoReport {
        server: "db1:4567".to_owned(),
        same_host: true,
        processors: Some(4),
        time: Duration::from_secs(1),
        floor: Some(micros(8)),
        echoes: vec![samples::echo(); count],
        bulks: vec![samples::bulk(); 2],
        warnings: Vec::new(),
    }
}

/// At two distances, proved.
fn split(clients: usize) -> SplitReport {
    let predictions = [samples::elsewhere(), samples::not_predicted()];
    SplitReport {
        work: "select 1".to_owned(),
        server: "db1.example.com:5432".to_owned(),
        rounds: 5,
        visit: Duration::from_secs(1),
        points: vec![samples::split(); clients * 2],
        predictions: predictions.iter().cycle().take(clients * 2).cloned().collect(),
        proofs: vec![samples::elsewhere(); clients],
        links: vec![samples::link(); 2],
        warnings: Vec::new(),
    }
}

fn many_failures() -> LoadReport {
    let failure = |count| LoadFailure {
        text: format!(
            "server: statement {count} failed: 40001 could not serialize access due to concurrent update"
        ),
        count,
    };
    LoadReport {
        failures: (1..40).map(failure).collect(),
        statements: vec![samples::statement("SELECT 1", 9, 9); 40],
        ..samples::load_report()
    }
}

fn requests() -> LoadReport {
    LoadReport {
        spread: Distribution {
            p99: None,
            ..samples::spread(97, 11_450)
        },
        ..samples::load_of_http()
    }
}

/// Three jobs at five distances.
fn many_recommendations() -> TuneReport {
    let mut report = samples::tune();
    let one = report.recommendations[0].clone();
    report.recommendations = Vec::new();
    for job in model::Job::ALL {
        for link in [
            None,
            Some("rtt=1ms"),
            Some("rtt=10ms"),
            Some("rtt=40ms"),
            Some("rtt=120ms rate=100mbit"),
        ] {
            report.recommendations.push(model::Recommendation {
                job,
                link: link.map(Into::into),
                ..one.clone()
            });
        }
    }
    report.warnings = vec![samples::warning(); 9];
    report
}
