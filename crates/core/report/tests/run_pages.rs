//! Pages of single runs (`check`, `split`, `echo`, `ping`, `load`): well formed, self-contained,
//! and safe with any names.

mod axe;
mod samples;
mod well_formed;

use model::{Distribution, PlacementOutcome, PlanLink, SampleOutcome};
use report::html::{
    LoadCourse, PingPage, write_check, write_comparison, write_echo, write_load, write_ping, write_plan,
    write_split,
};
use report::outcome::{EchoReport, LoadFailure, PingOutcome, SplitReport};
use report::text::split_view;
use report::{Colour, Extent, Style};
use samples::{
    bulk, checked, comparison, conditions, echo, elsewhere, leg, link, load_interval, load_report,
    not_predicted, planned, split, warning,
};
use std::io;
use std::time::Duration;
use well_formed::well_formed;

const WIDE: Style = Style {
    width: 200,
    colour: Colour::Plain,
    extent: Extent::First,
};
const HOSTILE: &str = "</script><img src='x' onerror=\"a&b\">\u{202e}\0";

fn page(make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut html = Vec::new();
    make(&mut html).expect("memory takes it");
    String::from_utf8(html).expect("a page is UTF-8")
}

fn pages(name: &str) -> Vec<(&'static str, String)> {
    vec![
        ("check", check_page(name)),
        ("comparison", comparison_page(name)),
        ("split", split_page(name)),
        ("echo", echo_page(name)),
        ("ping", ping_page(name)),
        ("load", load_page(name)),
        ("plan", plan_page(name)),
        ("plan of four places", plan_of_places(name, 4)),
        ("plan of seven places", plan_of_places(name, 7)),
    ]
}

fn check_page(name: &str) -> String {
    let mut report = checked();
    report.title = name.to_owned();
    report.warnings = vec![warning()];
    report.warnings[0].text = name.to_owned();
    for verdict in &mut report.verdicts {
        verdict.operation_name = name.into();
        verdict.remedy = Some(name.to_owned());
    }
    report.changes[0].operation_name = name.into();
    page(|out| write_check(&report, &conditions(), out))
}

fn comparison_page(name: &str) -> String {
    let mut report = comparison();
    report.titles = [name, name].map(str::to_owned);
    report.warnings[0].text = name.to_owned();
    report.operations[0].name = name.into();
    page(|out| write_comparison(&report, &conditions(), out))
}

fn plan_page(name: &str) -> String {
    let mut plan = planned();
    plan.title = name.to_owned();
    plan.currency = name.to_owned();
    plan.warnings[0].text = name.to_owned();
    plan.places[0] = name.into();
    plan.links[0].between[0] = name.into();
    plan.today.services[0].service = name.into();
    plan.predicted[0].operations[0].name = name.into();
    plan.predicted[0].services[1].place = name.into();
    plan.moves[0].service = name.into();
    plan.held_back[0].service = name.into();
    plan.held_back[0].fixes[0].remedy = name.to_owned();
    plan.held_back[0].statements[0].fingerprint = Some(name.into());
    page(|out| write_plan(&plan, &conditions(), out))
}

/// Links between all places, and a cheaper placement.
fn plan_of_places(name: &str, places: usize) -> String {
    let mut plan = planned();
    plan.title = name.to_owned();
    plan.places = (1..=places)
        .map(|place| format!("region-{place}").into())
        .collect();
    let link = plan.links.remove(0);
    for (index, from) in plan.places.iter().enumerate() {
        plan.links
            .extend(plan.places.iter().skip(index + 1).map(|to| PlanLink {
                between: [from.clone(), to.clone()],
                ..link.clone()
            }));
    }
    for (index, placed) in plan.today.services.iter_mut().enumerate() {
        placed.place = plan.places[index].clone();
    }
    plan.cheapest = Some(PlacementOutcome {
        moved: 1,
        ..plan.today.clone()
    });
    page(|out| write_plan(&plan, &conditions(), out))
}

fn split_page(name: &str) -> String {
    page(|out| write_split(&split_report(name), &conditions(), out))
}

fn split_report(name: &str) -> SplitReport {
    let mut place = elsewhere();
    place.place = name.into();
    SplitReport {
        work: name.to_owned(),
        server: name.to_owned(),
        rounds: 5,
        visit: Duration::from_secs(1),
        points: vec![split()],
        predictions: vec![place.clone(), not_predicted()],
        proofs: vec![place],
        links: vec![link()],
        warnings: vec![warning()],
    }
}

fn echo_page(name: &str) -> String {
    let report = EchoReport {
        server: name.to_owned(),
        same_host: true,
        processors: Some(2),
        time: Duration::from_secs(2),
        floor: Some(Duration::from_micros(21)),
        echoes: vec![echo(), echo()],
        bulks: vec![bulk()],
        warnings: vec![warning()],
    };
    page(|out| write_echo(&report, &conditions(), out))
}

fn ping_page(name: &str) -> String {
    let mut opened = leg();
    opened.name = name.into();
    opened.remedy = Some(name.into());
    let target = |failed| PingOutcome {
        target: name.to_owned(),
        samples: SampleOutcome {
            time: samples::spread(200, 11_300),
            round_trip: samples::spread(200, 10_040),
            ..SampleOutcome::default()
        },
        failed,
        ..PingOutcome::default()
    };
    let targets = [target(None), target(Some(name.to_owned()))];
    let of_page = PingPage {
        targets: &targets,
        legs: &[(0, vec![opened])],
        warnings: &[warning()],
    };
    page(|out| write_ping(&of_page, &conditions(), out))
}

fn load_page(name: &str) -> String {
    let mut report = load_report();
    report.target = name.to_owned();
    report.scripts[0].name = name.to_owned();
    report.failures[0].text = name.to_owned();
    report.statements = vec![samples::statement(name, 3, 3)];
    let mut course = LoadCourse::default();
    for second in 1..=4 {
        let mut interval = load_interval();
        interval.elapsed = Duration::from_secs(second);
        course.add(&interval);
    }
    page(|out| write_load(&report, &course, &conditions(), out))
}

#[test]
fn they_are_well_formed_begin_with_the_answer_and_end_with_the_conditions() {
    for (command, html) in pages("db1") {
        well_formed(&html);
        let answer = html
            .find("<p class=\"answer\">")
            .unwrap_or_else(|| panic!("{command}: no answer"));
        let section = html
            .find("<section")
            .unwrap_or_else(|| panic!("{command}: no section"));
        assert!(answer < section, "{command}: the answer comes first");
        assert!(html.contains(">Conditions</h2>"), "{command}");
        assert!(
            !html.contains("<script"),
            "{command}: there is nothing for a script to do"
        );
        for wrong in ["NaN", "inf"] {
            let body = html.split("</style>").nth(1).expect("a style ends");
            assert!(!body.contains(wrong), "{command}: {wrong}");
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    for (command, html) in pages(HOSTILE) {
        well_formed(&html);
        assert!(!html.contains("<img"), "{command}: an element out of a name");
        assert!(
            !html.contains('\u{202e}'),
            "{command}: something round trips the writing around"
        );
        assert!(
            html.contains("&lt;/script&gt;&lt;img"),
            "{command}: the name is shown"
        );
    }
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    for (command, html) in pages("db1") {
        for reference in [
            "http://", "https://", "src=", "@import", "url(", "<iframe", "<object", "<embed",
        ] {
            assert!(!html.contains(reference), "{command}: {reference}");
        }
        assert!(html.contains("default-src 'none'"), "{command}: the policy");
    }
}

#[test]
fn the_answers_are_those_of_the_figures() {
    let of = |command: &str| {
        let (_, html) = pages("db1")
            .into_iter()
            .find(|(name, _)| *name == command)
            .expect("a page");
        let from = html.find("<p class=\"answer\">").expect("an answer") + "<p class=\"answer\">".len();
        html[from..].split('<').next().expect("text").to_owned()
    };
    assert_eq!(of("check"), "4 of 6 budgets are broken.");
    assert!(
        of("load").starts_with("249.7 transactions a second with 8 clients: half took at most "),
        "{}",
        of("load")
    );
    assert!(of("load").ends_with("; 3 failed."), "{}", of("load"));
    assert!(
        of("ping").starts_with("db1 is nearest: a reply takes 11.3 ms, the round-trip time is 10.0 ms"),
        "{}",
        of("ping")
    );
}

#[test]
fn nothing_measured_is_a_page_too() {
    let report = EchoReport {
        server: "db1".to_owned(),
        same_host: false,
        processors: None,
        time: Duration::ZERO,
        floor: None,
        echoes: Vec::new(),
        bulks: Vec::new(),
        warnings: Vec::new(),
    };
    let empty = page(|out| write_echo(&report, &conditions(), out));
    well_formed(&empty);
    assert!(empty.contains("Nothing was measured."));
    let of_page = PingPage {
        targets: &[PingOutcome::default()],
        legs: &[],
        warnings: &[],
    };
    let silent = page(|out| write_ping(&of_page, &conditions(), out));
    well_formed(&silent);
    assert!(silent.contains("No target answered."));
    let mut report = load_report();
    report.spread = Distribution::default();
    report.succeeded = 0;
    well_formed(&page(|out| {
        write_load(&report, &LoadCourse::default(), &conditions(), out)
    }));
}

#[test]
fn the_size_is_bounded_whatever_was_seen() {
    let long = "x".repeat(50_000);
    let mut report = checked();
    let verdict = report.verdicts[0].clone();
    report.verdicts = vec![verdict; 5000];
    for verdict in &mut report.verdicts {
        verdict.operation_name = long.as_str().into();
        verdict.remedy = Some(long.clone());
    }
    let check = page(|out| write_check(&report, &conditions(), out));
    let mut report = load_report();
    report.failures = vec![
        LoadFailure {
            text: long.clone(),
            count: 1
        };
        5000
    ];
    report.statements = vec![samples::statement(&long, 1, 1); 5000];
    let load = page(|out| write_load(&report, &LoadCourse::default(), &conditions(), out));
    for html in [check, load] {
        well_formed(&html);
        assert!(html.len() < 700_000, "{} bytes", html.len());
    }
}

#[test]
fn axe_finds_nothing() {
    let axe = axe::Axe::start();
    for (name, page) in pages("GET /article/?") {
        axe.clean(name, &page);
    }
}

#[test]
fn a_split_says_whose_clients_it_predicts_and_why_it_does_not() {
    let report = split_report("rtt=5ms");
    let page = page(|out| write_split(&report, &conditions(), out));
    let text = split_view(&report, &WIDE);
    for shown in [&page, &text] {
        assert!(shown.contains("clients as fast as longwire's own"), "{shown}");
        assert!(shown.contains("not predicted"), "{shown}");
        assert!(shown.contains("anything from 4000 to 16000 a second"), "{shown}");
    }
    let row = |ending: &str| {
        text.lines()
            .any(|line| line.starts_with("  rtt=5ms") && line.ends_with(ending))
    };
    assert!(row("round trips") && row("not predicted"), "{text}");
}
