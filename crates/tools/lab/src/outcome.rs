//! Computes a lab's outcome from stored measurements and predictions.

use super::config::LabFile;
use super::observed::operation_word;
use super::plan::{LabPlan, SweepPoint, is_at_rest};
use super::run::LabRun;
use super::slope::slopes;
use super::store::MeasuredPoint;
use model::{Conditions, MeasuredDurations, Prediction, Warning, WarningKind, counted, median};
use report::outcome::{LabDrift, LabOutcome, LabPoint, LabRound, LabTimes};
use report::text::link_warnings;

/// An interrupted run has a partial outcome.
pub fn outcome(file: &LabFile, plan: &LabPlan, run: &LabRun<'_>, conditions: Conditions) -> LabOutcome {
    let mut points: Vec<LabPoint> = plan
        .points
        .iter()
        .zip(&run.points)
        .zip(&run.predictions)
        .map(|((point, kept), prediction)| lab_point(point, kept.as_ref(), prediction.clone()))
        .collect();
    for index in 0..points.len() {
        points[index].times = points[index]
            .against
            .and_then(|against| LabTimes::from_rounds(&points[index].rounds, &points[against].rounds));
    }
    LabOutcome {
        name: file.lab.name.clone(),
        conditions,
        operation: operation_word(&file.lab.workload).to_owned(),
        settings: plan.settings.clone(),
        slopes: slopes(plan, &points),
        drifts: drifts(plan, run),
        warnings: warnings(plan, run, &points),
        points,
    }
}

fn lab_point(point: &SweepPoint, kept: Option<&MeasuredPoint>, prediction: Option<Prediction>) -> LabPoint {
    let measured = kept.and_then(|kept| together(&kept.rounds));
    LabPoint {
        values: point.values.clone(),
        prediction: prediction.map(|prediction| Prediction {
            measured: measured.clone(),
            ..prediction
        }),
        measured,
        is_baseline: point.lab.links.iter().all(|link| is_at_rest(&link.link)),
        against: point.against,
        times: None,
        rounds: kept.map_or_else(Vec::new, |kept| kept.rounds.clone()),
    }
}

/// Combines measurements of a point: the median of medians, with the spread of the median
/// measurement (the lower one if even). Sums operations and errors.
fn together(rounds: &[LabRound]) -> Option<MeasuredDurations> {
    let all = || rounds.iter().map(|round| &round.measured);
    let mut sorted: Vec<&MeasuredDurations> = all().collect();
    sorted.sort_by_key(|measured| measured.duration);
    let middle = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(MeasuredDurations {
        operations: all().map(|measured| measured.operations).sum(),
        errors: all().map(|measured| measured.errors).sum(),
        duration: median(all().map(|measured| measured.duration))?,
        ..middle.clone()
    })
}

fn drifts(plan: &LabPlan, run: &LabRun<'_>) -> Vec<LabDrift> {
    let drift = |(index, kept): (usize, &Option<MeasuredPoint>)| {
        let (first, later) = kept.as_ref()?.rounds.split_first()?;
        Some(LabDrift {
            beside: settings_of_baseline(plan, index),
            first: first.measured.duration,
            later: later.iter().map(|round| round.measured.duration).collect(),
        })
    };
    run.baselines.iter().enumerate().filter_map(drift).collect()
}

/// Settings common to all points of a baseline that distinguish it from other baselines.
fn settings_of_baseline(plan: &LabPlan, baseline: usize) -> Vec<(String, String)> {
    if plan.baselines.len() < 2 {
        return Vec::new();
    }
    let of_baseline: Vec<usize> = (0..plan.points.len())
        .filter(|&point| plan.points[point].baseline == Some(baseline))
        .collect();
    plan.shared_settings(&of_baseline)
        .filter(|(_, setting, _)| !setting.starts_with("links."))
        .map(|(_, setting, value)| (setting.to_owned(), value.to_owned()))
        .collect()
}

fn warnings(plan: &LabPlan, run: &LabRun<'_>, points: &[LabPoint]) -> Vec<Warning> {
    let mut all = run.warnings.clone();
    for (index, (point, kept)) in points.iter().zip(&run.points).enumerate() {
        let number = index + 1;
        let links = plan.points[index].lab.links.iter().zip(point.links());
        // The machine's overhead on a link without distance is its floor, reported separately.
        for (_, outcome) in links.filter(|(link, _)| !is_at_rest(&link.link)) {
            let told = link_warnings(outcome).into_iter();
            all.extend(told.map(|warning| warning.with_name(&format!("point {number}"))));
        }
        for (text, count) in kept.iter().flat_map(|kept| &kept.errors) {
            let plural = if *count == 1 { "" } else { "s" };
            let text = format!("point {number}: {count} operation{plural} failed: {text}");
            all.push(Warning::new(WarningKind::OperationsFailed, text));
        }
        let wanted = plan.points[index].baseline.is_some();
        if wanted && point.measured.is_some() && point.prediction.is_none() {
            let why = unpredicted(&plan.points[index]);
            let text = format!("point {number} is not predicted: {why}");
            all.push(Warning::new(WarningKind::NotPredicted, text));
        }
    }
    let baselines = run.baselines.iter().flatten();
    for (text, count) in baselines.flat_map(|kept| &kept.errors) {
        let failed = counted(*count, "operation", "operations");
        let text = format!("without distance {failed} failed: {text}");
        all.push(Warning::new(WarningKind::OperationsFailed, text));
    }
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in all {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

fn unpredicted(point: &SweepPoint) -> &'static str {
    if point.lab.workload.operation.is_none() && point.lab.workload.clients > 1 {
        "runs of a command by several clients at once cannot be distinguished in a capture; count transactions or requests, with operation ="
    } else {
        "the capture without distance shows no such operation"
    }
}
