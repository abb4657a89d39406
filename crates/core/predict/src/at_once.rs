//! Which names were measured at once: a load that runs one kind of request after another shows no mix.

use crate::sample_pool::SamplePool;
use model::Timestamp;
use std::collections::HashMap;

type Named<'a> = (usize, &'a SamplePool);

/// Groups of names whose operations overlapped: at least [`ONE_OVERLAPS_IN`] of the fewer ones.
pub fn groups<'a>(names: &[Named<'a>]) -> Vec<Vec<Named<'a>>> {
    let overlaps = overlaps(names);
    let count = |place: usize| names[place].1.operations().len();
    let mut group_of: Vec<usize> = (0..names.len()).collect();
    for (&(one, other), &overlapping) in &overlaps {
        if overlapping * ONE_OVERLAPS_IN >= count(one).min(count(other)) {
            let (from, to) = (group_of[one], group_of[other]);
            let of_group = group_of.iter_mut().filter(|group| **group == from);
            of_group.for_each(|group| *group = to);
        }
    }
    let mut groups: Vec<(usize, Vec<Named<'a>>)> = Vec::new();
    for (place, group) in group_of.into_iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, members)) => members.push(names[place]),
            None => groups.push((group, vec![names[place]])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

/// How many operations of two names, by their places, began during one of the other.
fn overlaps(names: &[Named<'_>]) -> HashMap<(usize, usize), usize> {
    let mut spans: Vec<(Timestamp, Timestamp, usize)> = Vec::new();
    for (place, (_, pool)) in names.iter().enumerate() {
        let operations = pool.operations().iter();
        spans.extend(operations.map(|one| (one.began(), one.began().plus(one.measured()), place)));
    }
    spans.sort_unstable();
    let mut under_way: Vec<(Timestamp, usize)> = Vec::new();
    let mut overlaps: HashMap<(usize, usize), usize> = HashMap::new();
    for (began, ended, place) in spans {
        under_way.retain(|(ended, _)| *ended > began);
        let mut others: Vec<usize> = under_way.iter().map(|(_, other)| *other).collect();
        others.retain(|other| *other != place);
        others.sort_unstable();
        others.dedup();
        for other in others {
            *overlaps.entry((place.min(other), place.max(other))).or_default() += 1;
        }
        under_way.push((ended, place));
    }
    overlaps
}

const ONE_OVERLAPS_IN: usize = 10;
