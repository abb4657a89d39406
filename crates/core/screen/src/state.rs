//! The state of the screen, changed by keys.

use crate::baseline::Baseline;
use crate::distance::{COST_RTT, Distance, further, nearer};
use crate::figures::Sources;
use crate::history::History;
use crate::keys::{ScreenKey, ScreenRequest, TimeStep};
use crate::look::ScreenLook;
use crate::rows::{Sort, Table};
use crate::snapshot::{LinkForecast, Snapshot};
use crate::tab::Tab;
use link::LinkDescription;

#[derive(Debug)]
pub struct Screen {
    pub(crate) look: ScreenLook,
    /// The latest snapshot, or that of the pause.
    pub(crate) snapshot: Snapshot,
    /// The latest snapshot during a pause.
    waiting: Option<Snapshot>,
    pub(crate) paused: bool,
    pub(crate) history: History,
    pub(crate) tab: Tab,
    sorts: [Sort; 5],
    /// Selected row per tab.
    selected: [usize; 5],
    pub(crate) filter: String,
    pub(crate) distance: Distance,
    pub(crate) baseline: Option<Baseline>,
    pub(crate) input: Option<Input>,
    pub(crate) help: bool,
    /// Shown until the next key.
    pub(crate) message: Option<String>,
    /// Rows per page when last drawn.
    page: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) what: InputKind,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    Filter,
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// The link to predict for: the chosen one, or [`COST_RTT`] for its column.
    pub link: LinkDescription,
    /// Whether statements need predictions too.
    pub statements: bool,
}

const MAX_INPUT_LEN: usize = 200;

impl Screen {
    pub fn new(look: ScreenLook) -> Self {
        Self {
            look,
            snapshot: Snapshot::default(),
            waiting: None,
            paused: false,
            history: History::default(),
            tab: Tab::Operations,
            sorts: Tab::ALL.map(Sort::default_of),
            selected: [0; 5],
            filter: String::new(),
            distance: None,
            baseline: None,
            input: None,
            help: false,
            message: None,
            page: 1,
        }
    }

    /// Shows the next snapshot. Rates are differences between snapshots; during a pause the latest
    /// one is kept for later.
    pub fn show(&mut self, snapshot: Snapshot) {
        match self.paused {
            true => self.waiting = Some(snapshot),
            false => {
                self.history.add_snapshot(&snapshot);
                self.snapshot = snapshot;
            }
        }
    }

    /// Adds an earlier snapshot, for rates.
    pub fn remember(&mut self, snapshot: &Snapshot) {
        self.history.add_snapshot(snapshot);
    }

    /// Predictions for the current snapshot.
    pub fn forecast(&mut self, forecast: LinkForecast) {
        if let Some(waiting) = &mut self.waiting {
            waiting.forecast = Some(forecast.clone());
        }
        self.snapshot.forecast = Some(forecast);
    }

    /// For a moment shown that is before the baseline.
    pub fn remove_baseline(&mut self) {
        self.baseline = None;
        self.show_message("the baseline is removed: this moment is before it".to_owned());
    }

    pub fn wants(&self) -> Wants {
        Wants {
            link: self
                .distance
                .unwrap_or_else(|| LinkDescription::with_rtt(COST_RTT)),
            statements: self.tab == Tab::Statements,
        }
    }

    /// Shows a message until the next key.
    pub fn show_message(&mut self, text: String) {
        self.message = Some(text);
    }

    pub fn tab(&self) -> Tab {
        self.tab
    }

    pub fn key(&mut self, key: ScreenKey) -> Option<ScreenRequest> {
        self.message = None;
        if key == ScreenKey::Interrupt {
            return Some(ScreenRequest::Interrupt);
        }
        if key == ScreenKey::Suspend {
            return Some(ScreenRequest::Suspend);
        }
        if let Some(input) = self.input.take() {
            self.typed(input, key);
            return None;
        }
        if self.help {
            self.help = false;
            if key != ScreenKey::Char('q') {
                return None;
            }
        }
        let page = isize::try_from(self.page).unwrap_or(1);
        match key {
            ScreenKey::Char(key) => self.command(key),
            ScreenKey::Tab => self.go_to(self.tab.further(1)),
            ScreenKey::BackTab => self.go_to(self.tab.further(Tab::ALL.len() - 1)),
            ScreenKey::Up => self.select(-1),
            ScreenKey::Down => self.select(1),
            ScreenKey::Escape => {
                self.filter.clear();
                None
            }
            ScreenKey::Left => self.travel(TimeStep::Seconds(-1), None),
            ScreenKey::Right => self.travel(TimeStep::Seconds(1), None),
            ScreenKey::PageUp => self.travel(TimeStep::Seconds(-10), Some(-page)),
            ScreenKey::PageDown => self.travel(TimeStep::Seconds(10), Some(page)),
            ScreenKey::Home => self.travel(TimeStep::Begin, Some(isize::MIN)),
            ScreenKey::End => self.travel(TimeStep::End, Some(isize::MAX)),
            ScreenKey::Enter | ScreenKey::Backspace | ScreenKey::Interrupt | ScreenKey::Suspend => None,
        }
    }

    fn command(&mut self, key: char) -> Option<ScreenRequest> {
        match key {
            'q' => return Some(ScreenRequest::Quit),
            '?' => self.help = true,
            ' ' => self.pause(),
            'j' => return self.select(1),
            'k' => return self.select(-1),
            'g' => return self.select(isize::MIN),
            'G' => return self.select(isize::MAX),
            '1'..='5' => {
                let place = key as usize - '1' as usize;
                return self.go_to(Tab::Operations.further(place));
            }
            '+' | '=' => self.distance = further(self.distance, self.measured()),
            '-' => self.distance = nearer(self.distance, self.measured()),
            '0' => self.distance = None,
            'l' => self.open_input(InputKind::Link, self.distance.map(|link| link.to_string())),
            '/' => self.open_input(InputKind::Filter, Some(self.filter.clone())),
            's' => self.sort_by_next(),
            'S' => {
                let sort = self.sort_mut();
                sort.ascending = !sort.ascending;
            }
            'm' => return self.set_baseline(),
            'M' => {
                self.baseline = None;
                return Some(ScreenRequest::RemoveBaseline);
            }
            'h' => return Some(ScreenRequest::WritePage),
            key => self.sort_by_key(key),
        }
        None
    }

    fn open_input(&mut self, what: InputKind, text: Option<String>) {
        self.input = Some(Input {
            what,
            text: text.unwrap_or_default(),
        });
    }

    /// Edits the input line.
    fn typed(&mut self, mut input: Input, key: ScreenKey) {
        if key == ScreenKey::Escape {
            return;
        }
        if key == ScreenKey::Enter {
            return self.entered(input);
        }
        if key == ScreenKey::Backspace {
            input.text.pop();
        }
        if let ScreenKey::Char(key) = key
            && input.text.chars().count() < MAX_INPUT_LEN
        {
            input.text.push(key);
        }
        if input.what == InputKind::Filter {
            self.filter.clone_from(&input.text);
        }
        self.input = Some(input);
    }

    fn entered(&mut self, input: Input) {
        match input.what {
            InputKind::Filter => self.filter = input.text,
            InputKind::Link if input.text.trim().is_empty() => self.distance = None,
            InputKind::Link => match input.text.parse::<LinkDescription>() {
                Ok(link) => self.distance = Some(link),
                Err(fault) => {
                    self.message = Some(format!("{fault}; a link is, for example, rtt=40ms rate=10mbit"));
                    self.input = Some(input);
                }
            },
        }
    }

    fn go_to(&mut self, tab: Tab) -> Option<ScreenRequest> {
        self.tab = tab;
        None
    }

    fn select(&mut self, by: isize) -> Option<ScreenRequest> {
        let last = self.table().rows.len().saturating_sub(1);
        let selected = &mut self.selected[self.tab.index()];
        *selected = selected.saturating_add_signed(by).min(last);
        None
    }

    /// Moves in time in a recording, by rows in a live run.
    fn travel(&mut self, step: TimeStep, rows: Option<isize>) -> Option<ScreenRequest> {
        if self.snapshot.position.is_some() {
            return Some(ScreenRequest::Move(step));
        }
        self.select(rows?)
    }

    fn pause(&mut self) {
        self.paused = !self.paused;
        if let Some(snapshot) = self.waiting.take() {
            self.show(snapshot);
        }
    }

    fn set_baseline(&mut self) -> Option<ScreenRequest> {
        let here = Sources {
            elsewhere: false,
            ..self.sources()
        };
        self.baseline = Some(Baseline::new(here.operations(), here.statements()));
        self.message = Some(
            "figures are since now, with their difference to the baseline before; M removes it".to_owned(),
        );
        Some(ScreenRequest::SetBaseline)
    }

    fn sort_mut(&mut self) -> &mut Sort {
        &mut self.sorts[self.tab.index()]
    }

    fn sort_by_next(&mut self) {
        let columns = self.table().columns.len();
        let sort = self.sort_mut();
        sort.column = (sort.column + 1) % columns.max(1);
        sort.ascending = sort.column == 0;
    }

    /// Sorts by the key's column; reverses the order if already sorted by it.
    fn sort_by_key(&mut self, key: char) {
        let column = self.table().columns.iter().position(|column| column.key == key);
        let Some(column) = column else {
            self.message = Some("no such key: ? lists them".to_owned());
            return;
        };
        let sort = self.sort_mut();
        match sort.column == column {
            true => sort.ascending = !sort.ascending,
            false => {
                *sort = Sort {
                    column,
                    ascending: column == 0,
                }
            }
        }
    }

    /// The minimum measured round-trip time.
    fn measured(&self) -> std::time::Duration {
        self.snapshot.current.least_rtt.unwrap_or_default()
    }

    pub(crate) fn sources(&self) -> Sources<'_> {
        let wanted = self.wants().link;
        let forecast = self.snapshot.forecast.as_ref();
        Sources {
            snapshot: &self.snapshot,
            history: &self.history,
            forecast: forecast.filter(|forecast| forecast.link == Some(wanted)),
            elsewhere: self.distance.is_some(),
        }
    }

    pub(crate) fn table(&self) -> Table {
        let baseline = self.baseline.as_ref().filter(|_| self.distance.is_none());
        let mut table = Table::new(self.tab, &self.sources(), baseline);
        table.filter(&self.filter);
        table.sort(self.sort());
        table
    }

    pub(crate) fn sort(&self) -> Sort {
        self.sorts[self.tab.index()]
    }

    /// Index of the selected row, limited by `rows`.
    pub(crate) fn selected(&self, rows: usize) -> usize {
        self.selected[self.tab.index()].min(rows.saturating_sub(1))
    }

    pub(crate) fn set_page(&mut self, rows: usize) {
        self.page = rows.max(1);
    }
}
