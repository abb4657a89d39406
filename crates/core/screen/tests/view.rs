//! The screen at many sizes, from a real recording, compared with `tests/data`. After an intended
//! change, rewrite with `WRITE_VIEWS=1 cargo test -p longwire-screen --test view` and review the difference.

mod moments;

use link::LinkDescription;
use model::Prediction;
use moments::{Moments, draw, lines, recording, wanted};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::input::{FactReader, Reading};
use predict::PredictionTarget;
use ratatui_core::style::Color;
use screen::{Glyphs, Screen, ScreenKey, ScreenLook, Tab};
use std::path::Path;
use std::time::Duration;

const PLAIN: ScreenLook = ScreenLook {
    glyphs: Glyphs::Unicode,
    colour: false,
};

#[expect(
    clippy::disallowed_methods,
    reason = "whether to write the files is the caller's choice"
)]
fn agrees(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    if std::env::var_os("WRITE_VIEWS").is_some() {
        std::fs::write(&path, text).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{name} differs; WRITE_VIEWS=1 writes it again:\n{text}"
    );
}

#[test]
fn every_size_has_its_view() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(PLAIN);
    let sizes = [
        (80, 24),
        (90, 30),
        (100, 30),
        (120, 40),
        (132, 43),
        (160, 50),
        (200, 60),
        (250, 80),
        (60, 16),
        (40, 10),
    ];
    for (width, height) in sizes {
        let text = lines(&draw(&mut screen, width, height));
        agrees(&format!("view-{width}x{height}.txt"), &text);
    }
}

#[test]
fn every_tab_has_its_view_here_and_elsewhere() {
    let mut moments = Moments::of_the_recording();
    for (number, tab) in ('1'..).zip(Tab::ALL) {
        // All connections are closed at the end.
        let mut screen = match tab {
            Tab::Connections => moments.screen_at(PLAIN, Duration::from_secs(8)),
            _ => moments.screen(PLAIN),
        };
        screen.key(ScreenKey::Char(number));
        assert_eq!(screen.tab(), tab);
        for (name, keys) in [("here", "0"), ("10ms", "0++++")] {
            keys.chars()
                .for_each(|key| assert!(screen.key(ScreenKey::Char(key)).is_none()));
            moments.predict(&mut screen);
            let text = lines(&draw(&mut screen, 120, 30));
            agrees(&format!("tab-{number}-{name}.txt"), &text);
        }
    }
}

#[test]
fn the_help_and_lines_that_are_typed_have_their_views() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(PLAIN);
    screen.key(ScreenKey::Char('?'));
    agrees("help-80x24.txt", &lines(&draw(&mut screen, 80, 24)));
    screen.key(ScreenKey::Escape);
    screen.key(ScreenKey::Char('l'));
    "rtt=40ms rte=1"
        .chars()
        .for_each(|key| assert!(screen.key(ScreenKey::Char(key)).is_none()));
    screen.key(ScreenKey::Enter);
    let shown = lines(&draw(&mut screen, 100, 24));
    assert!(shown.contains("rte"), "{shown}");
}

#[test]
fn without_unicode_every_character_is_ascii_and_without_colour_none_is_coloured() {
    let mut moments = Moments::of_the_recording();
    let ascii = ScreenLook {
        glyphs: Glyphs::Ascii,
        colour: false,
    };
    let mut screen = moments.screen(ascii);
    for number in '1'..='5' {
        screen.key(ScreenKey::Char(number));
        let buffer = draw(&mut screen, 132, 43);
        assert!(lines(&buffer).is_ascii(), "{}", lines(&buffer));
        assert!(
            buffer
                .content
                .iter()
                .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }
    let mut screen = moments.screen(ScreenLook {
        colour: true,
        ..PLAIN
    });
    let buffer = draw(&mut screen, 132, 43);
    for colour in [Color::Blue, Color::Yellow, Color::Green] {
        assert!(buffer.content.iter().any(|cell| cell.fg == colour), "{colour}");
    }
}

#[test]
fn what_names_hold_does_not_reach_the_terminal() {
    let moments = Moments::of_the_recording();
    let mut shown = moments.last();
    for statement in &mut shown.outcome.statements {
        statement.fingerprint = "select \u{1b}[2J\u{202e} \u{7}表".into();
    }
    for group in &mut shown.outcome.operations {
        group.name = "\u{9b}31m\r\n".into();
    }
    shown.place = "\u{1b}]0;x\u{7}".to_owned();
    let mut screen = Screen::new(PLAIN);
    screen.show(shown);
    for number in '1'..='5' {
        screen.key(ScreenKey::Char(number));
        let buffer = draw(&mut screen, 100, 30);
        let symbols = buffer.content.iter().flat_map(|cell| cell.symbol().chars());
        let bad: Vec<char> = symbols
            .filter(|character| character.is_control() || *character == '\u{202e}')
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
    }
    assert!(lines(&draw(&mut screen, 100, 30)).len() > 1_000);
}

#[test]
fn any_size_can_be_drawn() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(PLAIN);
    for (width, height) in [(0, 0), (1, 1), (59, 16), (60, 15), (61, 17), (300, 100)] {
        for key in "1234512345?".chars() {
            screen.key(ScreenKey::Char(key));
            draw(&mut screen, width, height);
        }
        screen.key(ScreenKey::Escape);
    }
}

#[test]
fn the_screen_predicts_what_predict_does() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(PLAIN);
    (0..4).for_each(|_| assert!(screen.key(ScreenKey::Char('+')).is_none()));
    let wants = screen.wants();
    assert_eq!(wants.link.rtt, screen::COST_RTT);
    let (by_predict, by_screen) = (by_predict(wants.link), moments.elsewhere(&wants).operations);
    assert!(!by_predict.is_empty());
    // The screen's replay does not simulate the removal of findings.
    let as_it_is = |predictions: &[Prediction]| -> Vec<Prediction> {
        let alone = |one: &Prediction| Prediction {
            unexplained: None,
            examples: None,
            ..one.clone()
        };
        predictions.iter().map(alone).collect()
    };
    assert_eq!(as_it_is(&by_predict), as_it_is(&by_screen));
    moments.predict(&mut screen);
    let shown = lines(&draw(&mut screen, 250, 80));
    let first = &by_predict[0];
    let p50 = model::format_duration(first.duration);
    let row = shown
        .lines()
        .find(|line| line.starts_with(&*first.operation_name));
    let row = row.unwrap_or_else(|| panic!("{} is not in\n{shown}", first.operation_name));
    assert!(row.contains(&p50), "{p50} is not in {row}");
}

#[test]
fn to_look_at_a_run_changes_nothing_and_its_end_is_that_of_read() {
    let looked_at = Moments::of_the_recording().last();
    let mut aggregator = Aggregator::new(&wanted(), model::Conditions::default()).expect("it begins");
    let mut facts = FactReader::start(vec![recording()], Reading::default());
    std::iter::from_fn(|| facts.next_fact()).for_each(|fact| aggregator.fact(fact));
    let outcome = aggregator.finish(Vec::new(), None).expect("it ends");
    assert!(!outcome.operations.is_empty() && !outcome.held.is_empty());
    assert_eq!(looked_at.outcome.operations, outcome.operations);
    assert_eq!(looked_at.outcome.statements, outcome.statements);
    assert_eq!(looked_at.outcome.held, outcome.held);
    assert_eq!(looked_at.current.turns, outcome.summary.turns);
    assert_eq!(looked_at.current.closed, outcome.summary.connections);
    assert_eq!((looked_at.current.open, looked_at.current.transactions), (0, 0));
    let named = |findings: &[model::Finding]| -> Vec<_> {
        findings
            .iter()
            .map(|finding| (finding.kind, finding.fingerprint.clone(), finding.count))
            .collect()
    };
    assert!(!outcome.findings.is_empty());
    assert_eq!(named(&looked_at.outcome.findings), named(&outcome.findings));
}

/// Predictions of `longwire predict`.
fn by_predict(link: LinkDescription) -> Vec<Prediction> {
    let wanted = AggregatorConfig {
        targets: vec![PredictionTarget { link, clients: 1 }],
        ..wanted()
    };
    let mut aggregator = Aggregator::new(&wanted, model::Conditions::default()).expect("it begins");
    let mut facts = FactReader::start(vec![recording()], Reading::default());
    std::iter::from_fn(|| facts.next_fact()).for_each(|fact| aggregator.fact(fact));
    let outcome = aggregator.finish(Vec::new(), None).expect("it ends");
    outcome.predictions
}
