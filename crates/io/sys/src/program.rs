//! Runs a program and measures its time and memory.

use crate::error::OsError;
use crate::run_guard::RunGuard;
use crate::signals;
use crate::stop::StopToken;
use crate::wait::{PollFlags, until_ready};
use model::ByteCount;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Has its own process group, so terminal signals do not reach it.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Readable at its end; `None` before Linux 5.3.
    end: Option<OwnedFd>,
    began: Instant,
    seen: u64,
    _guard: RunGuard,
}

#[derive(Debug, Clone, Copy)]
pub struct ProgramEnd {
    pub status: ExitStatus,
    pub duration: Duration,
    /// Maximum resident memory of one of its processes, not the sum of several. Below longwire's
    /// own memory, only values seen at inspections count. `None` if it is unknown.
    pub memory: Option<ByteCount>,
}

impl Program {
    /// If longwire is killed, the program and its descendants are ended.
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

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Only once, and if it was piped.
    pub fn stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// Returns `None` if it still runs after `longest`, or at a stop. Must not be called after its
    /// end.
    pub fn wait(&mut self, stop: &StopToken, longest: Duration) -> io::Result<Option<ProgramEnd>> {
        self.seen = self.seen.max(tree_memory(self.child.id(), DEEPEST));
        match &self.end {
            Some(end) => {
                stop.until_ready(end.as_fd(), PollFlags::IN, longest);
            }
            None => drop(stop.wait_timeout(longest.min(COARSE))),
        }
        self.reap(libc::WNOHANG)
    }

    /// Sends SIGTERM to its process group, waits for [`GRACE`], sends SIGKILL.
    pub fn end(self) {
        self.signal(libc::SIGTERM);
        if let Some(end) = &self.end {
            until_ready(end.as_fd(), PollFlags::IN, GRACE);
        }
        self.kill();
    }

    pub fn kill(mut self) {
        self.signal(libc::SIGKILL);
        let _ = self.reap(0);
    }

    fn signal(&self, signal: libc::c_int) {
        // The child is not yet waited for, so the group's number is still its own.
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

    /// The kernel counts longwire's memory at the start as the program's, so its figure is used
    /// only above that; otherwise that of the inspected processes.
    fn memory(&self, told: u64) -> Option<ByteCount> {
        let own = peak_memory(std::process::id()).unwrap_or(u64::MAX);
        let memory = if told > own { told } else { self.seen };
        (memory > 0).then(|| ByteCount::from_bytes(memory))
    }
}

/// Leaves the child's status, so that its number is not reused.
///
/// # Errors
/// If this process has no such child.
pub fn wait_without_reaping(child: u32) -> Result<(), OsError> {
    let child = i32::try_from(child).ok().and_then(Pid::from_raw);
    let child = child.ok_or(OsError(libc::ECHILD))?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), options))?;
    Ok(())
}

/// Maximum resident memory of a process or a descendant, in bytes, or 0 if unknown.
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

fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Generations of inspected processes: shells, a wrapper, the program.
const DEEPEST: u8 = 4;

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// Used if the kernel does not report the end.
const COARSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> ProgramEnd {
        let mut program = Program::start(Command::new("sh").args(["-c", script])).expect("there is a shell");
        loop {
            if let Some(ended) = program
                .wait(&StopToken::never(), Duration::from_millis(5))
                .expect("it is reported")
            {
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
        // 200 MB, all written to.
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
        let stop = StopToken::new().expect("an eventfd");
        stop.stop();
        let waited = program
            .wait(&stop, Duration::from_secs(3600))
            .expect("it is reported");
        assert!(waited.is_none(), "{waited:?}");
        program.kill();
        // No process holds the pipe any more: neither the shell nor its children.
        assert_eq!(io::copy(&mut end, &mut io::sink()).expect("it ends"), 0);
    }
}
