//! A real recording, summed up at moments of its timeline.

use analysis::paces::Paces;
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::input::{FactReader, Reading};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use screen::{LinkForecast, Position, Screen, ScreenLook, Snapshot, Wants};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One snapshot per second of the recording.
pub struct Moments {
    aggregator: Aggregator,
    snapshots: Vec<Snapshot>,
}

/// psql pages with a query per row, and pgbench with six transactions a second: `watch -o`, eleven
/// seconds.
pub fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pages.lwr")
}

/// As `top` requests it.
pub fn wanted() -> AggregatorConfig {
    AggregatorConfig {
        live: true,
        findings: Some(analysis::findings::Distances::default()),
        ..AggregatorConfig::default()
    }
}

impl Moments {
    pub fn of_the_recording() -> Self {
        let mut facts = FactReader::start(vec![recording()], Reading::default());
        let all: Vec<_> = std::iter::from_fn(|| facts.next_fact()).collect();
        facts.finish().expect("the recording can be read");
        let times = || all.iter().map(analysis::fact::Fact::time);
        let (first, last) = (times().min().expect("facts"), times().max().expect("facts"));
        let length = last.since(first);
        let mut aggregator = Aggregator::new(&wanted(), model::Conditions::default()).expect("it begins");
        let mut snapshots = Vec::new();
        let second = Duration::from_secs(1);
        let mut moment = second;
        for fact in all {
            while moment < length && fact.time() > first.after(moment) {
                snapshots.push(snapshot(&mut aggregator, moment, length));
                moment += second;
            }
            aggregator.fact(fact);
        }
        snapshots.push(snapshot(&mut aggregator, length, length));
        Self {
            aggregator,
            snapshots,
        }
    }

    pub fn last(&self) -> Snapshot {
        self.snapshots.last().cloned().expect("a snapshot")
    }

    /// A screen after all snapshots, with predictions.
    pub fn screen(&mut self, look: ScreenLook) -> Screen {
        self.screen_at(look, Duration::MAX)
    }

    /// A screen after the snapshots up to `moment`.
    pub fn screen_at(&mut self, look: ScreenLook, moment: Duration) -> Screen {
        let mut screen = Screen::new(look);
        for snapshot in self.snapshots.iter().take_while(|one| one.observed <= moment) {
            screen.show(snapshot.clone());
        }
        self.predict(&mut screen);
        screen
    }

    pub fn predict(&mut self, screen: &mut Screen) {
        let elsewhere = self.elsewhere(&screen.wants());
        screen.forecast(elsewhere);
    }

    pub fn elsewhere(&mut self, wants: &Wants) -> LinkForecast {
        let recent = self.aggregator.recent().expect("operations are kept");
        let moved = self.aggregator.moved();
        let predicted = recent.predict(&[wants.link], &moved);
        LinkForecast {
            link: Some(wants.link),
            paces: Paces::from_operations(recent.iter(), &predicted.predictions),
            operations: predicted.predictions,
            statements: recent.predict_statements(wants.link, &moved),
            held: predicted.held,
            replayed: recent.len(),
        }
    }
}

fn snapshot(aggregator: &mut Aggregator, at: Duration, of: Duration) -> Snapshot {
    let so_far = aggregator.so_far(300, &[screen::COST_RTT]);
    Snapshot {
        place: "pages.lwr".to_owned(),
        note: String::new(),
        observed: at,
        position: Some(Position { at, of }),
        outcome: so_far.outcome,
        most_rows: 300,
        current: so_far.current,
        ring: None,
        open: so_far.open,
        since_baseline: None,
        forecast: None,
    }
}

pub fn draw(screen: &mut Screen, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    screen.draw(area, &mut buffer);
    buffer
}

/// The text, without trailing blanks.
pub fn lines(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let lines = buffer.content.chunks(width).map(|line| {
        let text: String = line.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", text.trim_end())
    });
    lines.collect()
}
