use std::fs;
use std::time::{Duration, Instant};
use testbed::Started;

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
    // USER_HZ is 100 on all relevant Linux architectures.
    Duration::from_millis(ticks * 10)
}

const WINDOW: Duration = Duration::from_secs(2);

/// Share of a core: ten times the usage of an idle process, and half of what a busy loop gets next
/// to nine others.
pub const IDLE: f64 = 0.05;
