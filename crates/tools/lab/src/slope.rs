//! Extra time per millisecond of a link's round-trip time, as measured and predicted, and the
//! counted round trips.

use super::plan::{LabPlan, SweepPoint, at_rest};
use link::LinkDescription;
use report::outcome::{LabPoint, LabSlope};
use std::time::Duration;

/// For every link with a varying round-trip time and otherwise equal settings. `outcomes` are in
/// the order of the plan's points.
pub fn slopes(plan: &LabPlan, outcomes: &[LabPoint]) -> Vec<LabSlope> {
    let links = plan.points.first().map_or(0, |point| point.lab.links.len());
    (0..links)
        .flat_map(|link| groups(plan, link).into_iter().map(move |group| (link, group)))
        .filter_map(|(link, group)| slope(plan, outcomes, link, &group))
        .collect()
}

/// Groups points that only differ in the round-trip time of `link`.
fn groups(plan: &LabPlan, link: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, point) in plan.points.iter().enumerate() {
        let same = |group: &&mut Vec<usize>| alike(&plan.points[group[0]], point, link);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

fn alike(one: &SweepPoint, other: &SweepPoint, link: usize) -> bool {
    let without_rtt = |point: &SweepPoint| {
        let mut lab = point.lab.clone();
        let link = &mut lab.links[link].link;
        link.rtt = Duration::ZERO;
        // The amount of measurement affects no duration.
        lab.measure = one.lab.measure.clone();
        lab
    };
    one.baseline == other.baseline && without_rtt(one) == without_rtt(other)
}

fn slope(plan: &LabPlan, outcomes: &[LabPoint], link: usize, group: &[usize]) -> Option<LabSlope> {
    let rtt = |index: usize| plan.points[index].lab.links[link].link.rtt.as_secs_f64();
    let measured: Vec<(f64, f64)> = group
        .iter()
        .filter_map(|&index| {
            let measured = outcomes[index].measured.as_ref()?;
            Some((rtt(index), measured.duration.as_secs_f64()))
        })
        .collect();
    let predicted: Vec<(f64, f64)> = group
        .iter()
        .filter_map(|&index| {
            let outcome = &outcomes[index];
            let prediction = outcome.measured.as_ref().and(outcome.prediction.as_ref())?;
            Some((rtt(index), prediction.duration.as_secs_f64()))
        })
        .collect();
    // If all other links are at rest, only this link's connections moved, and the round trips are
    // its own.
    let alone = |point: &SweepPoint| {
        let others = point
            .lab
            .links
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != link);
        others
            .into_iter()
            .all(|(_, other)| other.link == at_rest(&other.link))
    };
    let moved = group.iter().find(|&&index| {
        let point = &plan.points[index];
        let own: &LinkDescription = &point.lab.links[link].link;
        alone(point) && *own != at_rest(own)
    });
    let turns = moved.and_then(|&index| Some(outcomes[index].prediction.as_ref()?.turns));
    let first = &plan.points[*group.first()?];
    Some(LabSlope {
        link: first.lab.links[link].name.clone(),
        beside: settings_of_group(plan, group, link),
        measured: least_squares(&measured)?,
        predicted: least_squares(&predicted),
        turns,
        points: group
            .iter()
            .filter(|&&index| outcomes[index].measured.is_some())
            .map(|&index| (plan.points[index].lab.links[link].link.rtt, index))
            .collect(),
    })
}

/// Settings that distinguish this group, with values.
fn settings_of_group(plan: &LabPlan, group: &[usize], link: usize) -> Vec<(String, String)> {
    let own = plan
        .points
        .first()
        .map(|point| format!("links.{}.rtt", point.lab.links[link].name));
    let varies = |column: usize| {
        let mut values = plan.points.iter().map(|point| &point.values[column]);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    plan.shared_settings(group)
        .filter(|(column, setting, _)| own.as_deref() != Some(*setting) && varies(*column))
        // Other links usually have no distance.
        .filter(|(_, _, value)| *value != "0ms")
        .map(|(_, setting, value)| (setting.to_owned(), value.to_owned()))
        .collect()
}

/// Slope of a linear regression; `None` with fewer than two distinct positions.
fn least_squares(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points
        .iter()
        .fold((0.0, 0.0), |(sum_x, sum_y), (x, y)| (sum_x + x, sum_y + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let over: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let under: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    (under > 0.0).then(|| over / under)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let line: Vec<(f64, f64)> = [0.0, 0.01, 0.04].map(|x| (x, 0.012 + 27.0 * x)).to_vec();
        let slope = least_squares(&line).expect("a slope");
        assert!((slope - 27.0).abs() < 1e-9, "{slope}");
        assert_eq!(least_squares(&line[..1]), None);
        assert_eq!(least_squares(&[]), None);
    }
}
