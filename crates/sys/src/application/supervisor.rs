//! The process between longwire and the application: longwire may be killed, and then this one ends the
//! application and all that it started.
//!
//! It is the parent of the application, and takes in what loses its parent below (`PR_SET_CHILD_SUBREAPER`):
//! nothing below it can get out of sight. At a terminal it is in longwire's process group, where it heeds no
//! key. Longwire's end is the end of a channel, which no race with a fork or a thread can hide. If the
//! supervisor itself is killed, the kernel kills the application.

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

/// Splits a process that is about to become the application: the one that returns becomes it, its parent
/// supervises.
///
/// # Errors
/// When the system cannot.
pub(super) fn stand_between(channel: RawFd, apart: bool) -> io::Result<()> {
    let own = getpid();
    // Refused by no kernel that has processes as these: without it, what loses its parent would be found by
    // its group only.
    set_child_subreaper(Some(own)).ok();
    // Before there are two: a key of the terminal is for the application alone.
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
    // It may have been killed before that was requested.
    if getppid() != Some(supervisor) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    if apart {
        setpgid(None, None)?;
    }
    Ok(())
}

/// Reports the number of the application, how it ended, and that nothing is left of it; ends all that is left
/// when longwire is gone.
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
            // There is no such program: longwire waits for the end of this process to say so.
            return Ok(());
        }
    }
}

/// Signals that longwire passes on to the application and what it started. They are sent from here, because
/// longwire may have given up the right to send them.
struct PassedSignals {
    command: libc::pid_t,
    apart: bool,
    /// What it had started by then; only of one without a group of its own.
    members: Vec<Member>,
    /// Whether longwire waits until nothing is left.
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

    /// Sends `signal` to it and to all that it started.
    fn pass(&mut self, signal: libc::c_int) {
        self.is_waited_for = true;
        if self.apart {
            // The group is that of a child; once it has been waited for, the number is another's only when
            // the group is gone and the system has come round to it within the grace.
            signals::send_to_group(self.command, signal);
            return;
        }
        // Members are known by number and beginning: a number that went to another is not signalled.
        for member in process_tree::process_tree(self.command) {
            if !self.members.contains(&member) {
                self.members.push(member);
            }
        }
        self.members.iter().for_each(|member| member.send(signal));
    }

    /// Whether something that it started is still there, once it has ended itself.
    fn has_members(&self) -> bool {
        match self.apart {
            true => signals::has_group(self.command),
            false => self.members.iter().any(Member::is_alive),
        }
    }
}

/// Ends the application and what it started, but for daemons.
fn end_tree(command: libc::pid_t) {
    let daemons = daemons(command);
    forked::end_all(&|| {
        let own = getpid().as_raw_pid();
        let table = ProcessTable::read_processes();
        let roots = table.rows().iter().filter(|row| row.parent == own);
        table.with_descendants(roots.copied().collect(), &daemons)
    });
}

/// What has left on purpose: it lost the parent that started it and made a session of its own, as daemon(3)
/// does.
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

/// What is reported when nothing of the application is left: no status has this value.
pub(super) const NOTHING_LEFT: i32 = -1;

/// Within this time longwire says that the program was started. One that ends sooner, on a machine that is
/// busier, is supervised no longer.
const UNSTARTED: Duration = Duration::from_millis(100);
/// How often it is checked whether something is left.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// As long as nothing happens.
const FOREVER: Duration = Duration::from_secs(3600);
