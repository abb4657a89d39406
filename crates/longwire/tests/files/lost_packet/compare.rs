//! Counts exchanges that differ between two readings.

use std::collections::BTreeMap;

/// Exchanges of a connection missing from the other reading, in order.
pub fn changed(
    before: &BTreeMap<(u16, usize), Vec<String>>,
    after: &BTreeMap<(u16, usize), Vec<String>>,
) -> usize {
    let none = Vec::new();
    let keys: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    keys.into_iter()
        .map(|key| {
            let (before, after) = (before.get(key).unwrap_or(&none), after.get(key).unwrap_or(&none));
            before.len().max(after.len()) - common(before, after)
        })
        .sum()
}

pub fn difference(
    before: &BTreeMap<(u16, usize), Vec<String>>,
    after: &BTreeMap<(u16, usize), Vec<String>>,
) -> Vec<String> {
    let none = Vec::new();
    let mut lines = Vec::new();
    for (key, before) in before {
        let after = after.get(key).unwrap_or(&none);
        let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        lines.extend(before[head..].iter().take(4).map(|line| format!("- {line}")));
        lines.extend(after[head..].iter().take(4).map(|line| format!("+ {line}")));
    }
    lines
}

fn common(before: &[String], after: &[String]) -> usize {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[head..], &after[head..]);
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let mut lengths = vec![0; after.len() + 1];
    for a in before {
        let mut diagonal = 0;
        for (place, b) in after.iter().enumerate() {
            let above = lengths[place + 1];
            lengths[place + 1] = if a == b {
                diagonal + 1
            } else {
                above.max(lengths[place])
            };
            diagonal = above;
        }
    }
    head + tail + lengths[after.len()]
}
