//! Plans all points of the sweeps, and the baselines for their predictions.

use super::config::advice;
use super::config::tree::{ConfigNode, ConfigValue};
use super::config::{
    ALL_LINKS, ConfigError, Lab, LabFile, LabLink, LabVariant, Service, SettingSweep, VARIANT,
};
use anyhow::{Result, bail};
use link::LinkDescription;
use report::outcome::LabOutline;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct LabPlan {
    /// The swept settings in file order: the columns that distinguish points.
    pub settings: Vec<String>,
    /// Groups of services to start, usually one.
    pub stages: Vec<ServiceGroup>,
    /// Workloads without distance, each in one stage.
    pub baselines: Vec<Baseline>,
    /// In the order of the file.
    pub points: Vec<SweepPoint>,
}

/// Services that run together.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceGroup {
    pub lab: Lab,
}

/// A workload without distance; its capture is the source of predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// An index into [`LabPlan::stages`].
    pub stage: usize,
    /// With links without distance and limits.
    pub lab: Lab,
}

/// One combination of the swept settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPoint {
    /// An index into [`LabPlan::stages`].
    pub stage: usize,
    /// An index into [`LabPlan::baselines`], or `None` for a variant without prediction.
    pub baseline: Option<usize>,
    /// Index into [`LabPlan::points`] of the point to compare with.
    pub against: Option<usize>,
    /// In the order of [`LabPlan::settings`].
    pub values: Vec<String>,
    /// The lab with these values.
    pub lab: Lab,
}

impl LabPlan {
    /// Settings that are equal at all of `points`, with index into [`LabPlan::settings`] and value.
    /// Excludes amounts of measurement.
    pub fn shared_settings<'a>(
        &'a self,
        points: &'a [usize],
    ) -> impl Iterator<Item = (usize, &'a str, &'a str)> {
        let value = move |point: &usize, column: usize| self.points[*point].values[column].as_str();
        let columns = self.settings.iter().enumerate();
        columns.filter_map(move |(column, setting)| {
            let first = value(points.first()?, column);
            let is_shared = points.iter().all(|point| value(point, column) == first);
            (is_shared && !setting.starts_with("measure.")).then_some((column, setting.as_str(), first))
        })
    }

    /// Points shared by several sweeps are listed once. Without sweeps the lab itself is the only
    /// point.
    pub fn new(file: &LabFile) -> std::result::Result<Self, ConfigError> {
        let mut plan = Self {
            settings: Vec::new(),
            stages: Vec::new(),
            baselines: Vec::new(),
            points: Vec::new(),
        };
        for axis in file.sweeps.iter().flat_map(|sweep| &sweep.axes) {
            let setting = axis.setting();
            if !plan.settings.contains(&setting) {
                plan.settings.push(setting);
            }
        }
        let mut known = Known::default();
        for sweep in &file.sweeps {
            for combination in combinations(sweep) {
                plan.add(&mut known, file, file.with(&combination)?, &combination);
            }
        }
        if file.sweeps.is_empty() {
            plan.add(&mut known, file, file.lab.clone(), &[]);
        }
        plan.compare(file);
        Ok(plan)
    }

    /// Sets `against` for variants that are compared with another.
    fn compare(&mut self, file: &LabFile) {
        let Some(column) = self.settings.iter().position(|setting| setting == VARIANT) else {
            return;
        };
        // The first of equal points wins.
        let points = self.points.iter().enumerate().rev();
        let places: HashMap<Vec<String>, usize> = points
            .map(|(place, point)| (point.values.clone(), place))
            .collect();
        for point in &mut self.points {
            let variant = file
                .variants
                .iter()
                .find(|variant| variant.name == point.values[column]);
            let Some(against) = variant.and_then(|variant| variant.against.as_ref()) else {
                continue;
            };
            let mut sought = point.values.clone();
            sought[column].clone_from(against);
            point.against = places.get(&sought).copied();
        }
    }

    /// Keeps points with one of the `wanted` values (`SETTING=VALUE`) for each named setting. Keeps
    /// all if `wanted` is empty.
    ///
    /// # Errors
    /// If a text is malformed, or no point matches.
    pub fn only(mut self, wanted: &[String]) -> Result<Self> {
        let mut columns: Vec<(usize, Vec<&str>)> = Vec::new();
        for text in wanted {
            let (column, value) = self.wanted(text)?;
            match columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, values)) => values.push(value),
                None => columns.push((column, vec![value])),
            }
        }
        let has = |point: &SweepPoint| {
            columns
                .iter()
                .all(|(column, values)| values.contains(&point.values[*column].as_str()))
        };
        let kept: Vec<usize> = (0..self.points.len())
            .filter(|&index| has(&self.points[index]))
            .collect();
        if kept.is_empty() {
            bail!("--where: no point of the sweep has all of that; longwire lab check shows them");
        }
        let points = kept.iter().map(|&index| self.points[index].clone());
        let mut points: Vec<SweepPoint> = points.collect();
        for point in &mut points {
            let place = |against: usize| kept.iter().position(|&index| index == against);
            point.against = point.against.and_then(place);
        }
        self.points = points;
        Ok(self)
    }

    fn wanted<'t>(&self, text: &'t str) -> Result<(usize, &'t str)> {
        let Some((setting, value)) = text.split_once('=') else {
            bail!("--where {text}: write a swept setting and its value, SETTING=VALUE");
        };
        let column = self.settings.iter().position(|known| known == setting);
        let Some(column) = column else {
            let known = advice(setting, self.settings.iter().map(String::as_str));
            bail!("--where: no sweep has the setting {setting}: {known}");
        };
        if !self.points.iter().any(|point| point.values[column] == value) {
            let known = advice(
                value,
                self.points.iter().map(|point| point.values[column].as_str()),
            );
            bail!("--where: no point has {setting}={value}: {known}");
        }
        Ok((column, value))
    }

    pub fn outline(&self, lab: &Lab) -> LabOutline {
        let service = |service: &Service| {
            [
                service.name.clone(),
                service.kind.name().to_owned(),
                service.host.clone(),
            ]
        };
        LabOutline {
            name: lab.name.clone(),
            links: lab
                .links
                .iter()
                .map(|link| (link.name.clone(), link.between.clone()))
                .collect(),
            services: lab.services.iter().map(service).collect(),
            workload: lab.workload.words(),
            amount: lab.measure.amount.words(),
            settings: self.settings.clone(),
            points: self.points.iter().map(|point| point.values.clone()).collect(),
            baselines: self.baselines.len(),
        }
    }

    fn add(
        &mut self,
        known: &mut Known,
        file: &LabFile,
        lab: Lab,
        combination: &[(Vec<String>, ConfigNode)],
    ) {
        let place = self.points.len();
        let is_same = |place: usize| self.points.get(place).is_some_and(|point| point.lab == lab);
        if known.points.find(&lab, place, is_same) != place {
            return;
        }
        let values = self.settings.iter().map(|setting| {
            let given = combination.iter().find(|(path, _)| path.join(".") == *setting);
            given
                .and_then(|(_, node)| node.value.text())
                .unwrap_or_else(|| value_of(&lab, setting))
        });
        let values = values.collect();
        let mut at_rest = without_distance(&lab);
        let stage = self.stage_of(known, &at_rest);
        // The amount of measurement does not affect the baseline.
        at_rest.measure = file.lab.measure.clone();
        if let Some(operations) = at_rest.measure.baseline_operations {
            at_rest.measure.amount.operations = Some(operations);
        }
        let predicted = file
            .variant(combination)
            .is_none_or(|variant: &LabVariant| variant.predict);
        let baseline = predicted.then(|| self.baseline_of(known, at_rest, stage));
        self.points.push(SweepPoint {
            stage,
            baseline,
            against: None,
            values,
            lab,
        });
    }

    fn stage_of(&mut self, known: &mut Known, lab: &Lab) -> usize {
        // The MTU belongs to the hosts' devices, which live as long as the services.
        let mtus = |lab: &Lab| lab.links.iter().map(|link| link.link.mtu).collect::<Vec<_>>();
        let new = self.stages.len();
        let place = known.stages.find(&(&lab.services, mtus(lab)), new, |place| {
            let stage = self.stages.get(place);
            stage.is_some_and(|stage| stage.lab.services == lab.services && mtus(&stage.lab) == mtus(lab))
        });
        if place == new {
            self.stages.push(ServiceGroup { lab: lab.clone() });
        }
        place
    }

    fn baseline_of(&mut self, known: &mut Known, lab: Lab, stage: usize) -> usize {
        let new = self.baselines.len();
        let place = known.baselines.find(&lab, new, |place| {
            self.baselines
                .get(place)
                .is_some_and(|baseline| baseline.lab == lab)
        });
        if place == new {
            self.baselines.push(Baseline { stage, lab });
        }
        place
    }
}

#[derive(Default)]
struct Known {
    points: Places,
    stages: Places,
    baselines: Places,
}

/// Indexes values by a hash of their text, because comparing thousands of points pairwise is slow.
#[derive(Default)]
struct Places(HashMap<u64, Vec<usize>>);

impl Places {
    /// Inserts `new` if the value is unknown.
    fn find(&mut self, value: &impl std::fmt::Debug, new: usize, is_same: impl Fn(usize) -> bool) -> usize {
        let mut hasher = DefaultHasher::new();
        format!("{value:?}").hash(&mut hasher);
        let places = self.0.entry(hasher.finish()).or_default();
        if let Some(place) = places.iter().find(|place| is_same(**place)) {
            return *place;
        }
        places.push(new);
        new
    }
}

/// Removes distance, limits and impairment from all links; packets keep their size.
pub fn without_distance(lab: &Lab) -> Lab {
    let mut lab = lab.clone();
    for link in &mut lab.links {
        link.link = at_rest(&link.link);
    }
    lab
}

/// Removes distance, limits and impairment.
pub fn at_rest(link: &LinkDescription) -> LinkDescription {
    LinkDescription {
        mtu: link.mtu,
        seed: link.seed,
        ..LinkDescription::with_rtt(Duration::ZERO)
    }
}

/// True if the link only forwards packets.
pub fn is_at_rest(link: &LinkDescription) -> bool {
    *link == at_rest(link)
}

impl Lab {
    /// All settings that affect measurements, as text. Equal texts mean the same point, also across
    /// runs.
    pub fn identity(&self) -> String {
        format!(
            "{:?}",
            (
                &self.hosts,
                &self.links,
                &self.services,
                &self.workload,
                self.measure.amount,
                self.measure.warmup,
                self.measure.settle
            )
        )
    }
}

/// The last setting varies fastest.
fn combinations(sweep: &SettingSweep) -> Vec<Vec<(Vec<String>, ConfigNode)>> {
    let mut combinations = vec![Vec::new()];
    for axis in &sweep.axes {
        let longer = combinations
            .iter()
            .flat_map(|combination: &Vec<(Vec<String>, ConfigNode)>| {
                axis.values.iter().map(|value| {
                    let mut longer = combination.clone();
                    longer.push((axis.path.clone(), value.clone()));
                    longer
                })
            });
        combinations = longer.collect();
    }
    combinations
}

/// The value of a setting that the point's sweep does not name.
fn value_of(lab: &Lab, setting: &str) -> String {
    let mut words = setting.splitn(3, '.');
    let found = match (words.next(), words.next(), words.next()) {
        (Some("links"), Some(ALL_LINKS), Some(key)) => {
            let mut values = lab.links.iter().map(|link| link_value(link, key));
            let first = values.next();
            first.filter(|first| values.all(|value| value == *first))
        }
        (Some("links"), Some(name), Some(key)) => lab
            .links
            .iter()
            .find(|link| link.name == name)
            .map(|link| link_value(link, key)),
        (Some("workload"), Some("clients"), None) => Some(lab.workload.clients.to_string()),
        (Some("measure"), Some("repeat"), None) => Some(lab.measure.repeat.to_string()),
        (Some("measure"), Some("settle"), None) => Some(lab.measure.settle.to_string()),
        (Some("measure"), Some("operations"), None) => lab
            .measure
            .amount
            .operations
            .map(|operations| operations.to_string()),
        (Some("measure"), Some("duration"), None) => lab.measure.amount.duration.map(model::format_duration),
        (Some("services"), Some(name), Some(key)) => lab
            .services
            .iter()
            .find(|service| service.name == name)
            .and_then(|service| service_value(service, key)),
        _ => None,
    };
    found.unwrap_or_else(|| "-".to_owned())
}

fn link_value(link: &LabLink, key: &str) -> String {
    let text = link.link.to_string();
    let value = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    match (key, value) {
        ("link", _) => text,
        (_, Some("0ns")) => "0ms".to_owned(),
        (_, Some(value)) => value.to_owned(),
        ("rate", None) => "unlimited".to_owned(),
        (_, None) => "-".to_owned(),
    }
}

fn service_value(service: &Service, key: &str) -> Option<String> {
    let key = key.strip_prefix("settings.")?;
    let mut value = None;
    let mut table = &service.settings;
    for word in key.split('.') {
        let node = table.get(word)?;
        match &node.value {
            ConfigValue::Table(inner) => table = inner,
            other => value = other.text(),
        }
    }
    value
}
