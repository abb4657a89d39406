//! Runs all jobs at all distances as the search requests, and keeps the results.

mod rounds;

use super::curve;
use super::distance::Distance;
use super::jobs_plan::JobsPlan;
use super::search::{MethodSetting, Search, Thoroughness};
use super::watched::{self, Watched};
use crate::Workbench;
use anyhow::Result;
use link::LinkDescription;
use model::{
    ChosenSetting, Direction, DistributionBuilder, Job, LinkOutcome, Method, ParameterUnit, PerDirection,
    Recommendation, TrialOutcome, TrialSource, Tuned, Warning,
};
use pipeline::interruption::Interrupted;
use pipeline::progress::ProgressSink;
use report::outcome::TuneRuns;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct CampaignResult {
    pub tuned: Vec<Tuned>,
    /// One per job and distance.
    pub recommendations: Vec<Recommendation>,
    /// As requested and as realised.
    pub links: Vec<LinkOutcome>,
    pub warnings: Vec<Warning>,
    pub runs: TuneRuns,
    pub fault: Option<crate::Error>,
}

/// Runs all jobs in the chosen `methods`.
///
/// # Errors
/// If no link can be emulated.
pub fn run(
    plan: &JobsPlan<'_>,
    methods: &[Method],
    workbench: &mut dyn Workbench,
    progress: &dyn ProgressSink,
) -> Result<CampaignResult> {
    let mut found = CampaignResult::default();
    for job in Job::ALL {
        let methods: Vec<&Method> = methods.iter().filter(|method| method.job == job).collect();
        if methods.is_empty() {
            continue;
        }
        let mut campaign = Campaign {
            plan,
            job,
            methods,
            workbench,
            found: &mut found,
            progress,
            here: BTreeMap::new(),
            watched: BTreeMap::new(),
        };
        match campaign.run() {
            Ok(()) => {}
            Err(JobEnd::Interrupted(_)) => break,
            Err(JobEnd::Broken(error)) => {
                found.fault = Some(error);
                break;
            }
            Err(JobEnd::NoLink(error)) => return Err(error),
        }
    }
    Ok(found)
}

struct Campaign<'a, 'p> {
    plan: &'a JobsPlan<'p>,
    job: Job,
    methods: Vec<&'a Method>,
    workbench: &'a mut dyn Workbench,
    found: &'a mut CampaignResult,
    progress: &'a dyn ProgressSink,
    here: BTreeMap<MethodSetting, TrialOutcome>,
    watched: BTreeMap<MethodSetting, Watched>,
}

/// Reason why a job did not complete. Earlier results are kept, except if links cannot be emulated.
#[derive(Debug)]
enum JobEnd {
    Interrupted(Interrupted),
    /// The database or its connection failed permanently.
    Broken(crate::Error),
    NoLink(anyhow::Error),
}

impl From<Interrupted> for JobEnd {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

struct Race {
    search: Search,
    outcomes: BTreeMap<MethodSetting, Vec<TrialOutcome>>,
    source: TrialSource,
}

impl Race {
    fn ran(&mut self, setting: MethodSetting, jobs: Vec<TrialOutcome>) {
        self.search
            .ran(setting, jobs.iter().map(|job| job.duration).collect());
        self.outcomes.entry(setting).or_default().extend(jobs);
    }
}

impl Campaign<'_, '_> {
    fn run(&mut self) -> Result<(), JobEnd> {
        self.progress.status(&format!("{}: filling its table", self.job));
        self.workbench.fill(self.job).map_err(JobEnd::Broken)?;
        self.warm_up()?;
        let mut here = self.race(self.plan.runs, TrialSource::Measured);
        let raced = self.run_race(&mut here, &Distance::here(), None);
        let ended = raced.and_then(|()| self.count_turns(&mut here));
        for (setting, outcomes) in &here.outcomes {
            let time = here.search.time(*setting).unwrap_or_default();
            if let Some(typical) = typical(outcomes, time) {
                self.here.insert(*setting, typical);
            }
        }
        self.keep(&here, None);
        ended?;
        if self.here.is_empty() {
            return Ok(());
        }
        self.recommend(&here, None);
        if self.plan.predict {
            // One observed run per setting serves all links.
            self.found.runs.full_sweep += self.settings().len() as u64;
        }
        let mut links = self.plan.links.iter().enumerate();
        links.try_for_each(|(number, link)| self.at(number, link))
    }

    /// If the workbench cannot count round trips (a driver), observes the best setting of each method
    /// and the recommended one. The report and estimates for other values are based on their round
    /// trips and bytes.
    fn count_turns(&mut self, race: &mut Race) -> Result<(), JobEnd> {
        let best = (0..self.methods.len()).filter_map(|method| race.search.best_of(method));
        let told: BTreeSet<MethodSetting> = best.chain(race.search.recommended()).collect();
        for setting in told {
            let Some(outcomes) = race.outcomes.get_mut(&setting) else {
                continue;
            };
            if outcomes.iter().any(|outcome| outcome.turns.is_some()) {
                continue;
            }
            let Some(watched) = self.watch(setting)? else {
                continue;
            };
            for outcome in outcomes {
                outcome.turns = watched.outcome.turns;
                outcome.payload_bytes = watched.outcome.payload_bytes;
                outcome.client_memory = watched.outcome.client_memory;
            }
        }
        Ok(())
    }

    fn at(&mut self, number: usize, link: &LinkDescription) -> Result<(), JobEnd> {
        let name: Arc<str> = link.to_string().into();
        let mut race = self.race(self.plan.runs, TrialSource::Emulated);
        self.expect(&mut race.search, link);
        for setting in self.settings() {
            let is_short = |guess: Duration| guess <= self.plan.limits.timeout;
            if !race.search.guess(setting).is_some_and(is_short) {
                race.search.close(setting);
            }
        }
        let ended = if self.plan.predict || race.search.is_closed_wholly() {
            race = self.race(1, TrialSource::Predicted);
            self.expect(&mut race.search, link);
            self.predict_race(&mut race, number)
        } else {
            let distance = Distance::behind(link, self.plan.target).map_err(JobEnd::NoLink)?;
            let ended = self.run_race(&mut race, &distance, Some(&name));
            self.found.links.extend(distance.outcome());
            distance.close();
            ended
        };
        self.keep(&race, Some(&name));
        ended?;
        self.predict_rest(&race, number, &name)?;
        self.recommend(&race, Some(&name));
        Ok(())
    }

    fn expect(&self, search: &mut Search, link: &LinkDescription) {
        for setting in self.settings() {
            if let Some(guess) = self.guess(setting, link) {
                search.expect(setting, guess);
            }
        }
    }

    fn race(&self, runs: u32, source: TrialSource) -> Race {
        let values: Vec<usize> = self.methods.iter().map(|method| values(method).len()).collect();
        let thoroughness = match source {
            TrialSource::Predicted => Thoroughness::Search,
            TrialSource::Measured | TrialSource::Emulated => self.plan.thoroughness,
        };
        Race {
            search: Search::new(&values, runs, thoroughness),
            outcomes: BTreeMap::new(),
            source,
        }
    }

    /// Predicts the settings that the search requests.
    fn predict_race(&mut self, race: &mut Race, link: usize) -> Result<(), JobEnd> {
        loop {
            let settings = race.search.next_settings();
            if settings.is_empty() {
                return Ok(());
            }
            for setting in settings {
                match self.predicted(setting, link)? {
                    Some(outcome) => race.ran(setting, vec![outcome]),
                    None => race.search.close(setting),
                }
            }
        }
    }

    /// Predicts the best setting of each method that was not run over this link.
    fn predict_rest(&mut self, race: &Race, link: usize, name: &Arc<str>) -> Result<(), JobEnd> {
        for method in 0..self.methods.len() {
            if race.search.best_of(method).is_some() {
                continue;
            }
            let Some(setting) = race.search.best_guess_of(method) else {
                continue;
            };
            if let Some(outcome) = self.predicted(setting, link)? {
                let times = [outcome.duration];
                let tuned = self.tuned(setting, &times, &[outcome], TrialSource::Predicted, Some(name));
                self.found.tuned.extend(tuned);
            }
        }
        Ok(())
    }

    /// Replays a run observed at the existing distance over a link. `None` if that run did not
    /// complete or could not be decoded.
    fn predicted(&mut self, setting: MethodSetting, link: usize) -> Result<Option<TrialOutcome>, JobEnd> {
        self.plan.limits.go_on()?;
        let here = self.here.get(&setting).cloned();
        let Some(watched) = self.watch(setting)? else {
            return Ok(None);
        };
        let base = here.as_ref().unwrap_or(&watched.outcome);
        // Disturbances only lengthen a run, so the observed run is an upper bound too.
        let here = base.duration.min(watched.outcome.duration);
        Ok(watched.longer.get(link).map(|longer| TrialOutcome {
            duration: here + *longer,
            turns: watched.outcome.turns.or(base.turns),
            // Packet sizes differ over a link.
            packets: None,
            wire_bytes: None,
            ..base.clone()
        }))
    }

    /// Observes a run at the existing distance, once per setting; `None` if it did not complete.
    fn watch(&mut self, setting: MethodSetting) -> Result<Option<&Watched>, JobEnd> {
        if !self.watched.contains_key(&setting) {
            let Some(method) = self.methods.get(setting.method).copied() else {
                return Ok(None);
            };
            let doing = format!("{} here, watched: {}", self.job, self.words(setting));
            self.progress.status(&doing);
            let value = values(method).get(setting.place).copied().flatten();
            let watched = watched::run(
                self.workbench,
                (method, value),
                self.plan.links,
                &self.plan.limits,
            );
            match watched {
                Ok(watched) => {
                    self.found.runs.watched += 1;
                    self.watched.insert(setting, watched);
                }
                Err(unfinished) => {
                    self.unfinished(setting, unfinished, None)?;
                    return Ok(None);
                }
            }
        }
        Ok(self.watched.get(&setting))
    }

    fn keep(&mut self, race: &Race, link: Option<&Arc<str>>) {
        for (setting, outcomes) in &race.outcomes {
            let counted = race.search.counted(*setting);
            let tuned = self.tuned(*setting, &counted, outcomes, race.source, link);
            self.found.tuned.extend(tuned);
        }
    }

    fn count(&mut self, race: &Race) {
        self.found.runs.taken += race.search.taken() as u64;
        self.found.runs.full_sweep += race.search.full_sweep() as u64;
    }

    fn tuned(
        &self,
        setting: MethodSetting,
        times: &[Duration],
        outcomes: &[TrialOutcome],
        source: TrialSource,
        link: Option<&Arc<str>>,
    ) -> Option<Tuned> {
        let method = self.methods.get(setting.method)?;
        let mut spread = DistributionBuilder::new();
        times.iter().for_each(|time| spread.add(*time));
        Some(Tuned {
            job: self.job,
            method: Arc::clone(&method.name),
            value: values(method).get(setting.place).copied().flatten(),
            link: link.cloned(),
            source,
            runs: u32::try_from(times.len()).ok()?,
            typical: typical(outcomes, spread.percentile(50)?)?,
            spread: spread.distribution(),
        })
    }

    /// Rough time over a link: the local time, plus the delay of all round trips, plus bytes at the
    /// link's rate.
    fn guess(&self, setting: MethodSetting, link: &LinkDescription) -> Option<Duration> {
        let method = self.methods.get(setting.method)?;
        let values: Vec<u64> = values(method).iter().map(|value| value.unwrap_or(1)).collect();
        let value = *values.get(setting.place)?;
        let at = |figure: &dyn Fn(&TrialOutcome) -> Option<f64>, slope: f64| {
            let figures = self
                .here
                .iter()
                .filter_map(|(setting, outcome)| Some((*setting, figure(outcome)?)));
            let known = curve::of_method(setting.method, &values, figures);
            curve::at(value, &known, slope)
        };
        let rows = method
            .parameter
            .as_ref()
            .is_some_and(|method_parameter| method_parameter.unit == ParameterUnit::Rows);
        let time = at(&|outcome| Some(outcome.duration.as_secs_f64()), 0.0)?;
        let turns = at(
            &|outcome| Some(outcome.turns? as f64),
            if rows { -1.0 } else { 0.0 },
        );
        let bytes = |direction| {
            let bytes = at(&|outcome| Some(outcome.payload_bytes?[direction] as f64), 0.0);
            let transfer = bytes
                .zip(link.rate[direction])
                .map(|(bytes, rate)| rate.time_for(bytes as u64));
            transfer.unwrap_or_default()
        };
        let there = link.rtt.mul_f64(turns.unwrap_or_default().max(0.0))
            + bytes(Direction::ClientToServer)
            + bytes(Direction::ServerToClient);
        Some(Duration::try_from_secs_f64(time).ok()? + there)
    }

    fn settings(&self) -> Vec<MethodSetting> {
        let methods = self.methods.iter().enumerate();
        let settings = methods.flat_map(|(number, method)| {
            let places = 0..values(method).len();
            places.map(move |place| MethodSetting {
                method: number,
                place,
            })
        });
        settings.collect()
    }

    fn recommend(&mut self, race: &Race, link: Option<&Arc<str>>) {
        let chosen = race.search.recommended();
        let (Some(chosen), Some(best)) = (chosen, race.search.least_reported()) else {
            return;
        };
        let there = |tuned: &&Tuned| tuned.job == self.job && tuned.link.as_ref() == link;
        let mut least: BTreeMap<Arc<str>, Duration> = BTreeMap::new();
        for tuned in self.found.tuned.iter().filter(there) {
            let time = least.entry(Arc::clone(&tuned.method)).or_insert(Duration::MAX);
            *time = tuned.median().min(*time);
        }
        let worst = least.into_iter().max_by_key(|(_, time)| *time);
        let Some(((worst_method, worst), method)) = worst.zip(self.methods.get(chosen.method)) else {
            return;
        };
        let value = values(method).get(chosen.place).copied().flatten();
        let [taken, full] = [race.search.taken(), race.search.full_sweep()];
        self.found.recommendations.push(Recommendation {
            job: self.job,
            link: link.cloned(),
            method: Arc::clone(&method.name),
            value,
            spelling: match (&method.parameter, value) {
                (Some(method_parameter), Some(value)) => {
                    method_parameter.spelling.replace("{}", &value.to_string())
                }
                _ => method.name.to_string(),
            },
            duration: race.search.reported(chosen).unwrap_or_default(),
            best,
            worst_method,
            worst,
            runs: [taken, full].map(|runs| u32::try_from(runs).unwrap_or(u32::MAX)),
            as_good: self.as_good(race),
        });
    }

    /// Settings as good as the recommended one.
    fn as_good(&self, race: &Race) -> Vec<ChosenSetting> {
        let good = race.search.as_good().into_iter();
        let named = good.filter_map(|setting| {
            let method = self.methods.get(setting.method)?;
            Some(ChosenSetting {
                method: Arc::clone(&method.name),
                value: values(method).get(setting.place).copied().flatten(),
            })
        });
        named.collect()
    }

    fn words(&self, setting: MethodSetting) -> String {
        let method = self.methods.get(setting.method);
        let value = method.and_then(|method| values(method).get(setting.place).copied().flatten());
        let name = method.map_or("", |method| &method.name);
        match value.zip(method.and_then(|method| method.parameter.as_ref())) {
            Some((value, method_parameter)) => format!("{name}, {}", method_parameter.unit.words(value)),
            None => name.to_owned(),
        }
    }
}

/// A method without a parameter has a single `None`.
fn values(method: &Method) -> Vec<Option<u64>> {
    match &method.parameter {
        Some(method_parameter) => method_parameter.values.iter().copied().map(Some).collect(),
        None => vec![None],
    }
}

/// The run with the median duration, completed with figures counted in other runs of the same
/// setting.
fn typical(outcomes: &[TrialOutcome], median: Duration) -> Option<TrialOutcome> {
    let nearest = outcomes
        .iter()
        .min_by_key(|outcome| outcome.duration.abs_diff(median))?;
    let any = |figure: fn(&TrialOutcome) -> Option<PerDirection<u64>>| {
        figure(nearest).or_else(|| outcomes.iter().find_map(figure))
    };
    Some(TrialOutcome {
        turns: nearest
            .turns
            .or_else(|| outcomes.iter().find_map(|outcome| outcome.turns)),
        packets: any(|outcome| outcome.packets),
        payload_bytes: any(|outcome| outcome.payload_bytes),
        wire_bytes: any(|outcome| outcome.wire_bytes),
        client_memory: outcomes.iter().filter_map(|outcome| outcome.client_memory).max(),
        server_memory: outcomes.iter().filter_map(|outcome| outcome.server_memory).max(),
        ..nearest.clone()
    })
}
