//! Runs: jobs of one setting, or of several in turn.

use super::{Campaign, JobEnd, Race, values};
use crate::tune::distance::{Distance, Unfinished};
use crate::tune::search::MethodSetting;
use model::{TrialOutcome, TrialSource, Warning, WarningKind, format_duration};
use std::time::Duration;
use tune::TuneError;

impl Campaign<'_, '_> {
    /// One run that does not count: it fills the server's memory and starts its processes.
    pub(super) fn warm_up(&mut self) -> Result<(), JobEnd> {
        let race = self.race(1, TrialSource::Measured);
        let mut search = race.search;
        // The last way of the list is as good as any; not the first, which goes row by row.
        let last = self.ways.len().saturating_sub(1);
        (0..last).for_each(|way| search.close(MethodSetting { way, place: 0 }));
        let Some(setting) = search.next_settings().first().copied() else {
            return Ok(());
        };
        self.found.runs.warm_ups += 1;
        let mut done = Vec::new();
        while is_more(&done) {
            match self.job(setting, &Distance::here()) {
                Ok(outcome) => done.push(outcome),
                // A fault in it will occur again when it counts.
                Err(
                    Unfinished::TooLong
                    | Unfinished::Failed(TuneError::Statement { .. } | TuneError::Rows { .. }),
                ) => break,
                Err(Unfinished::Stopped(interrupted)) => return Err(interrupted.into()),
                Err(Unfinished::Failed(error)) => return Err(JobEnd::Broken(error)),
            }
        }
        Ok(())
    }

    /// Runs what the search asks for.
    pub(super) fn run_race(
        &mut self,
        race: &mut Race,
        distance: &Distance,
        link: Option<&str>,
    ) -> Result<(), JobEnd> {
        loop {
            let settings = race.search.next_settings();
            if settings.is_empty() {
                break;
            }
            self.run_round(&settings, race, distance, link)?;
        }
        self.count(race);
        Ok(())
    }

    /// A run of each setting, their jobs in turn: one job, or, where it is short, several on new connections.
    /// A short job's time depends on which processors its two ends happened to get, and on what else the
    /// machine does then.
    fn run_round(
        &mut self,
        settings: &[MethodSetting],
        race: &mut Race,
        distance: &Distance,
        link: Option<&str>,
    ) -> Result<(), JobEnd> {
        let mut round: Vec<(MethodSetting, Vec<TrialOutcome>)> =
            settings.iter().map(|setting| (*setting, Vec::new())).collect();
        while round.iter().any(|(_, done)| is_more(done)) {
            for (setting, done) in round.iter_mut().filter(|(_, done)| is_more(done)) {
                self.plan.limits.go_on()?;
                self.show_progress(race, *setting, link);
                match self.job(*setting, distance) {
                    Ok(outcome) => done.push(outcome),
                    Err(unfinished) => {
                        race.search.close(*setting);
                        self.unfinished(*setting, unfinished, link)?;
                    }
                }
            }
            round.retain(|(setting, _)| !race.search.is_closed(*setting));
        }
        round
            .into_iter()
            .for_each(|(setting, jobs)| race.ran(setting, jobs));
        Ok(())
    }

    /// Tells what is being run.
    fn show_progress(&self, race: &Race, setting: MethodSetting, link: Option<&str>) {
        let doing = format!(
            "{} {}: run {} of at most {}, {}",
            self.job,
            link.unwrap_or("here"),
            race.search.taken() + 1,
            race.search.most(),
            self.words(setting)
        );
        self.progress.status(&doing);
    }

    /// The job once.
    fn job(&mut self, setting: MethodSetting, distance: &Distance) -> Result<TrialOutcome, Unfinished> {
        let Some(way) = self.ways.get(setting.way).copied() else {
            return Err(Unfinished::Failed(TuneError::NotPrepared));
        };
        let value = values(way).get(setting.place).copied().flatten();
        distance.run(self.workbench, (way, value), None, &self.plan.limits)
    }

    /// Notes why a run did not complete; passes on errors that end all others too.
    pub(super) fn unfinished(
        &mut self,
        setting: MethodSetting,
        unfinished: Unfinished,
        link: Option<&str>,
    ) -> Result<(), JobEnd> {
        let words = self.words(setting);
        let at = link.unwrap_or("here");
        let (kind, text) = match unfinished {
            Unfinished::Stopped(interrupted) => return Err(interrupted.into()),
            Unfinished::TooLong => {
                let patience = format_duration(self.plan.limits.patience);
                let text = format!(
                    "{} {words} {at} was given up after {patience}: --patience gives it longer, --rows less to do",
                    self.job
                );
                (WarningKind::LeftOut, text)
            }
            Unfinished::Failed(error @ (TuneError::Statement { .. } | TuneError::Rows { .. })) => {
                let text = format!("{} {words} {at} is left out: {error}", self.job);
                (WarningKind::OperationsFailed, text)
            }
            Unfinished::Failed(error) => return Err(JobEnd::Broken(error)),
        };
        self.found.warnings.push(Warning::new(kind, text));
        Ok(())
    }
}

/// Whether a run goes on after these jobs.
fn is_more(done: &[TrialOutcome]) -> bool {
    done.len() < MAX_JOBS && done.iter().map(|outcome| outcome.duration).sum::<Duration>() < ENOUGH
}

/// A run of a short job continues until its jobs took this long together.
const ENOUGH: Duration = Duration::from_millis(100);
/// Maximum number of jobs of a run.
const MAX_JOBS: usize = 5;
