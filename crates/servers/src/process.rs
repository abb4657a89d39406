//! Starts and ends server processes without leaving any behind.
//!
//! Every process has a process group, so that children end with it, and a parent death signal. That
//! signal is tied to the parent *thread*, so one permanent thread starts all processes: a server
//! outlives the thread that requested it.

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, set_parent_process_death_signal,
    waitid,
};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, SyncSender};
use std::time::{Duration, Instant};

use crate::{Account, Error, ServerHost};

/// A process with its own group and log file. On drop, the whole group is ended.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    stop_signal: i32,
}

impl Process {
    /// Starts `command` on `host` as `account` with output to `log`. `stop_signal` is sent on drop,
    /// and by the kernel when this process dies.
    ///
    /// # Errors
    /// Fails with [`Error::File`] for the log, or [`Error::NotStarted`].
    pub fn start(
        mut command: Command,
        host: &dyn ServerHost,
        account: Account,
        log: &Path,
        stop_signal: i32,
    ) -> Result<Process, Error> {
        let file = |error: std::io::Error| crate::files::fault(log, &error);
        let out = File::create(log).map_err(file)?;
        // Some programs reopen standard error by name.
        account.own(log)?;
        let err = out.try_clone().map_err(file)?;
        command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0);
        host.prepare_command(&mut command);
        account.apply(&mut command);
        // Last: changing the user clears the parent death signal.
        end_with_parent(&mut command, stop_signal);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = spawn(command).map_err(|error| Error::NotStarted {
            program,
            reason: error.to_string(),
        })?;
        Ok(Process {
            child,
            log: log.to_owned(),
            stop_signal,
        })
    }

    /// Exit status, `None` while running.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The output, limited to the last 16 MiB.
    pub fn log(&self) -> String {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.log)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(MAX_LOG_LEN)))?;
            let mut bytes = Vec::new();
            file.take(MAX_LOG_LEN).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
    }

    pub fn log_tail(&self) -> String {
        tail(&self.log())
    }

    /// Process number, also of the group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        // Not reaped yet, so the number cannot belong to another process.
        if let Some(signal) = Signal::from_named_raw(signal) {
            kill_process(self.pid(), signal).ok();
        }
    }

    /// Kills the group with SIGKILL, as in a crash, and waits.
    pub fn kill(&mut self) {
        if self.ended().is_none() {
            self.kill_group();
            self.child.wait().ok();
        }
    }

    /// Sends the stop signal, waits, then kills the rest of the group. Kills all of it after
    /// [`STOP_WITHIN`]; the status is then `None`.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        if let Some(status) = self.ended() {
            return Some(status);
        }
        self.signal(self.stop_signal);
        let asked = Instant::now();
        while asked.elapsed() < STOP_WITHIN {
            if self.is_zombie() {
                // Not reaped yet, so the group number is still valid.
                self.kill_group();
                return self.child.wait().ok();
            }
            std::thread::sleep(POLL);
        }
        self.kill();
        None
    }

    /// Whether the process has ended without being reaped.
    fn is_zombie(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options).is_ok_and(|status| status.is_some())
    }

    /// Kills the group of `process_group(0)`. As in `signal`, the number is still valid.
    fn kill_group(&self) {
        kill_process_group(self.pid(), Signal::KILL).ok();
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs `command` on `host` as `account` and returns its standard output. It ends with this
/// process.
///
/// # Errors
/// Fails with [`Error::NotStarted`], or [`Error::Failed`] with the last lines of
/// output.
pub fn run(mut command: Command, host: &dyn ServerHost, account: Account) -> Result<String, Error> {
    host.prepare_command(&mut command);
    account.apply(&mut command);
    let program = command.get_program().to_string_lossy().into_owned();
    end_with_parent(&mut command, libc::SIGKILL);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let not_started = |error: std::io::Error| Error::NotStarted {
        program: program.clone(),
        reason: error.to_string(),
    };
    let output = spawn(command)
        .and_then(Child::wait_with_output)
        .map_err(not_started)?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    Err(Error::Failed {
        program,
        status: output.status.to_string(),
        output: tail(&format!("{printed}{}", String::from_utf8_lossy(&output.stderr))),
    })
}

/// The kernel sends `signal` to the started process when its parent ends.
fn end_with_parent(command: &mut Command, signal: i32) {
    let signal = Signal::from_named_raw(signal);
    let ask = move || Ok(set_parent_process_death_signal(signal)?);
    // SAFETY: one system call between fork and exec, with integers only.
    unsafe { command.pre_exec(ask) };
}

fn spawn(command: Command) -> std::io::Result<Child> {
    static STARTER: OnceLock<SyncSender<Order>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, received) = mpsc::sync_channel::<Order>(MAX_ORDERS);
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

/// Further callers block when so many commands wait to be started.
const MAX_ORDERS: usize = 16;

struct Order {
    command: Command,
    reply: SyncSender<std::io::Result<Child>>,
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

/// Limit for an orderly end.
pub const STOP_WITHIN: Duration = Duration::from_secs(20);

pub(crate) const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL_LINES: usize = 30;
const MAX_LOG_LEN: u64 = 16 << 20;
