//! Processor time of services over all their processes, from `/proc`.

use rustix::param::clock_ticks_per_second;
use std::collections::HashMap;
use std::fs;
use std::time::Duration;

pub struct Processes {
    /// Parent and time per process, including its ended children.
    known: HashMap<u32, (u32, Duration)>,
}

impl Processes {
    /// A process that ends meanwhile is mostly counted in its parent or itself.
    pub fn now() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let process = |entry: fs::DirEntry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (parent, ticks) = parent_and_ticks(&stat)?;
            let seconds = ticks as f64 / clock_ticks_per_second() as f64;
            Some((id, (parent, Duration::from_secs_f64(seconds))))
        };
        Self {
            known: entries.filter_map(process).collect(),
        }
    }

    /// Processor time of `first` and all descendants, in steps of the system clock (10 ms) per
    /// process.
    pub fn time_of(&self, first: u32) -> Duration {
        let belongs = |&(id, _): &(&u32, &(u32, Duration))| self.descends(*id, first);
        self.known
            .iter()
            .filter(belongs)
            .map(|(_, (_, time))| *time)
            .sum()
    }

    fn descends(&self, mut id: u32, first: u32) -> bool {
        // A reused process number may create a cycle.
        for _ in 0..MAX_GENERATIONS {
            if id == first {
                return true;
            }
            match self.known.get(&id) {
                Some((parent, _)) => id = *parent,
                None => return false,
            }
        }
        false
    }
}

/// Parses fields 4 and 14 to 17 of `/proc/PID/stat` (proc(5)). The command in brackets may contain
/// spaces.
fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let times = fields.skip(9).take(4);
    let ticks = times.map(|field| field.parse::<u64>().unwrap_or_default()).sum();
    Some((parent, ticks))
}

const MAX_GENERATIONS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_and_times_are_behind_a_name_with_spaces_and_brackets() {
        let stat = "7 (a (b) c) S 3 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5 6 7";
        assert_eq!(parent_and_ticks(stat), Some((3, 100)));
        assert_eq!(parent_and_ticks("nothing"), None);
    }

    #[test]
    fn a_process_counts_with_its_descendants() {
        let time = Duration::from_millis;
        let known = HashMap::from([
            (1, (0, time(1))),
            (5, (1, time(10))),
            (6, (5, time(100))),
            (7, (6, time(1_000))),
            (8, (1, time(10_000))),
            (9, (9, time(100_000))),
        ]);
        assert_eq!(Processes { known }.time_of(5), time(1_110));
    }
}
