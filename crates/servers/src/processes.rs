//! Processor time of services: of all their processes, in the system's own account.

use rustix::param::clock_ticks_per_second;
use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// The processes that are there, as `/proc` has them.
pub struct Processes {
    /// Of each its parent and its time, that of its children who have ended included.
    known: HashMap<u32, (u32, Duration)>,
}

impl Processes {
    /// Those of now. One that ends meanwhile is with its parent or with itself, mostly.
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

    /// Processor time of the process `first` and of all its descendants. In steps of the system's clock, a
    /// hundredth of a second, for each process.
    pub fn time_of(&self, first: u32) -> Duration {
        let belongs = |&(id, _): &(&u32, &(u32, Duration))| self.descends(*id, first);
        self.known
            .iter()
            .filter(belongs)
            .map(|(_, (_, time))| *time)
            .sum()
    }

    fn descends(&self, mut id: u32, first: u32) -> bool {
        // A process may get its parent's number while this is read: then there would be a ring.
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

/// Of a line of `/proc/PID/stat` (proc(5)): field 4, and fields 14 to 17. The command's name, in brackets,
/// may hold spaces.
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
