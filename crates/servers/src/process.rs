//! Starting a server so that nothing of it is left behind, and ending it.
//!
//! Every process gets its own process group, so that its children end with it, and asks the kernel for a
//! signal when its parent dies. That signal is tied to the *thread* that made the process, so all of them are
//! made by one thread that lives as long as this process: a server outlives the thread that requested it.

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

use crate::{Account, ServerError, ServerHost};

/// A running process with its own process group and a log file of all it prints; ended when dropped, with all
/// processes of its group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    stop_signal: i32,
}

impl Process {
    /// Starts `command` on `host` as `account`, with its output in the file `log`. `stop_signal` asks it to
    /// end, sent when the value is dropped and by the kernel when this process dies.
    ///
    /// # Errors
    /// [`ServerError::File`] for the log, [`ServerError::NotStarted`].
    pub fn start(
        mut command: Command,
        host: &dyn ServerHost,
        account: Account,
        log: &Path,
        stop_signal: i32,
    ) -> Result<Process, ServerError> {
        let file = |error: std::io::Error| crate::files::fault(log, &error);
        let out = File::create(log).map_err(file)?;
        // Some programs open their standard error again by its name.
        account.own(log)?;
        let err = out.try_clone().map_err(file)?;
        command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0);
        host.prepare_command(&mut command);
        account.apply(&mut command);
        // Changing the user clears what is requested here, so it comes last.
        end_with_parent(&mut command, stop_signal);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = spawn(command).map_err(|error| ServerError::NotStarted {
            program,
            reason: error.to_string(),
        })?;
        Ok(Process {
            child,
            log: log.to_owned(),
            stop_signal,
        })
    }

    /// How the process ended; `None` as long as it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// All the process has printed so far, its last 16 MiB at most.
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

    /// The last lines the process has printed.
    pub fn log_tail(&self) -> String {
        tail(&self.log())
    }

    /// The number of the process, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends `signal` to the process alone.
    pub fn signal(&self, signal: i32) {
        // The child is not yet waited for, so its number cannot belong to another process.
        if let Some(signal) = Signal::from_named_raw(signal) {
            kill_process(self.pid(), signal).ok();
        }
    }

    /// Kills the process and its group as a crash would, without a chance to say goodbye, and waits until it
    /// is gone.
    pub fn kill(&mut self) {
        if self.ended().is_none() {
            self.kill_group();
            self.child.wait().ok();
        }
    }

    /// Asks the process to end and waits for it, then kills the rest of its group; kills all of it when it
    /// does not end within [`STOP_WITHIN`]. Absent is the status of a process that had to be killed.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        if let Some(status) = self.ended() {
            return Some(status);
        }
        self.signal(self.stop_signal);
        let asked = Instant::now();
        while asked.elapsed() < STOP_WITHIN {
            if self.is_zombie() {
                // Not yet waited for: the number of its group is still its own.
                self.kill_group();
                return self.child.wait().ok();
            }
            std::thread::sleep(POLL);
        }
        self.kill();
        None
    }

    /// Whether the process has ended and not been waited for.
    fn is_zombie(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options).is_ok_and(|status| status.is_some())
    }

    /// Kills all of the group that `process_group(0)` made. As in `signal`, its number is still its own.
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

/// Runs `command` on `host` as `account` to its end and returns what it printed to standard output. It ends
/// with this process.
///
/// # Errors
/// [`ServerError::NotStarted`]; [`ServerError::Failed`] with the last lines it printed.
pub fn run(mut command: Command, host: &dyn ServerHost, account: Account) -> Result<String, ServerError> {
    host.prepare_command(&mut command);
    account.apply(&mut command);
    let program = command.get_program().to_string_lossy().into_owned();
    end_with_parent(&mut command, libc::SIGKILL);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let not_started = |error: std::io::Error| ServerError::NotStarted {
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
    Err(ServerError::Failed {
        program,
        status: output.status.to_string(),
        output: tail(&format!("{printed}{}", String::from_utf8_lossy(&output.stderr))),
    })
}

/// Has the kernel send `signal` to what `command` starts when its parent ends.
fn end_with_parent(command: &mut Command, signal: i32) {
    let signal = Signal::from_named_raw(signal);
    let ask = move || Ok(set_parent_process_death_signal(signal)?);
    // SAFETY: one system call between fork and exec, with integers only.
    unsafe { command.pre_exec(ask) };
}

/// Starts `command` from the one thread that lives as long as this process.
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

/// Commands that wait to be started; who asks for one more waits, as for its own.
const MAX_ORDERS: usize = 16;

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

pub(crate) const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL_LINES: usize = 30;
const MAX_LOG_LEN: u64 = 16 << 20;
