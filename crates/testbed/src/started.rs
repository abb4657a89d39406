//! A background program with its stderr, signals and exit.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::waiting::wait_for;

/// A process that does not outlive the test.
#[derive(Debug)]
pub struct Started {
    process: Child,
    heard: Arc<Heard>,
    /// Bytes of stderr that [`Started::hears`] has consumed.
    past: usize,
}

/// Reads stderr in a thread, so that the process never blocks.
#[derive(Debug, Default)]
struct Heard {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Said {
    text: String,
    /// No process has the write end open any more.
    over: bool,
}

impl Started {
    /// The program inherits stderr.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let process = command.spawn();
        let process = process.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Self {
            process,
            heard: Arc::default(),
            past: 0,
        }
    }

    #[track_caller]
    pub fn heard(command: &mut Command) -> Self {
        let mut started = Self::start(command.stderr(Stdio::piped()));
        if let Some(stderr) = started.process.stderr.take() {
            let heard = Arc::clone(&started.heard);
            std::thread::spawn(move || heard.follow(stderr));
        }
        started
    }

    /// Starts a program that prints its address on stderr, as the first word after `before`. It
    /// should choose the port itself (`127.0.0.1:0`): a port found free beforehand may be taken by
    /// then.
    #[track_caller]
    pub fn listening(command: &mut Command, before: &str) -> (Self, SocketAddr) {
        let mut started = Self::heard(command);
        let line = started.hears(before);
        let behind = line.split_once(before).map_or("", |(_, behind)| behind);
        let word = behind.split([' ', '/', ';']).find(|word| !word.is_empty());
        let address = word.and_then(|word| word.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address behind '{before}': {line}"));
        (started, address)
    }

    /// The next line on stderr that contains `words`.
    #[track_caller]
    pub fn hears(&mut self, words: &str) -> String {
        let until = Instant::now() + MAX_WAIT;
        let mut said = self.heard.said();
        loop {
            while let Some((line, _)) = said.text.get(self.past..).and_then(|rest| rest.split_once('\n')) {
                self.past += line.len() + 1;
                if line.contains(words) {
                    return line.to_owned();
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            let goes_on = !said.over && !left.is_zero();
            assert!(goes_on, "'{words}' is not in what it said:\n{}", said.text);
            said = self.heard.more(said, left);
        }
    }

    /// All of stderr until now.
    pub fn said(&self) -> String {
        self.heard.said().text.clone()
    }

    /// Whether no process writes to its stderr any more.
    pub fn has_said_all(&self) -> bool {
        self.heard.said().over
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.process
    }

    /// Does nothing if the process has ended.
    pub fn signal(&self, signal: i32) {
        let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal that has a name");
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.process), signal).ok();
    }

    /// Panics if the process has not ended within `longest`.
    #[track_caller]
    pub fn ends_within(&mut self, longest: Duration) -> ExitStatus {
        let until = Instant::now() + longest;
        loop {
            if let Some(status) = self.process.try_wait().expect("it can be asked") {
                return status;
            }
            assert!(Instant::now() < until, "it does not end within {longest:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends SIGINT and returns the status and the captured output.
    #[track_caller]
    pub fn interrupt(self) -> Output {
        self.signal(libc::SIGINT);
        self.output()
    }

    /// Waits until it closes its stdout and ends.
    #[track_caller]
    pub fn output(mut self) -> Output {
        let mut stdout = Vec::new();
        if let Some(mut piped) = self.process.stdout.take() {
            piped.read_to_end(&mut stdout).expect("it can be read");
        }
        let status = self.ends_within(MAX_WAIT);
        wait_for("the end of its stderr", || self.heard.said().over.then_some(()));
        Output {
            status,
            stdout,
            stderr: self.said().into_bytes(),
        }
    }

    pub fn kill(&mut self) {
        // It may have ended already.
        self.process.kill().ok();
        self.process.wait().ok();
    }

    /// A figure of `/proc/PID/status`: `Threads`, or `VmHWM` and `VmRSS` in KiB; `None` if the
    /// process has ended.
    pub fn figure(&self, key: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Heard {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn more<'a>(&self, said: MutexGuard<'a, Said>, longest: Duration) -> MutexGuard<'a, Said> {
        let waited = self.more.wait_timeout(said, longest);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn follow(&self, stderr: ChildStderr) {
        let mut lines = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(1..) = lines.read_until(b'\n', &mut line) {
            let mut said = self.said();
            said.text
                .push_str(String::from_utf8_lossy(&line).trim_end_matches('\n'));
            said.text.push('\n');
            line.clear();
            self.more.notify_all();
        }
        self.said().over = true;
        self.more.notify_all();
    }
}

const MAX_WAIT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        command
    }

    #[test]
    fn what_it_says_is_heard_line_by_line_and_kept() {
        let mut command = shell("echo at 127.0.0.1:80/x >&2; printf 'last words' >&2");
        let (mut started, address) = Started::listening(&mut command, "at ");
        assert_eq!(address, SocketAddr::from(([127, 0, 0, 1], 80)));
        assert_eq!(started.hears("words"), "last words");
        assert_eq!(started.said(), "at 127.0.0.1:80/x\nlast words\n");
    }

    #[test]
    #[should_panic(expected = "'address' is not in what it said:\nno such thing\n")]
    fn one_that_ends_without_saying_it_is_shown() {
        Started::listening(&mut shell("echo no such thing >&2"), "address");
    }

    #[test]
    fn an_interrupt_gives_all_it_wrote() {
        let script =
            "trap 'echo out; echo err >&2; exit 3' INT; echo ready >&2; while :; do sleep 0.02; done";
        let mut command = shell(script);
        crate::process::heed_interrupts(&mut command);
        let mut started = Started::heard(&mut command);
        started.hears("ready");
        let output = started.interrupt();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            (&*output.stdout, &*output.stderr),
            (&b"out\n"[..], &b"ready\nerr\n"[..])
        );
    }
}
