//! Runs jobs of one setting, or of several alternately.

use super::{Campaign, JobEnd, Race, values};
use crate::distance::{Distance, Unfinished};
use crate::search::MethodSetting;
use model::{TrialOutcome, TrialSource, Warning, WarningKind, format_duration};
use std::time::Duration;

impl Campaign<'_, '_> {
    /// Fills the server's caches and starts its processes, and is discarded.
    pub(super) fn warm_up(&mut self) -> Result<(), JobEnd> {
        let race = self.race(1, TrialSource::Measured);
        let mut search = race.search;
        // Any method would do except the first, which goes row by row.
        let last = self.methods.len().saturating_sub(1);
        (0..last).for_each(|method| search.close(MethodSetting { method, place: 0 }));
        let Some(setting) = search.next_settings().first().copied() else {
            return Ok(());
        };
        self.found.runs.warm_ups += 1;
        let mut done = Vec::new();
        while is_more(&done) {
            match self.job(setting, &Distance::here()) {
                Ok(outcome) => done.push(outcome),
                // The fault will recur in a run that counts.
                Err(
                    Unfinished::TooLong
                    | Unfinished::Failed(crate::Error::Statement { .. } | crate::Error::Rows { .. }),
                ) => break,
                Err(Unfinished::Stopped(interrupted)) => return Err(interrupted.into()),
                Err(Unfinished::Failed(error)) => return Err(JobEnd::Broken(error)),
            }
        }
        Ok(())
    }

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

    /// Runs all settings once, alternating job by job. Short jobs repeat on new connections,
    /// because their time depends on CPU placement of both ends and on background load.
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

    fn job(&mut self, setting: MethodSetting, distance: &Distance) -> Result<TrialOutcome, Unfinished> {
        let Some(method) = self.methods.get(setting.method).copied() else {
            return Err(Unfinished::Failed(crate::Error::NotPrepared));
        };
        let value = values(method).get(setting.place).copied().flatten();
        distance.run(self.workbench, (method, value), None, &self.plan.limits)
    }

    /// Records why a run did not complete, and returns errors that would end all other runs too.
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
                let timeout = format_duration(self.plan.limits.timeout);
                let text = format!(
                    "{} {words} {at} was given up after {timeout}: --patience gives it longer, --rows less to do",
                    self.job
                );
                (WarningKind::LeftOut, text)
            }
            Unfinished::Failed(error @ (crate::Error::Statement { .. } | crate::Error::Rows { .. })) => {
                let text = format!("{} {words} {at} is left out: {error}", self.job);
                (WarningKind::OperationsFailed, text)
            }
            Unfinished::Failed(error) => return Err(JobEnd::Broken(error)),
        };
        self.found.warnings.push(Warning::new(kind, text));
        Ok(())
    }
}

fn is_more(done: &[TrialOutcome]) -> bool {
    done.len() < MAX_JOBS && done.iter().map(|outcome| outcome.duration).sum::<Duration>() < ENOUGH
}

/// A run repeats short jobs until they took this long in total.
const ENOUGH: Duration = Duration::from_millis(100);
const MAX_JOBS: usize = 5;
