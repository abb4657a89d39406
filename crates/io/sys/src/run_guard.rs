//! Ends programs that are started often, or measured, if longwire is killed. They carry a mark in
//! their environment, and a process next to longwire ends all marked ones.
//!
//! An [`Application`](crate::application::Application) has its guard as a parent instead, which
//! finds more: here, a process without its parent and its environment is not found.

use crate::forked::{self, ForkChannel, OwnerChannel, OwnerState};
use crate::process_tree::{Member, ProcessRow, ProcessTable};
use crate::wait::until_readable;
use rustix::process::getpid;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Debug)]
pub struct RunGuard {
    process: Child,
    channel: ForkChannel,
    mark: String,
}

impl RunGuard {
    pub fn start() -> io::Result<Self> {
        let began = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let mark = format!("{}-{began}", std::process::id());
        let carried = format!("{MARK}={mark}").into_bytes();
        let mut never = Command::new("/");
        // Its own group: a SIGKILL to longwire's group does not reach it.
        never.process_group(0);
        let (process, channel) = forked::spawn(&mut never, move |channel| {
            // A panic ends here too: the rest of the fork is longwire's.
            let _ = catch_unwind(AssertUnwindSafe(|| guard(channel, &carried)));
            forked::exit_now()
        })?;
        Ok(Self {
            process,
            channel,
            mark,
        })
    }

    pub fn mark(&self, command: &mut Command) {
        command.env(MARK, &self.mark);
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.channel.release();
        self.process.wait().ok();
    }
}

fn guard(channel: RawFd, carried: &[u8]) {
    let owner = OwnerChannel::take_over(channel, c"longwire guard");
    while until_readable([Some(owner.as_fd())], FOREVER) == [false] {}
    if owner.state() == OwnerState::Done {
        return;
    }
    let daemons = daemons(carried);
    forked::end_all(&|| {
        let table = ProcessTable::read_processes();
        table.with_descendants(marked(&table, carried), &daemons)
    });
}

fn marked(table: &ProcessTable, carried: &[u8]) -> Vec<ProcessRow> {
    let own = getpid().as_raw_pid();
    let others = table.rows().iter().filter(|row| row.member.number() != own);
    others
        .filter(|row| carries(row.member, carried))
        .copied()
        .collect()
}

/// Processes without their parent and in their own session, as after daemon(3).
fn daemons(carried: &[u8]) -> Vec<Member> {
    let session = ProcessRow::read_process(getpid().as_raw_pid()).map(|row| row.session);
    let table = ProcessTable::read_processes();
    let marked = marked(&table, carried);
    let has_marked_parent =
        |row: &ProcessRow| marked.iter().any(|parent| parent.member.number() == row.parent);
    let apart = marked
        .iter()
        .filter(|row| Some(row.session) != session && !has_marked_parent(row));
    apart.map(|row| row.member).collect()
}

fn carries(member: Member, carried: &[u8]) -> bool {
    let Ok(file) = File::open(format!("/proc/{}/environ", member.number())) else {
        return false;
    };
    let mut environment = Vec::new();
    // An unreadable process, such as another user's, could not be ended either.
    file.take(MAX_ENVIRONMENT_BYTES)
        .read_to_end(&mut environment)
        .ok();
    environment.split(|byte| *byte == 0).any(|entry| entry == carried)
}

const MARK: &str = "LONGWIRE_RUN";
/// Linux accepts no larger ones with its usual limit of the stack.
const MAX_ENVIRONMENT_BYTES: u64 = 2 << 20;
const FOREVER: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn carried(guard: &RunGuard) -> Vec<u8> {
        format!("{MARK}={}", guard.mark).into_bytes()
    }

    /// Starts others in its group, in another session, and without an environment.
    fn started(guard: &RunGuard) -> (Child, std::process::ChildStdout) {
        let mut command = Command::new("sh");
        let script = "trap '' TERM; sleep 600 & setsid sleep 600 & env -i sleep 600 & echo ready; wait";
        command.args(["-c", script]).process_group(0);
        guard.mark(&mut command);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("there is a shell");
        let mut out = child.stdout.take().expect("piped");
        out.read_exact(&mut [0; 6]).expect("it is ready");
        (child, out)
    }

    #[test]
    fn all_that_carries_the_mark_is_ended_when_the_owner_is_gone() {
        let mut guard = RunGuard::start().expect("it starts");
        let (mut child, mut out) = started(&guard);
        // A killed owner leaves the end of the channel.
        let (unused, _) = std::os::unix::net::UnixStream::pair().expect("a pair");
        drop(std::mem::replace(&mut guard.channel, ForkChannel::new(unused)));
        // No process holds the pipe any more.
        assert_eq!(out.read(&mut [0]).expect("it ends"), 0);
        assert!(!child.wait().expect("it ended").success());
    }

    #[test]
    fn nothing_is_ended_by_an_orderly_end() {
        let guard = RunGuard::start().expect("it starts");
        let (mut child, _out) = started(&guard);
        let carried = carried(&guard);
        drop(guard);
        let found = || {
            let table = ProcessTable::read_processes();
            let marked = marked(&table, &carried);
            (marked.len(), table.with_descendants(marked, &[]))
        };
        let (mut marked, mut all) = found();
        // `env` carries the mark until it has become `sleep`.
        for _ in 0..1000 {
            if marked == 3 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
            (marked, all) = found();
        }
        all.iter().for_each(|member| member.send(libc::SIGKILL));
        child.wait().expect("it ended");
        assert_eq!(
            (marked, all.len()),
            (3, 4),
            "the shell, two of its own, one without an environment"
        );
    }
}
