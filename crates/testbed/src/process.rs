//! Starting a server so that nothing of it is left behind, and ending it.
//!
//! Every process gets its own process group, so that its children end with it, and asks the kernel for a signal when
//! its parent dies. That signal is tied to the *thread* that made the process, so all of them are made by one thread
//! that lives as long as the test process: a server kept in a `static` survives the test that started it.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::time::{Duration, Instant};

/// A running process with its own process group and a log file of all it prints; ended when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    stop_signal: i32,
}

/// Why a process is not ready: what its log ended with.
#[derive(Debug)]
pub struct NotReady(pub String);

impl Process {
    /// Starts `command` with its output in the file `log`. `stop_signal` asks it to end, sent when the value is
    /// dropped and by the kernel when the test process dies.
    ///
    /// # Panics
    /// When the program cannot be started.
    pub fn start(mut command: Command, log: &Path, stop_signal: i32) -> Process {
        let out = File::create(log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        let err = out
            .try_clone()
            .unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0);
        // SAFETY: the closure runs between fork and exec and makes only prctl, which is async-signal-safe.
        unsafe { command.pre_exec(move || die_with_parent(stop_signal)) };
        let program = command.get_program().to_owned();
        let child = spawn(command).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        Process {
            child,
            log: log.to_owned(),
            stop_signal,
        }
    }

    /// Waits until the log holds `mark`.
    ///
    /// # Errors
    /// The end of the log, when the process ends first or is not ready after `within`.
    pub fn wait_for(&mut self, mark: &str, within: Duration) -> Result<(), NotReady> {
        let started = Instant::now();
        loop {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            let log = self.log();
            if log.contains(mark) {
                return Ok(());
            }
            if ended || started.elapsed() > within {
                return Err(NotReady(tail(&log)));
            }
            std::thread::sleep(POLL);
        }
    }

    /// All the process has printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The number of the process, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends `signal` to the process alone.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill takes two integers and touches no memory; the child is not yet waited for, so its number
        // cannot belong to another process.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Kills the process as a crash would, without a chance to say goodbye, and waits until it is gone.
    pub fn kill(&mut self) {
        self.signal_group(libc::SIGKILL);
        self.child.wait().ok();
    }

    /// Asks the process to end and waits for it; kills it when it does not end within [`STOP_WITHIN`].
    pub fn stop(&mut self) -> Option<ExitStatus> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(status);
        }
        self.signal(self.stop_signal);
        let asked = Instant::now();
        while asked.elapsed() < STOP_WITHIN {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(POLL);
        }
        self.kill();
        None
    }

    fn signal_group(&self, signal: i32) {
        // SAFETY: as in `signal`; the negative number addresses the group that `process_group(0)` made.
        unsafe { libc::kill(-(self.child.id() as i32), signal) };
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A port of 127.0.0.1 that nothing listens on. Another process may take it before it is used: who starts a server on
/// it tries again with another when the server says so.
///
/// # Panics
/// When the system has no free port.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .unwrap_or_else(|error| panic!("no free port on 127.0.0.1: {error}"))
}

/// Runs `command` to its end.
///
/// # Panics
/// With all it printed, when it cannot be started or fails.
pub fn run(mut command: Command) -> String {
    let program = command.get_program().to_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {}\n{printed}{complaint}",
        program.display(),
        output.status
    );
    printed
}

fn die_with_parent(signal: i32) -> std::io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes an integer and touches no memory of this process.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Starts `command` from the one thread that outlives every test.
fn spawn(command: Command) -> std::io::Result<Child> {
    static STARTER: OnceLock<Sender<Order>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, received) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for mut order in received {
                order.reply.send(order.command.spawn()).ok();
            }
        });
        orders
    });
    let (reply, answer) = mpsc::sync_channel(1);
    starter
        .send(Order { command, reply })
        .map_err(std::io::Error::other)?;
    answer.recv().map_err(std::io::Error::other)?
}

struct Order {
    command: Command,
    reply: SyncSender<std::io::Result<Child>>,
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

/// How long a process may take to end after it was asked to.
pub const STOP_WITHIN: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL_LINES: usize = 30;
