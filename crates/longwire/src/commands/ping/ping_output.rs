//! Prints events of ping while it runs, and the summary.

use super::Args;
use anyhow::Result;
use model::{
    Conditions, Distribution, Leg, Sample, SampleTally, SampleTotals, Summary, Warning, WarningKind,
};
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use probe::ping::{AnswerTime, Opened, PingError, PingEvent, Prometheus, find_intermediary};
use report::html::PingPage;
use report::outcome::{PingOpening, PingOutcome};
use report::text::{intermediary_note, ping_line, ping_opening, ping_table, ping_view};
use report::{Extent, RecordPrinter, Style};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use sys::arguments::CommandLine;

pub struct PingOutput {
    targets: Vec<TargetState>,
    began: Instant,
    records: Option<RecordPrinter<io::Stdout>>,
    metrics: Option<Prometheus>,
    table: Option<LiveTable>,
    /// The last line of a sample, which the next replaces.
    line: Option<LiveTable>,
    /// Lines of the terminal, besides those of the tables.
    printed: usize,
    style: Style,
    quiet: bool,
    page: Option<(PageFile, Conditions)>,
}

#[derive(Default)]
struct TargetState {
    name: String,
    sums: SampleTally,
    last: Option<Sample>,
    failed: Option<PingError>,
    cautions: Vec<&'static str>,
    /// Opened to measure connection setup.
    connections: u64,
    /// Legs of the first connections, up to [`MAX_WATERFALLS`].
    waterfalls: Vec<Vec<Leg>>,
    openings: u64,
    handshake: Option<Duration>,
    answer_time: AnswerTime,
}

impl PingOutput {
    pub fn new(
        args: &Args,
        typed: &CommandLine,
        names: &[String],
        metrics: Option<Prometheus>,
    ) -> Result<Self> {
        let style = args.all.style();
        let is_live = !args.records.is_given() && !output::is_quiet() && io::stdout().is_terminal();
        let is_table = names.len() > 1 && is_live;
        let is_line = !is_table && is_live && !args.all.all && style.width >= MIN_LINE_WIDTH;
        let clock = "kernel receive timestamps where the socket gives them, else the monotonic clock";
        let conditions = output::conditions(typed, clock, "the client's sockets".to_owned());
        let page = args.html.as_deref().map(PageFile::create).transpose()?;
        let mut ping_output = Self {
            targets: names
                .iter()
                .map(|name| TargetState {
                    name: name.clone(),
                    ..TargetState::default()
                })
                .collect(),
            began: Instant::now(),
            records: args.records.printer(),
            metrics,
            table: is_table.then(LiveTable::default),
            line: is_line.then(LiveTable::default),
            printed: 0,
            style,
            quiet: output::is_quiet(),
            page: None,
        };
        if let Some(metrics) = &ping_output.metrics {
            output::print_note(&format!("histograms at http://{}/metrics", metrics.address()));
        }
        if let Some(records) = &mut ping_output.records {
            records.conditions(&conditions)?;
            records.flush()?;
        }
        ping_output.page = page.map(|page| (page, conditions));
        Ok(ping_output)
    }

    pub fn event(&mut self, number: usize, event: PingEvent) -> Result<()> {
        let several = self.targets.len() > 1;
        let Some(target) = self.targets.get_mut(number) else {
            return Ok(());
        };
        match event {
            PingEvent::Opened(opening) => {
                target.openings += 1;
                if target.openings == 1 {
                    self.opened(number, opening)?;
                } else if self.table.is_none() {
                    self.line.iter_mut().for_each(LiveTable::keep);
                    output::print_note(&format!("connected to {} again", target.name));
                }
            }
            PingEvent::Sample(sample) => {
                target.sums.add(&sample);
                if let Some(metrics) = &self.metrics {
                    metrics.sample(number, &sample);
                }
                if let Some(records) = &mut self.records {
                    records.sample(&sample)?;
                    records.flush()?;
                } else if self.table.is_none() && !self.quiet {
                    let text = ping_line(&sample, several, &self.style);
                    match &mut self.line {
                        None => output::print(&text)?,
                        Some(line) => {
                            line.draw(&text)?;
                            if sample.first || sample.error.is_some() {
                                line.keep();
                            }
                        }
                    }
                }
                target.last = Some(sample);
            }
            PingEvent::Legs { at, legs } => {
                target.connections += 1;
                let mut begins = at;
                for leg in &legs {
                    if let Some(records) = &mut self.records {
                        records.leg(&target.name, target.connections, begins, leg)?;
                    }
                    begins = begins.after(leg.duration);
                }
                if target.waterfalls.len() < MAX_WATERFALLS {
                    target.waterfalls.push(legs);
                }
            }
            PingEvent::Caution(caution) => {
                self.line.iter_mut().for_each(LiveTable::keep);
                self.printed += CAUTION_LINES;
                target.caution(caution);
            }
            PingEvent::Floor(floor) => target.sums.add_floor(floor),
            PingEvent::Failed(error) => {
                if several {
                    let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
                    output::error(&format!("{}: {error}{hint}", target.name));
                }
                target.failed = Some(error);
            }
        }
        self.draw(false)
    }

    fn opened(&mut self, number: usize, opening: Opened) -> Result<()> {
        let Some(target) = self.targets.get_mut(number) else {
            return Ok(());
        };
        let name = target.name.clone();
        if let Some(caution) = opening.caution {
            self.printed += CAUTION_LINES;
            target.caution(caution);
        }
        let tcp = opening.legs.iter().find(|leg| &*leg.name == "tcp");
        target.handshake = tcp.map(|leg| leg.duration);
        target.answer_time = opening.answer_time;
        if self.records.is_none() && self.table.is_none() && !self.quiet {
            let opening = PingOpening {
                target: name,
                server: opening.server.map(|address| match address.port() {
                    0 => address.ip().to_string(),
                    _ => address.to_string(),
                }),
                version: opening.version,
                question: opening.question,
                legs: opening.legs,
            };
            let text = ping_opening(&opening, &self.style);
            self.printed += text.lines().count();
            output::print(&text)?;
        }
        Ok(())
    }

    pub fn finish(mut self, interrupted: bool) -> Result<Status> {
        if self.targets.iter().all(|target| target.failed.is_some())
            && let Some(error) = self.targets.iter_mut().find_map(|target| target.failed.take())
        {
            return Err(error.into());
        }
        // Already reported: refused by this system rather than by the target.
        self.targets
            .retain(|target| !matches!(target.failed, Some(PingError::IcmpRefused { .. })));
        self.draw(true)?;
        let elapsed = self.began.elapsed();
        let outcomes = outcomes(&mut self.targets, elapsed);
        match self.records.take() {
            Some(records) => self.summarise(records, &outcomes, elapsed)?,
            None => self.show(&outcomes)?,
        }
        self.write_page(&outcomes)?;
        let answered = |outcome: &PingOutcome| {
            let totals = outcome.samples.totals;
            totals.answered > totals.errors || (totals.sent == 0 && outcome.samples.first.is_some())
        };
        Ok(if interrupted {
            Status::Interrupted
        } else if outcomes.iter().all(answered) {
            Status::Done
        } else {
            Status::Negative
        })
    }

    /// One screen at a terminal, with the lines above; all elsewhere, as of the samples.
    fn show(&self, outcomes: &[PingOutcome]) -> Result<()> {
        let legs = self
            .targets
            .iter()
            .map(|target| target.typical().unwrap_or_default());
        let targets: Vec<(&PingOutcome, Vec<Leg>)> = outcomes.iter().zip(legs).collect();
        let mut style = self.style;
        if !io::stdout().is_terminal() {
            style.extent = Extent::All;
        }
        let tables = self.table.iter().chain(&self.line);
        let above = self.printed + tables.map(LiveTable::shown).sum::<usize>();
        output::print(&ping_view(&targets, above, &style))?;
        Ok(())
    }

    fn write_page(&mut self, outcomes: &[PingOutcome]) -> Result<()> {
        let Some((page, conditions)) = self.page.take() else {
            return Ok(());
        };
        let warnings = self.warnings(outcomes);
        let targets = self.targets.iter().enumerate();
        let legs: Vec<(usize, Vec<Leg>)> = targets
            .filter_map(|(number, target)| Some((number, target.typical()?)))
            .collect();
        let of_page = PingPage {
            targets: outcomes,
            legs: &legs,
            warnings: &warnings,
        };
        page.write_made(|out| report::html::write_ping(&of_page, &conditions, out))
    }

    fn warnings(&self, outcomes: &[PingOutcome]) -> Vec<Warning> {
        let cautions = self.targets.iter().flat_map(|target| {
            let caution =
                |&text: &&str| Warning::new(WarningKind::DoneOtherwise, text).with_name(&target.name);
            target.cautions.iter().map(caution)
        });
        let failed = outcomes.iter().filter_map(|outcome| {
            let failed = outcome.failed.as_ref()?;
            let text = format!("{}: {failed}", outcome.target);
            Some(Warning::new(WarningKind::ConnectionsFailed, text))
        });
        let behind = outcomes.iter().filter_map(|outcome| {
            let found = outcome.intermediary.as_ref()?;
            let text = format!("{}: {}", outcome.target, intermediary_note(found));
            Some(Warning::new(WarningKind::RoundTripBiased, text))
        });
        cautions.chain(failed).chain(behind).collect()
    }

    fn summarise(
        &self,
        mut records: RecordPrinter<io::Stdout>,
        outcomes: &[PingOutcome],
        elapsed: Duration,
    ) -> Result<()> {
        for outcome in outcomes {
            if let Some(found) = &outcome.intermediary {
                records.intermediary(found)?;
            }
        }
        for warning in self.warnings(outcomes) {
            records.warning(&warning)?;
        }
        let totals = outcomes.iter().map(|outcome| &outcome.samples.totals);
        let sum = |of: fn(&SampleTotals) -> u64| totals.clone().map(of).sum::<u64>();
        // A spread over several targets would be meaningless.
        let one = match outcomes {
            [outcome] => Some(outcome),
            _ => None,
        };
        records.summary(&Summary {
            turns: outcomes.iter().map(|outcome| outcome.samples.turns).sum(),
            exchanges: sum(|totals| totals.answered),
            connections: self.targets.iter().map(|target| target.openings).sum(),
            duration: elapsed,
            spread: one.map_or_else(Distribution::default, |outcome| outcome.samples.time),
            samples: Some(SampleTotals {
                sent: sum(|totals| totals.sent),
                answered: sum(|totals| totals.answered),
                lost: sum(|totals| totals.lost),
                errors: sum(|totals| totals.errors),
                per_second: totals.clone().map(|totals| totals.per_second).sum(),
                mdev: one.and_then(|outcome| outcome.samples.totals.mdev),
                floor: one.and_then(|outcome| outcome.samples.totals.floor),
            }),
            ..Summary::default()
        })?;
        records.flush()?;
        Ok(())
    }

    /// Redraws the table if it is due or `now` is set.
    fn draw(&mut self, now: bool) -> Result<()> {
        let Some(table) = &mut self.table else {
            return Ok(());
        };
        if !now && !table.is_due() {
            return Ok(());
        }
        let elapsed = self.began.elapsed();
        let outcomes = outcomes(&mut self.targets, elapsed);
        table.draw(&ping_table(&outcomes, &self.style))?;
        Ok(())
    }
}

fn outcomes(targets: &mut [TargetState], elapsed: Duration) -> Vec<PingOutcome> {
    targets.iter_mut().map(|target| target.outcome(elapsed)).collect()
}

impl TargetState {
    /// Printed at once, and repeated among the warnings of the records.
    fn caution(&mut self, caution: &'static str) {
        output::warning(&format!("{}: {caution}", self.name));
        self.cautions.push(caution);
    }

    /// The legs of the connection with the median setup time. The first call counts only if there
    /// is no other, as in the summary.
    fn typical(&self) -> Option<Vec<Leg>> {
        let counted = match self.waterfalls.as_slice() {
            [_, later @ ..] if !later.is_empty() => later,
            all => all,
        };
        let mut sorted: Vec<&Vec<Leg>> = counted.iter().collect();
        sorted.sort_by_key(|legs| legs.iter().map(|leg| leg.duration).sum::<Duration>());
        sorted
            .get(sorted.len().saturating_sub(1) / 2)
            .map(|legs| (*legs).clone())
    }

    fn outcome(&mut self, elapsed: Duration) -> PingOutcome {
        let samples = self.sums.outcome(elapsed);
        let name = self.name.as_str().into();
        PingOutcome {
            target: self.name.clone(),
            handshake: self.handshake,
            intermediary: find_intermediary(&name, &samples, self.handshake, self.answer_time),
            samples,
            elapsed,
            last: self.last.clone(),
            failed: self.failed.as_ref().map(PingError::to_string),
        }
    }
}

#[derive(Default)]
struct LiveTable {
    lines: usize,
    kept: usize,
    drawn: Option<Instant>,
}

impl LiveTable {
    fn is_due(&self) -> bool {
        self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW)
    }

    /// The drawn lines stay.
    const fn keep(&mut self) {
        self.kept += self.lines;
        self.lines = 0;
    }

    const fn shown(&self) -> usize {
        self.kept + self.lines
    }

    fn draw(&mut self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        if self.lines > 0 {
            // Moves up to the first line and clears everything below.
            write!(stdout, "\u{1b}[{}A\u{1b}[J", self.lines)?;
        }
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        self.lines = text.lines().count();
        self.drawn = Some(Instant::now());
        Ok(())
    }
}

/// Enough for a median; each takes a few hundred bytes.
const MAX_WATERFALLS: usize = 10_000;
/// In columns; narrower terminals wrap lines of samples.
const MIN_LINE_WIDTH: usize = 80;
/// About, of each at a terminal.
const CAUTION_LINES: usize = 3;
const REDRAW: Duration = Duration::from_millis(100);
