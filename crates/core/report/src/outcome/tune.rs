//! Outcome of `tune` with the best method and setting for each job at each distance.

use crate::text::counted;
use crate::text::escape::printable;
use model::{Job, LinkOutcome, Method, Recommendation, TrialSource, Tuned, Warning};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TuneReport {
    /// `host:port` of the server.
    pub server: String,
    /// Product and version, or `None` if the server does not report them.
    pub product: Option<String>,
    pub scratch: String,
    /// Whether the scratch schema was dropped.
    pub is_removed: bool,
    pub rows: u64,
    pub select_rows: u64,
    /// `None` if rows imitate a table.
    pub row_bytes: Option<u32>,
    /// The table that rows imitate.
    pub like: Option<String>,
    pub methods: Vec<Method>,
    pub tuned: Vec<Tuned>,
    /// One per job and distance.
    pub recommendations: Vec<Recommendation>,
    pub links: Vec<LinkOutcome>,
    pub runs: TuneRuns,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TuneRuns {
    pub taken: u64,
    /// Runs that every method with every setting would need.
    pub full_sweep: u64,
    /// Runs observed for predictions and to count round trips.
    pub watched: u64,
    /// Runs that were discarded as warm-up.
    pub warm_ups: u64,
}

impl TuneReport {
    /// Amount of work, as in `32000 rows of 322 bytes`.
    pub fn work(&self, job: Job) -> String {
        let rows = match job {
            Job::Insert | Job::Update => self.rows,
            Job::Select => self.select_rows,
        };
        let kind = match (&self.like, self.row_bytes) {
            (Some(table), _) => format!(" like {}'s", printable(table)),
            (None, Some(bytes)) => format!(" of {}", counted(bytes.into(), "byte")),
            (None, None) => String::new(),
        };
        let transaction = match job {
            Job::Insert => " in one transaction",
            Job::Select => "",
            Job::Update => " one by one in one transaction",
        };
        format!("{job} {}{kind}{transaction}", counted(rows, "row"))
    }

    /// The distances, the present one first.
    pub fn places(&self, job: Job) -> Vec<Option<&str>> {
        let mut places: Vec<Option<&str>> = Vec::new();
        for tuned in self.tuned.iter().filter(|tuned| tuned.job == job) {
            let place = tuned.link.as_deref();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Runs and predictions of a method at a distance, by value.
    pub fn of_method(&self, method: &Method, link: Option<&str>) -> Vec<&Tuned> {
        let of_method = |tuned: &&Tuned| {
            tuned.job == method.job && tuned.method == method.name && tuned.link.as_deref() == link
        };
        let mut all: Vec<&Tuned> = self.tuned.iter().filter(of_method).collect();
        all.sort_by_key(|tuned| tuned.value);
        all
    }

    pub fn recommended(&self, job: Job, link: Option<&str>) -> Option<&Recommendation> {
        let mut all = self.recommendations.iter();
        all.find(|one| one.job == job && one.link.as_deref() == link)
    }

    /// Whether a setting other than the recommended one is within 5 % of the best.
    pub fn is_within_reach(&self, tuned: &Tuned) -> bool {
        let recommended = self.recommended(tuned.job, tuned.link.as_deref());
        recommended.is_some_and(|one| {
            let is_chosen = one.method == tuned.method && one.value == tuned.value;
            let ran = tuned.source != TrialSource::Predicted;
            ran && !is_chosen && tuned.median() <= one.best + one.best / 20
        })
    }

    /// The row of a method at a distance: the recommended setting, or the best.
    pub fn shown(&self, method: &Method, link: Option<&str>) -> Option<&Tuned> {
        let all = self.of_method(method, link);
        let chosen = self
            .recommended(method.job, link)
            .filter(|recommended| recommended.method == method.name)
            .and_then(|recommended| all.iter().find(|tuned| tuned.value == recommended.value));
        chosen
            .or_else(|| all.iter().min_by_key(|tuned| tuned.median()))
            .copied()
    }

    /// The setting of a method, as in `100 rows`. `None` if the method has none.
    pub fn setting(&self, job: Job, method: &str, value: Option<u64>) -> Option<String> {
        let method = self
            .methods
            .iter()
            .find(|known| known.job == job && &*known.name == method)?;
        Some(method.parameter.as_ref()?.unit.words(value?))
    }

    /// Settings as good as a recommendation, as in `copy, 4 KiB`. `None` if there are none.
    pub fn as_good(&self, one: &Recommendation) -> Option<String> {
        let words = one.as_good.iter().map(|setting| {
            let value = self.setting(one.job, &setting.method, setting.value);
            value.map_or_else(
                || setting.method.to_string(),
                |value| format!("{}, {value}", setting.method),
            )
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}
