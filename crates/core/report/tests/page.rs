//! The page as text: well formed, bounded, and safe with any names.

mod sample_page;
mod samples;
mod well_formed;

use model::{Operation, OperationStep};
use report::ReadOutcome;
use report::html::{Grid, Page};
use sample_page::{Sample, full, html, web_page_of};
use samples::{operation, operation_step, prediction, statement};
use std::time::Duration;
use well_formed::well_formed;

#[test]
fn every_part_is_there_and_well_formed() {
    let text = html(&full().page());
    well_formed(&text);
    for heading in [
        "Where the time went",
        "Cost of distance",
        "One operation, step by step",
        "Statements by round trips",
        "Predicted and measured",
        "Emulated links, requested and delivered",
        "Connections by round trips",
        "Conditions",
        "1 warning about these figures",
    ] {
        assert!(text.contains(&format!(">{heading}</h2>")), "{heading} is missing");
    }
    assert!(
        text.contains("<td class=\"n\" data-label=\"error\">−0.9 %</td>"),
        "the error of a prediction"
    );
    assert!(text.contains("17 queue, 5 loss"), "drops by cause");
    assert!(
        text.contains("\nbegan with the operation, "),
        "a tooltip has lines"
    );
    assert!(
        text.contains("\"here\":40000"),
        "the round trip of the measurement"
    );
}

#[test]
fn findings_that_rest_on_guesses_say_so() {
    let mut sample = full();
    sample.outcome.findings = vec![samples::doubtful_finding()];
    let text = html(&sample.page());
    well_formed(&text);
    assert!(text.contains("1 finding not listed"), "none is listed");
    let owners = model::FindingOwners::Guessed(model::Share::of_fraction(0.87));
    sample.outcome.findings.push(model::Finding {
        owners,
        ..samples::finding()
    });
    let text = html(&sample.page());
    well_formed(&text);
    assert!(text.contains("~ <span class=\"kind\">n+1</span>"), "it is marked");
    assert!(text.contains("about 87 % are their own") && text.contains("1 finding not listed"));
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let text = html(&full().page());
    for reference in [
        "http://", "https://", "src=", "@import", "url(", "<iframe", "<object", "<embed",
    ] {
        assert!(!text.contains(reference), "{reference} is in the page");
    }
    let links: Vec<&str> = text
        .match_indices("href=")
        .map(|(at, _)| &text[at..at + 14])
        .collect();
    let inside = |link: &&str| link.starts_with("href=\"#h-");
    let others: Vec<&str> = links.iter().copied().filter(|link| !inside(link)).collect();
    assert_eq!(others, ["href=\"data:,\">"]);
    assert!(
        text.contains("default-src 'none'"),
        "the policy forbids everything else"
    );
}

#[test]
fn hostile_names_stay_text() {
    let text = html(&hostile().page());
    well_formed(&text);
    assert!(!text.contains("<img"), "no element comes out of a name");
    assert_eq!(
        text.matches("</script>").count(),
        3,
        "only the page's own script and its two sets of figures end"
    );
    assert!(
        !text.contains('\u{202e}'),
        "nothing round trips the writing around"
    );
    assert!(text.contains("&lt;/script&gt;&lt;img"), "they are shown");
}

#[test]
fn the_size_is_bounded_whatever_was_seen() {
    let mut sample = full();
    let long = "select '".to_owned() + &"x".repeat(100_000);
    sample.outcome.statements = (0..5000)
        .map(|n| statement(&format!("{long}{n}"), 1, 1))
        .collect();
    let group = sample.outcome.operations[0].clone();
    sample.outcome.operations = vec![group; 10_000];
    sample
        .outcome
        .operations
        .iter_mut()
        .for_each(|group| group.name = long.as_str().into());
    let connection = sample.outcome.connections[0].clone();
    sample.outcome.connections = vec![connection; 1000];
    let warning = sample.outcome.warnings[0].clone();
    sample.outcome.warnings = vec![warning; 1000];
    sample.links = vec![sample.links[0].clone(); 1000];
    sample.outcome.predictions = (0..1000)
        .map(|rtt| model::Prediction {
            measured: Some(samples::measured(9, 9)),
            ..prediction(&long, rtt, 3.0, None)
        })
        .collect();
    sample.example = web_page_of(20_000);
    let text = html(&sample.page());
    well_formed(&text);
    assert!(text.len() < 400_000, "{} bytes", text.len());
}

#[test]
fn a_long_operation_is_cut_and_says_so() {
    let mut sample = full();
    sample.example = web_page_of(300);
    for (place, step) in sample.example.steps.iter_mut().enumerate() {
        step.exchange.fingerprint = Some(format!("select {place}").into());
    }
    let text = html(&sample.page());
    well_formed(&text);
    assert!(text.contains("The first 100 of 301 steps are listed"));
    assert_eq!(text.matches("class=\"turn\"").count(), 100);
}

#[test]
fn the_same_statement_in_a_row_is_one_line() {
    let mut sample = full();
    sample.example.steps = sequence(50);
    let text = html(&sample.page());
    well_formed(&text);
    assert_eq!(text.matches("class=\"turn\"").count(), 1);
    assert!(
        text.contains("1–50</span>") && text.contains("50 ×"),
        "it shows its round trips and how many"
    );
}

#[test]
fn a_loop_of_two_statements_is_one_line() {
    let mut sample = full();
    sample.example = web_page_of(300);
    let text = html(&sample.page());
    well_formed(&text);
    assert_eq!(
        text.matches("class=\"turn\"").count(),
        2,
        "the request, and its loop"
    );
    assert!(text.contains("150 ×"), "{text}");
}

#[test]
fn client_time_of_a_web_server_is_the_applications() {
    let mut sample = full();
    sample.example.kind = model::OperationKind::Http;
    sample.outcome.operations[0].kind = model::OperationKind::Http;
    let text = html(&sample.page());
    well_formed(&text);
    assert!(text.contains("<small>application</small>"), "in the table");
    assert!(text.contains("<b>application</b>"), "next to the bar");

    sample.example.kind = model::OperationKind::Transaction;
    for group in &mut sample.outcome.operations {
        group.kind = model::OperationKind::Transaction;
    }
    assert!(
        !html(&sample.page()).contains(">application<"),
        "only of a web server"
    );
}

#[test]
fn one_step_no_time_and_no_step_are_drawn_too() {
    for example in [
        Operation {
            steps: sequence(1),
            ..operation()
        },
        Operation {
            steps: sequence(1),
            duration: Duration::ZERO,
            attribution: Default::default(),
            ..operation()
        },
        Operation {
            steps: Vec::new(),
            ..operation()
        },
    ] {
        let mut sample = full();
        let steps = example.steps.len();
        sample.example = example;
        let text = html(&sample.page());
        well_formed(&text);
        assert_eq!(text.contains("One operation, step by step"), steps > 0);
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }
}

#[test]
fn nothing_seen_and_nothing_predicted_is_a_page_too() {
    let outcome = ReadOutcome::default();
    let text = html(&Page {
        title: "",
        outcome: &outcome,
        example: None,
        moves: &[],
        grid: None,
        links: &[],
        lab: None,
    });
    well_formed(&text);
    assert!(text.contains("No TCP connection was seen."));
    assert!(!text.contains("<script"), "nothing moves");
    assert!(!text.contains("Cost of distance"));
}

#[test]
fn variants_of_a_lab_stand_beside_each_other() {
    let sample = full();
    let lab = samples::lab();
    let text = html(&Page {
        lab: Some(&lab),
        ..sample.page()
    });
    well_formed(&text);
    assert!(text.contains("Variants compared") && text.contains("data-label=\"times\">14.2<"));
}

#[test]
fn both_legs_of_a_lab_are_drawn_on_one_scale() {
    let (sample, lab) = (full(), samples::lab_of_two_legs());
    let text = html(&Page {
        lab: Some(&lab),
        ..sample.page()
    });
    well_formed(&text);
    let legs = section_of(&text, "legs");
    assert_eq!(legs.matches("class=\"leg wide\"").count(), 2);
    for words in ["added round-trip time (ms)", "median time of one request (ms)"] {
        assert_eq!(legs.matches(words).count(), 4, "two plots of two sizes: {words}");
    }
    assert!(
        legs.contains("measured median 12.3 ms at 0 ms, 51.8 ms at 10 ms, 173.3 ms at 40 ms"),
        "{legs}"
    );
    assert!(legs.contains("Each ms of round trip adds 27.2 ms, predicted 27.2; 27.2 round trips counted."));
    // One scale: the same distance and time are at the same place of both.
    let dots: Vec<&str> = legs.split("<circle class=\"dot\"").skip(2).collect();
    let at = |words: &str| {
        let dot = dots.iter().find(|dot| dot.contains(words));
        dot.and_then(|dot| dot.split("\" cy").next()).map(str::to_owned)
    };
    assert_eq!(
        at(">measured: 173.3 ms at 40 ms"),
        at(">measured: 1,099 ms at 40 ms")
    );
    assert!(at(">measured: 173.3 ms at 40 ms").is_some());
}

/// From its heading to the next section.
fn section_of<'a>(text: &'a str, id: &str) -> &'a str {
    let start = text
        .find(&format!("h2 id=\"h-{id}\""))
        .expect("the section is there");
    let rest = &text[start..];
    &rest[..rest.find("</section>").unwrap_or(rest.len())]
}

#[test]
fn without_a_grid_the_asked_links_carry_the_curve() {
    let sample = full();
    let outcome = ReadOutcome {
        predictions: [0, 10, 40]
            .map(|rtt| prediction("GET /article/?", rtt, 27.0, None))
            .to_vec(),
        ..sample.outcome.clone()
    };
    let page = Page {
        outcome: &outcome,
        grid: None,
        ..sample.page()
    };
    let text = html(&page);
    well_formed(&text);
    assert!(text.contains("class=\"curve wide\"") && text.contains("id=\"s-rtt\""));

    let alone = ReadOutcome {
        predictions: outcome.predictions[..1].to_vec(),
        ..outcome.clone()
    };
    let text = html(&Page {
        outcome: &alone,
        grid: None,
        ..sample.page()
    });
    well_formed(&text);
    assert!(
        !text.contains("class=\"curve") && text.contains("Requested links"),
        "one link makes no curve"
    );
}

#[test]
fn the_median_of_four_errors_lies_between_the_two_in_the_middle() {
    let sample = full();
    let off_by = |permille: u64| {
        let predicted = prediction("GET /article/?", 10, 27.0, None);
        let middle = predicted.duration.as_micros() as u64 * 1_000 / (1_000 + permille);
        model::Prediction {
            measured: Some(samples::measured(9, middle)),
            ..predicted
        }
    };
    let outcome = ReadOutcome {
        predictions: [57, 4, 54, 8].map(off_by).to_vec(),
        ..sample.outcome.clone()
    };
    let text = html(&Page {
        outcome: &outcome,
        ..sample.page()
    });
    let verdict = "Over 4 points the median error is <b>3.1 %</b>, the worst 5.7 %";
    assert!(text.contains(verdict), "{text}");
}

#[test]
fn a_lab_that_replays_its_operations_once_for_each_link_does_not_count_them_twice() {
    let mut sample = full();
    (sample.grid.seen, sample.grid.replayed) = (100, 100);
    let text = html(&sample.page());
    assert!(text.contains("100 of 100 operations"), "{text}");
}

#[test]
fn a_name_with_gaps_in_the_grid_is_left_out() {
    let mut sample = full();
    sample
        .grid
        .predictions
        .retain(|cell| &*cell.operation_name != "PUT /basket" || cell.clients == 1);
    let text = html(&sample.page());
    well_formed(&text);
    assert!(
        !text.contains("id=\"s-operation\""),
        "there is only one to choose"
    );

    sample.grid = Grid::default();
    sample.outcome.predictions.clear();
    assert!(
        !html(&sample.page()).contains("<script"),
        "an empty grid has no sliders"
    );
}

fn sequence(count: usize) -> Vec<OperationStep> {
    let mut steps = vec![operation_step(); count];
    for (index, step) in steps.iter_mut().enumerate() {
        step.after = index.checked_sub(1).map(|before| before as u32);
    }
    steps
}

/// Every text from outside tries to inject an element.
fn hostile() -> Sample {
    let name = "</script><img src=x onerror='window.hacked=1'>\"&\u{2028}\u{202e}";
    let mut sample = full();
    let outcome = &mut sample.outcome;
    outcome.conditions.host = Some(name.to_owned());
    outcome.conditions.observation_point = name.to_owned();
    outcome.conditions.command_line = name.to_owned();
    outcome.warnings[0].text = name.to_owned();
    outcome.statements[0].fingerprint = name.into();
    outcome
        .operations
        .iter_mut()
        .for_each(|group| group.name = name.into());
    outcome
        .predictions
        .iter_mut()
        .for_each(|prediction| prediction.operation_name = name.into());
    sample
        .grid
        .predictions
        .retain(|cell| &*cell.operation_name == "PUT /basket");
    sample
        .grid
        .predictions
        .iter_mut()
        .for_each(|cell| cell.operation_name = name.into());
    sample.grid.moved = name.to_owned();
    sample.grid.link = name.to_owned();
    sample.links[0].name = name.to_owned();
    sample.links[0].asked = name.to_owned();
    sample.example.name = name.into();
    for step in &mut sample.example.steps {
        step.exchange.fingerprint = Some(name.into());
        step.exchange.error = Some(name.into());
    }
    sample
}
