//! Keys, at moments set by the test.

mod moments;

use moments::{Moments, draw, lines};
use screen::{Glyphs, Screen, ScreenKey, ScreenLook, ScreenRequest, Snapshot, Tab, TimeStep};
use std::time::Duration;

const STYLE: ScreenLook = ScreenLook {
    glyphs: Glyphs::Unicode,
    colour: false,
};

fn press(screen: &mut Screen, keys: &str) -> Option<ScreenRequest> {
    keys.chars().fold(None, |_, key| screen.key(ScreenKey::Char(key)))
}

fn shown(screen: &mut Screen) -> String {
    lines(&draw(screen, 132, 40))
}

/// Repeated traffic of a live run, without a position.
fn live(moments: &Moments, seconds: u64, calls: u64) -> Snapshot {
    let mut snapshot = moments.last();
    snapshot.position = None;
    snapshot.observed = Duration::from_secs(seconds);
    snapshot.current.turns = calls * 10;
    snapshot.current.open = 1;
    for group in &mut snapshot.outcome.operations {
        group.count = calls;
    }
    snapshot.outcome.summary.operations = calls;
    snapshot
}

#[test]
fn keys_that_ask_for_something_say_what() {
    let mut screen = Screen::new(STYLE);
    for (key, request) in [
        ('q', ScreenRequest::Quit),
        ('h', ScreenRequest::WritePage),
        ('m', ScreenRequest::SetBaseline),
        ('M', ScreenRequest::RemoveBaseline),
    ] {
        assert_eq!(screen.key(ScreenKey::Char(key)), Some(request));
    }
    assert_eq!(screen.key(ScreenKey::Interrupt), Some(ScreenRequest::Interrupt));
    // Ctrl-C works while typing and on the help page.
    for before in ["/", "l", "?"] {
        press(&mut screen, before);
        assert_eq!(screen.key(ScreenKey::Interrupt), Some(ScreenRequest::Interrupt));
    }
}

#[test]
fn tabs_are_reached_by_number_and_in_turn() {
    let mut screen = Screen::new(STYLE);
    for (key, tab) in ('1'..).zip(Tab::ALL) {
        screen.key(ScreenKey::Char(key));
        assert_eq!(screen.tab(), tab);
    }
    screen.key(ScreenKey::Tab);
    assert_eq!(screen.tab(), Tab::Operations);
    screen.key(ScreenKey::BackTab);
    assert_eq!(screen.tab(), Tab::Findings);
}

#[test]
fn a_link_can_be_typed_and_taken_back() {
    let mut screen = Screen::new(STYLE);
    press(&mut screen, "lrtt=40ms rate=10mbit");
    screen.key(ScreenKey::Enter);
    assert_eq!(screen.wants().link.to_string(), "rtt=40ms rate=10mbit");
    // The input starts with the current link; Escape keeps it.
    press(&mut screen, "l");
    (0..30).for_each(|_| assert!(screen.key(ScreenKey::Backspace).is_none()));
    screen.key(ScreenKey::Escape);
    assert_eq!(screen.wants().link.rtt, Duration::from_millis(40));
    press(&mut screen, "+");
    assert_eq!(screen.wants().link.to_string(), "rtt=80ms rate=10mbit");
    press(&mut screen, "0");
    assert_eq!(
        screen.wants().link,
        link::LinkDescription::with_rtt(screen::COST_RTT)
    );
}

#[test]
fn a_filter_leaves_the_names_that_have_it() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(STYLE);
    press(&mut screen, "2");
    let all = shown(&mut screen);
    press(&mut screen, "/SELECT");
    screen.key(ScreenKey::Enter);
    let some = shown(&mut screen);
    assert!(
        some.contains("filter: SELECT") && some.contains("select"),
        "{some}"
    );
    press(&mut screen, "/-nowhere-");
    let none = shown(&mut screen);
    assert!(none.contains("nothing has the filter"), "{none}");
    screen.key(ScreenKey::Escape);
    screen.key(ScreenKey::Escape);
    assert_eq!(shown(&mut screen), all);
}

#[test]
fn a_pause_keeps_what_is_shown() {
    let moments = Moments::of_the_recording();
    let mut screen = Screen::new(STYLE);
    screen.show(live(&moments, 1, 100));
    press(&mut screen, " ");
    let paused = shown(&mut screen);
    assert!(
        paused.contains("PAUSED") && paused.contains("observed 1.0 s"),
        "{paused}"
    );
    screen.show(live(&moments, 9, 900));
    assert_eq!(shown(&mut screen), paused);
    press(&mut screen, " ");
    let goes_on = shown(&mut screen);
    assert!(
        !goes_on.contains("PAUSED") && goes_on.contains("observed 9.0 s"),
        "{goes_on}"
    );
}

#[test]
fn rates_are_those_of_the_last_seconds() {
    let moments = Moments::of_the_recording();
    let mut screen = Screen::new(STYLE);
    for second in 0..=10 {
        screen.show(live(&moments, second, 100 * second));
    }
    let steady = shown(&mut screen);
    assert!(steady.contains("round trips/s 1000 "), "{steady}");
    assert!(steady.contains(" 100 "), "{steady}");
    for second in 11..=20 {
        screen.show(live(&moments, second, 1_000));
    }
    let idle = shown(&mut screen);
    assert!(idle.contains("round trips/s 0.0 "), "{idle}");
}

#[test]
fn columns_sort_by_their_keys_both_ways() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(STYLE);
    press(&mut screen, "2n");
    let names = |screen: &mut Screen| -> Vec<String> {
        let shown = shown(screen);
        let rows = shown
            .lines()
            .skip(8)
            .take_while(|line| !line.starts_with('─') && !line.is_empty());
        rows.map(|line| line[..line.len().min(20)].to_owned()).collect()
    };
    let up = names(&mut screen);
    let mut sorted = up.clone();
    sorted.sort();
    assert!(up.len() > 2 && up == sorted, "{up:?}");
    press(&mut screen, "n");
    let mut down = names(&mut screen);
    down.reverse();
    assert_eq!(down, up);
    press(&mut screen, "s");
    assert!(shown(&mut screen).contains("calls/s▼"));
    press(&mut screen, "S");
    assert!(shown(&mut screen).contains("calls/s▲"));
}

#[test]
fn a_baseline_shows_how_far_figures_differ_from_those_before() {
    let moments = Moments::of_the_recording();
    let mut screen = Screen::new(STYLE);
    screen.show(live(&moments, 0, 0));
    screen.show(live(&moments, 5, 500));
    assert_eq!(press(&mut screen, "m"), Some(ScreenRequest::SetBaseline));
    for second in 6..=11 {
        let mut later = live(&moments, second, (second - 5) * 200);
        later.current.turns = second * 5_000;
        later.since_baseline = Some(Duration::from_secs(second - 5));
        for group in &mut later.outcome.operations {
            group.spread.p50 = group.spread.p50.map(|p50| p50 / 2);
        }
        screen.show(later);
    }
    let compared = shown(&mut screen);
    assert!(compared.contains("since baseline 6.0 s"), "{compared}");
    assert!(
        compared.contains("+100%") && compared.contains("-50%"),
        "{compared}"
    );
    assert_eq!(press(&mut screen, "M"), Some(ScreenRequest::RemoveBaseline));
    assert!(!shown(&mut screen).contains("+100%"));
}

#[test]
fn arrows_move_through_the_time_of_a_recording_and_the_rows_of_a_run() {
    let mut moments = Moments::of_the_recording();
    let mut screen = moments.screen(STYLE);
    for (key, step) in [
        (ScreenKey::Left, TimeStep::Seconds(-1)),
        (ScreenKey::Right, TimeStep::Seconds(1)),
        (ScreenKey::PageUp, TimeStep::Seconds(-10)),
        (ScreenKey::PageDown, TimeStep::Seconds(10)),
        (ScreenKey::Home, TimeStep::Begin),
        (ScreenKey::End, TimeStep::End),
    ] {
        assert_eq!(screen.key(key), Some(ScreenRequest::Move(step)));
    }
    let mut screen = Screen::new(STYLE);
    screen.show(live(&moments, 1, 100));
    press(&mut screen, "2");
    let first = shown(&mut screen);
    for key in [
        ScreenKey::End,
        ScreenKey::Down,
        ScreenKey::PageDown,
        ScreenKey::Right,
    ] {
        assert_eq!(screen.key(key), None);
    }
    assert_ne!(shown(&mut screen), first);
    assert_eq!(screen.key(ScreenKey::Home), None);
    assert_eq!(shown(&mut screen), first);
}
