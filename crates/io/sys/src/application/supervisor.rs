//! The process between longwire and the application, which ends the application and its descendants
//! if longwire is killed.
//!
//! It is the application's parent and a subreaper (`PR_SET_CHILD_SUBREAPER`), so no descendant can
//! escape. At a terminal it is in longwire's process group, where it ignores keys. It detects
//! longwire's end by the end of a channel, without races. If the supervisor itself is killed, the
//! kernel kills the application.

use crate::forked::{self, OwnerChannel, OwnerState};
use crate::process_tree::{Member, ProcessRow, ProcessTable};
use crate::wait::until_readable;
use crate::{process_tree, signals};
use rustix::process::{
    Pid, Signal, WaitStatus, getpid, getppid, set_child_subreaper, set_parent_process_death_signal, setpgid,
};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The child returns and becomes the application, the parent supervises.
pub(super) fn stand_between(channel: RawFd, apart: bool) -> io::Result<()> {
    let own = getpid();
    // Every supported kernel allows this; without it, orphans would be found by their group only.
    set_child_subreaper(Some(own)).ok();
    // Before the fork: terminal keys are for the application only.
    let usual = signals::hold_all_signals();
    match forked::fork_again()? {
        0 => {
            usual.apply();
            become_application(own, apart)
        }
        command => {
            // A panic ends here too: the rest of the fork is longwire's.
            let _ = catch_unwind(AssertUnwindSafe(|| supervise(channel, command, apart)));
            forked::exit_now()
        }
    }
}

fn become_application(supervisor: Pid, apart: bool) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    // The supervisor may have been killed before this request.
    if getppid() != Some(supervisor) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    if apart {
        setpgid(None, None)?;
    }
    Ok(())
}

/// Also ends all descendants if longwire is gone.
fn supervise(channel: RawFd, command: libc::pid_t, apart: bool) -> io::Result<()> {
    let owner = OwnerChannel::take_over(channel, c"longwire parent");
    owner.send(command);
    let mut ends = File::from(forked::ends_of_children()?);
    let mut passed = PassedSignals::new(command, apart);
    let (mut is_started, mut has_ended) = (false, false);
    loop {
        forked::reap(&mut |process, status: WaitStatus| {
            if process == command {
                has_ended = true;
                owner.send(status.as_raw());
            }
        });
        let is_ending = has_ended && passed.is_waited_for;
        if is_ending && !passed.has_members() {
            passed.is_waited_for = false;
            owner.send(NOTHING_LEFT);
        }
        let longest = match (is_ending, has_ended, is_started) {
            (true, ..) => POLL_INTERVAL,
            (false, true, false) => UNSTARTED,
            (false, ..) => FOREVER,
        };
        let [is_heard, _] = until_readable([Some(owner.as_fd()), Some(ends.as_fd())], longest);
        while ends.read(&mut [0; 512]).is_ok_and(|count| count > 0) {}
        if is_heard {
            match owner.state() {
                OwnerState::Started => is_started = true,
                OwnerState::Signal(signal) => passed.pass(signal),
                OwnerState::Done => return Ok(()),
                OwnerState::Gone => {
                    end_tree(command);
                    return Ok(());
                }
            }
        } else if has_ended && !is_started && !is_ending {
            // There is no such program: longwire waits for the end of this process to report it.
            return Ok(());
        }
    }
}

/// Sent from here because longwire may have dropped the right to.
struct PassedSignals {
    command: libc::pid_t,
    apart: bool,
    /// Empty for an application with its own process group.
    members: Vec<Member>,
    is_waited_for: bool,
}

impl PassedSignals {
    const fn new(command: libc::pid_t, apart: bool) -> Self {
        Self {
            command,
            apart,
            members: Vec::new(),
            is_waited_for: false,
        }
    }

    fn pass(&mut self, signal: libc::c_int) {
        self.is_waited_for = true;
        if self.apart {
            // The child's number is reused only if the group is gone and numbers have wrapped
            // around within the grace period.
            signals::send_to_group(self.command, signal);
            return;
        }
        // Members have number and start time, so a reused number is not signalled.
        for member in process_tree::process_tree(self.command) {
            if !self.members.contains(&member) {
                self.members.push(member);
            }
        }
        self.members.iter().for_each(|member| member.send(signal));
    }

    fn has_members(&self) -> bool {
        match self.apart {
            true => signals::has_group(self.command),
            false => self.members.iter().any(Member::is_alive),
        }
    }
}

/// Daemons are spared, as [`daemons`] finds them.
fn end_tree(command: libc::pid_t) {
    let daemons = daemons(command);
    forked::end_all(&|| {
        let own = getpid().as_raw_pid();
        let table = ProcessTable::read_processes();
        let roots = table.rows().iter().filter(|row| row.parent == own);
        table.with_descendants(roots.copied().collect(), &daemons)
    });
}

/// Processes without their parent and in their own session, as after daemon(3).
fn daemons(command: libc::pid_t) -> Vec<Member> {
    let own = getpid().as_raw_pid();
    let session = |number| ProcessRow::read_process(number).map(|row| row.session);
    let known = [session(own), session(command)];
    let table = ProcessTable::read_processes();
    let orphans = table
        .rows()
        .iter()
        .filter(|row| row.parent == own && row.member.number() != command);
    let apart = orphans.filter(|row| !known.contains(&Some(row.session)));
    apart.map(|row| row.member).collect()
}

/// Not a valid status.
pub(super) const NOTHING_LEFT: i32 = -1;

/// For longwire to report the start. A program that ends sooner on a busier machine is no longer
/// supervised.
const UNSTARTED: Duration = Duration::from_millis(100);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const FOREVER: Duration = Duration::from_secs(3600);
