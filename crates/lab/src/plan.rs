//! What is run: every point of the sweeps, and the baselines they are predicted from.

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

/// The points of a lab.
#[derive(Debug, Clone, PartialEq)]
pub struct LabPlan {
    /// The swept settings, in the order of the file: the columns that distinguish points.
    pub settings: Vec<String>,
    /// Sets of services to start. Mostly there is one.
    pub stages: Vec<ServiceGroup>,
    /// Workloads at no distance, each of one stage.
    pub baselines: Vec<Baseline>,
    /// What is predicted and measured, in the order of the file.
    pub points: Vec<SweepPoint>,
}

/// Services that run at once.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceGroup {
    /// The lab whose services these are.
    pub lab: Lab,
}

/// A workload without distance, from whose capture points are predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Place of its stage in [`LabPlan::stages`].
    pub stage: usize,
    /// The lab, its links without distance and limit.
    pub lab: Lab,
}

/// One combination of the swept settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPoint {
    /// Place of its stage in [`LabPlan::stages`].
    pub stage: usize,
    /// Place of its baseline in [`LabPlan::baselines`]; `None` for a variant that is not predicted.
    pub baseline: Option<usize>,
    /// Place in [`LabPlan::points`] of the point that it is compared with.
    pub against: Option<usize>,
    /// Its value of each of [`LabPlan::settings`].
    pub values: Vec<String>,
    /// The lab with these values.
    pub lab: Lab,
}

impl LabPlan {
    /// The settings that have one value at all of `points`, each with its place in [`LabPlan::settings`] and
    /// that value; none of those that say how much is measured.
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

    /// Every point of every sweep; one that is in two sweeps is listed once. Without a sweep the lab itself
    /// is the point.
    ///
    /// # Errors
    /// When a value is wrong, at its place.
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

    /// Finds for each point of a variant that is compared with another one the point of that.
    fn compare(&mut self, file: &LabFile) {
        let Some(column) = self.settings.iter().position(|setting| setting == VARIANT) else {
            return;
        };
        // Of several with the same values the first.
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

    /// The points that have one of the `wanted` values (`SETTING=VALUE`) of each setting named there; all
    /// without any.
    ///
    /// # Errors
    /// When one is no such text, or no point has it.
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

    /// What `lab check` shows of it.
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
        // The number of measurements at a point does not matter for its baseline.
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

    /// The stage on which the services of `lab` run.
    fn stage_of(&mut self, known: &mut Known, lab: &Lab) -> usize {
        // The mtu is that of the hosts' devices, which stay as long as the services run.
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

/// The places of what is planned so far.
#[derive(Default)]
struct Known {
    points: Places,
    stages: Places,
    baselines: Places,
}

/// Places of values by a hash of their text: thousands of points need not each be compared with all others.
#[derive(Default)]
struct Places(HashMap<u64, Vec<usize>>);

impl Places {
    /// The place of such a value; noted as `new` when it has none.
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

/// The lab, its links without distance, limit and impairment; packets keep their size.
pub fn without_distance(lab: &Lab) -> Lab {
    let mut lab = lab.clone();
    for link in &mut lab.links {
        link.link = at_rest(&link.link);
    }
    lab
}

/// The link without distance, limit and impairment.
pub fn at_rest(link: &LinkDescription) -> LinkDescription {
    LinkDescription {
        mtu: link.mtu,
        seed: link.seed,
        ..LinkDescription::with_rtt(Duration::ZERO)
    }
}

/// Whether the link only carries packets.
pub fn is_at_rest(link: &LinkDescription) -> bool {
    *link == at_rest(link)
}

impl Lab {
    /// Everything in the lab that affects measurements, as text: points with the same text are the same
    /// point, across runs too.
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

/// Every combination of a sweep's values, the last setting changing fastest.
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

/// The value of a setting at a point whose sweep does not name it.
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
