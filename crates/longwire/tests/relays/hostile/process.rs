//! What a process costs.

use std::fs;
use std::time::{Duration, Instant};
use testbed::Started;

/// Processor time that `process` uses in [`WINDOW`], as a share of one core.
pub fn cores_used(process: &Started) -> f64 {
    let (before, began) = (processor_time(process), Instant::now());
    std::thread::sleep(WINDOW);
    (processor_time(process) - before).as_secs_f64() / began.elapsed().as_secs_f64()
}

fn processor_time(process: &Started) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).expect("it runs");
    let (_, rest) = stat.rsplit_once(')').expect("the name ends");
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let ticks: u64 = words[11..=12]
        .iter()
        .map(|word| word.parse::<u64>().expect("ticks"))
        .sum();
    // USER_HZ is 100 on every architecture of Linux that matters here.
    Duration::from_millis(ticks * 10)
}

/// How long the use of a process is measured.
const WINDOW: Duration = Duration::from_secs(2);

/// Of a core: ten times what a process uses on which nothing happens, and half of what one that spins is left
/// with by nine others.
pub const IDLE: f64 = 0.05;
