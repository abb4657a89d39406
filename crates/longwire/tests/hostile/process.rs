//! The binary as a process, and what it costs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process that does not outlive the test.
pub struct Process(Child);

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    /// Starts one that says on stderr where it listens: the last word of that kind behind `before`. What it says goes on being
    /// read.
    pub fn listening(command: &mut Command, before: &str) -> (Self, std::net::SocketAddr) {
        let mut process = Self::start(command.stderr(Stdio::piped()));
        let mut lines = BufReader::new(process.0.stderr.take().expect("it was asked for"));
        let address = loop {
            let mut line = String::new();
            assert!(
                lines.read_line(&mut line).expect("it speaks") > 0,
                "it says where it listens"
            );
            let Some((_, behind)) = line.split_once(before) else {
                continue;
            };
            let word = behind.split([' ', '/', ';', '\n']).find(|word| !word.is_empty());
            break word.and_then(|word| word.parse().ok()).expect("an address");
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        (process, address)
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub fn signal(&self, signal: i32) {
        sys::signals::send(i32::try_from(self.id()).expect("a number of a process"), signal);
    }

    /// Its status, which must come within `longest`.
    #[track_caller]
    pub fn ends_within(&mut self, longest: Duration) -> ExitStatus {
        let until = Instant::now() + longest;
        loop {
            if let Some(status) = self.0.try_wait().expect("it can be asked") {
                return status;
            }
            assert!(Instant::now() < until, "it does not end within {longest:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Processor time that it uses in `window`, as a share of one core.
    pub fn cores_used(&self, window: Duration) -> f64 {
        let (before, began) = (self.processor_time(), Instant::now());
        std::thread::sleep(window);
        (self.processor_time() - before).as_secs_f64() / began.elapsed().as_secs_f64()
    }

    fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).expect("it runs");
        let (_, rest) = stat.rsplit_once(')').expect("the name ends");
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let ticks: u64 = words[11..=12]
            .iter()
            .map(|word| word.parse::<u64>().expect("ticks"))
            .sum();
        // USER_HZ is 100 on every architecture of Linux that matters here.
        Duration::from_millis(ticks * 10)
    }

    /// A figure of `/proc/PID/status`: `Threads`, or `VmHWM` and `VmRSS` in KiB.
    pub fn figure(&self, key: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("it runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key}:")));
        let number = line.and_then(|rest| rest.split_ascii_whitespace().next());
        number.and_then(|number| number.parse().ok()).expect("a number")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long it is looked what a process uses.
pub const WINDOW: Duration = Duration::from_secs(2);

/// Of a core: ten times what a process uses on which nothing happens, and half of what one that spins is left with by nine others.
pub const IDLE: f64 = 0.05;

/// Waits until `done`, which must be within ten seconds.
#[track_caller]
pub fn wait_until(mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < until, "it does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}
