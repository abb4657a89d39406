//! Computes the spread per setting, the best setting per distance, and settings without effect.

use super::setting::ProgramSetting;
use link::LinkDescription;
use model::{DistributionBuilder, PerDirection, ProgramBest, ProgramRun, ProgramTuned};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub struct Cell<'a> {
    pub setting: &'a ProgramSetting,
    /// `None` for the existing distance.
    pub link: Option<LinkDescription>,
    pub runs: Vec<ProgramRun>,
    pub failed: u32,
}

impl Cell<'_> {
    pub fn tuned(&self) -> ProgramTuned {
        let mut durations = DistributionBuilder::new();
        let mut connected = DistributionBuilder::new();
        for run in &self.runs {
            durations.add(run.duration);
            run.connected.into_iter().for_each(|span| connected.add(span));
        }
        let spread = durations.distribution();
        let median = spread.p50.unwrap_or_default();
        let typical = self.runs.iter().min_by_key(|run| run.duration.abs_diff(median));
        ProgramTuned {
            setting: self.setting.label(),
            link: self.link.map(|link| link.to_string().into()),
            spread,
            connected: connected.distribution(),
            failed: self.failed,
            typical: typical.cloned(),
        }
    }

    /// Traffic of most runs; `None` if no run succeeded or had any.
    fn traffic(&self) -> Option<Traffic> {
        let mut seen: HashMap<Traffic, usize> = HashMap::new();
        for run in self.runs.iter().filter(|run| run.connections > 0) {
            *seen.entry(run.traffic()).or_default() += 1;
        }
        seen.into_iter()
            .max_by_key(|(traffic, count)| (*count, *traffic))
            .map(|(traffic, _)| traffic)
    }
}

type Traffic = (u64, u64, PerDirection<u64>);

/// `tuned` is in ascending order of settings.
pub fn best(tuned: &[ProgramTuned]) -> Vec<ProgramBest> {
    tuned
        .chunk_by(|one, other| one.link == other.link)
        .filter_map(best_of)
        .collect()
}

fn best_of(tuned: &[ProgramTuned]) -> Option<ProgramBest> {
    let medians = || tuned.iter().filter_map(|tuned| Some((tuned, tuned.spread.p50?)));
    let (_, best) = medians().min_by_key(|(_, median)| *median)?;
    let (worst, slowest) = medians().max_by_key(|(_, median)| *median)?;
    let (chosen, duration) = medians().find(|(_, median)| *median <= with_margin(best))?;
    Some(ProgramBest {
        link: chosen.link.clone(),
        setting: chosen.setting.clone(),
        duration,
        best,
        worst_setting: worst.setting.clone(),
        worst: slowest,
        told_apart: chosen.spread.max < worst.spread.min,
    })
}

fn with_margin(best: Duration) -> Duration {
    best + best / 20
}

/// Groups of two or more settings with identical traffic at the existing distance.
pub fn unchanged(cells: &[Cell<'_>]) -> Vec<Vec<Arc<str>>> {
    let mut groups: Vec<(Traffic, Vec<Arc<str>>)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.link.is_none()) {
        let Some(traffic) = cell.traffic() else { continue };
        match groups.iter_mut().find(|(other, _)| *other == traffic) {
            Some((_, group)) => group.push(cell.setting.label()),
            None => groups.push((traffic, vec![cell.setting.label()])),
        }
    }
    let same = groups.into_iter().map(|(_, group)| group);
    same.filter(|group| group.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::setting::grid;
    use super::*;

    fn cell<'a>(setting: &'a ProgramSetting, turns: u64, millis: &[u64]) -> Cell<'a> {
        let runs = millis.iter().map(|millis| ProgramRun {
            duration: Duration::from_millis(*millis),
            connections: 1,
            turns,
            ..ProgramRun::default()
        });
        Cell {
            setting,
            link: None,
            runs: runs.collect(),
            failed: 0,
        }
    }

    #[test]
    fn the_smallest_within_five_percent_of_the_best_is_best() {
        let settings = grid(&["A=1,10,100,1000".to_owned()]).expect("a grid");
        let cells = [
            cell(&settings[0], 900, &[300, 320, 310]),
            cell(&settings[1], 90, &[106, 107, 105]),
            cell(&settings[2], 9, &[103, 104, 101]),
            cell(&settings[3], 9, &[99, 100, 101]),
        ];
        let tuned: Vec<ProgramTuned> = cells.iter().map(Cell::tuned).collect();
        let [best] = best(&tuned).try_into().expect("one distance");
        assert_eq!((&*best.setting, &*best.worst_setting), ("A=100", "A=1"));
        assert_eq!(
            [best.duration, best.best, best.worst],
            [103, 100, 310].map(Duration::from_millis)
        );
        assert!(best.told_apart);
        assert_eq!(unchanged(&cells), [["A=100".into(), "A=1000".into()]]);
    }

    #[test]
    fn runs_that_overlap_are_not_told_apart_and_failures_are_in_no_figure() {
        let settings = grid(&["A=1,2,3".to_owned()]).expect("a grid");
        let mut failed = cell(&settings[2], 1, &[]);
        failed.failed = 3;
        let cells = [
            cell(&settings[0], 5, &[100, 90, 120]),
            cell(&settings[1], 6, &[110, 115, 125]),
            failed,
        ];
        let tuned: Vec<ProgramTuned> = cells.iter().map(Cell::tuned).collect();
        let best = best(&tuned);
        assert_eq!(&*best[0].setting, "A=1");
        assert!(!best[0].told_apart);
        assert_eq!((tuned[2].typical.as_ref(), tuned[2].spread.p50), (None, None));
        assert!(unchanged(&cells).is_empty());
    }
}
