//! A program that longwire starts to see how long it takes, and how much memory.

use crate::error::OsError;
use crate::run_guard::RunGuard;
use crate::signals;
use crate::wait::{PollFlags, until_ready};
use model::ByteCount;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// A program in progress, in a process group of its own: a signal of the terminal does not reach it.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Tells the moment of its end; `None` if the kernel has no such thing (before Linux 5.3).
    end: Option<OwnedFd>,
    began: Instant,
    /// Most memory that one of its processes was seen with.
    seen: u64,
    _guard: RunGuard,
}

/// How a program ended.
#[derive(Debug, Clone, Copy)]
pub struct ProgramEnd {
    /// Its exit status.
    pub status: ExitStatus,
    /// From its start to its end.
    pub duration: Duration,
    /// Most memory (resident) that one of its processes had at once: the program itself or one that it
    /// started. Those of a program of several processes are not added up. Where it is less than what longwire
    /// itself has, it is what was seen whenever the program was inspected. `None` if it cannot be determined.
    pub memory: Option<ByteCount>,
}

impl Program {
    /// Starts it. Should longwire be killed, it and all that it started are ended.
    ///
    /// # Errors
    /// When the system cannot.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let guard = RunGuard::start()?;
        guard.mark(command);
        let began = Instant::now();
        let child = command.process_group(0).spawn()?;
        let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
        Ok(Self {
            child,
            end,
            began,
            seen: 0,
            _guard: guard,
        })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it writes to its stderr, once, when that was requested.
    pub fn stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for its end, not longer than `patience`; `None` if it still runs. After its end it is not to be
    /// asked again.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ProgramEnd>> {
        self.seen = self.seen.max(tree_memory(self.child.id(), DEEPEST));
        match &self.end {
            Some(end) => {
                until_ready(end.as_fd(), PollFlags::IN, patience);
            }
            None => thread::sleep(patience.min(COARSE)),
        }
        self.reap(libc::WNOHANG)
    }

    /// Ends it and all of its process group: asks, waits for [`GRACE`], and then kills.
    pub fn end(self) {
        self.signal(libc::SIGTERM);
        if let Some(end) = &self.end {
            until_ready(end.as_fd(), PollFlags::IN, GRACE);
        }
        self.kill();
    }

    /// Ends it and all of its process group, without asking.
    pub fn kill(mut self) {
        self.signal(libc::SIGKILL);
        // It was killed: there is nothing to learn of it.
        let _ = self.reap(0);
    }

    fn signal(&self, signal: libc::c_int) {
        // The group is that of a child not yet waited for, so the number is still its own.
        signals::send_to_group(Pid::from_child(&self.child).as_raw_pid(), signal);
    }

    fn reap(&mut self, options: libc::c_int) -> io::Result<Option<ProgramEnd>> {
        let process = libc::pid_t::try_from(self.child.id()).unwrap_or(-1);
        let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: both pointers are to variables of their type that live through the call; zeroes are a valid
        // rusage, whether or not the kernel fills it.
        let (waited, usage) = unsafe {
            let waited = libc::wait4(process, &raw mut status, options, usage.as_mut_ptr());
            (waited, usage.assume_init())
        };
        match waited {
            0 => Ok(None),
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(Some(ProgramEnd {
                status: ExitStatus::from_raw(status),
                duration: self.began.elapsed(),
                memory: self.memory(u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024),
            })),
        }
    }

    /// The kernel counts what longwire had when it started the program as the program's: its figure is
    /// believed where it is more than that, else what was seen of the program's processes.
    fn memory(&self, told: u64) -> Option<ByteCount> {
        let own = peak_memory(std::process::id()).unwrap_or(u64::MAX);
        let memory = if told > own { told } else { self.seen };
        (memory > 0).then(|| ByteCount::from_bytes(memory))
    }
}

/// Waits until a child of this process has ended, and leaves its status to be requested: until then its
/// number is its own.
///
/// # Errors
/// When this process has no such child.
pub fn wait_without_reaping(child: u32) -> Result<(), OsError> {
    let child = i32::try_from(child).ok().and_then(Pid::from_raw);
    let child = child.ok_or(OsError(libc::ECHILD))?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), options))?;
    Ok(())
}

/// Most memory (resident) that one of a process and its descendants has had, in bytes; 0 when none could be
/// inspected.
fn tree_memory(process: u32, depth: u8) -> u64 {
    let own = peak_memory(process).unwrap_or(0);
    if depth == 0 {
        return own;
    }
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let children = children
        .split_ascii_whitespace()
        .filter_map(|child| child.parse().ok());
    children
        .map(|child| tree_memory(child, depth - 1))
        .fold(own, u64::max)
}

/// Most memory (resident) that a process has had, in bytes.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// How many generations of processes are inspected: shells, a wrapper, the program.
const DEEPEST: u8 = 4;

/// How long a program has to end by itself after it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// How often it is checked whether a program has ended where the kernel does not report it.
const COARSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> ProgramEnd {
        let mut program = Program::start(Command::new("sh").args(["-c", script])).expect("there is a shell");
        loop {
            if let Some(ended) = program.wait(Duration::from_millis(5)).expect("it is reported") {
                return ended;
            }
        }
    }

    #[test]
    fn the_end_is_told_with_status_and_memory() {
        let ended = ended("sleep 0.05; exit 7");
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.duration >= Duration::from_millis(50), "{ended:?}");
        assert!(ended.memory > Some(ByteCount::from_bytes(500_000)), "{ended:?}");
    }

    #[test]
    fn memory_of_what_a_shell_waits_for_is_told() {
        // 200 MB, of which all is written to.
        let ended = ended("head -c 200000000 /dev/zero | tail -c 200000000 > /dev/null; :");
        assert!(
            ended.memory > Some(ByteCount::from_bytes(150_000_000)),
            "{ended:?}"
        );
    }

    #[test]
    fn one_that_is_told_to_end_has_time_for_it() {
        let (mut out, writer) = io::pipe().expect("a pipe");
        let mut command = Command::new("sh");
        let script = "trap 'sleep 0.1; echo saved; exit' TERM; echo ready; while :; do sleep 0.02; done";
        command.args(["-c", script]).stdout(writer);
        let program = Program::start(&mut command).expect("there is a shell");
        drop(command);
        let mut ready = [0; 6];
        io::Read::read_exact(&mut out, &mut ready).expect("it reports that it is ready");
        program.end();
        let mut rest = String::new();
        io::Read::read_to_string(&mut out, &mut rest).expect("it ends");
        assert_eq!(rest, "saved\n");
    }

    #[test]
    fn what_is_killed_is_gone_with_its_children() {
        let (mut end, writer) = io::pipe().expect("a pipe");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]).stdout(writer);
        let mut program = Program::start(&mut command).expect("there is a shell");
        drop(command);
        let waited = program.wait(Duration::from_millis(50)).expect("it is reported");
        assert!(waited.is_none(), "{waited:?}");
        program.kill();
        // No process holds the pipe any more: not the shell, not what it started.
        assert_eq!(io::copy(&mut end, &mut io::sink()).expect("it ends"), 0);
    }
}
