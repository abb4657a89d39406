//! A process and all that it started, as `/proc` shows them.

use crate::signals;
use std::fs;

/// One process, known by its number and when it began: a number is given again, both together are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    number: libc::pid_t,
    began: u64,
}

impl Member {
    fn find(number: libc::pid_t) -> Option<Self> {
        let (began, _) = stat(number)?;
        Some(Self { number, began })
    }

    /// Whether it has not ended.
    pub fn is_alive(&self) -> bool {
        stat(self.number).is_some_and(|(began, is_over)| began == self.began && !is_over)
    }

    /// Sends it a signal, when it is still there.
    pub fn send(&self, signal: libc::c_int) {
        if self.is_alive() {
            signals::send(self.number, signal);
        }
    }
}

/// The process with this number, its children, theirs, and so on.
pub fn of(process: u32) -> Vec<Member> {
    let mut members: Vec<Member> = libc::pid_t::try_from(process)
        .ok()
        .and_then(Member::find)
        .into_iter()
        .collect();
    let mut looked_at = 0;
    while let Some(member) = members.get(looked_at).copied() {
        looked_at += 1;
        let known = |number| members.iter().any(|member| member.number == number);
        let more: Vec<Member> = children(member.number)
            .filter(|number| !known(*number))
            .filter_map(Member::find)
            .collect();
        members.extend(more);
    }
    members
}

/// Numbers of the children of all threads of a process.
fn children(process: libc::pid_t) -> impl Iterator<Item = libc::pid_t> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let files = threads
        .into_iter()
        .flatten()
        .flatten()
        .map(|thread| thread.path().join("children"));
    files
        .filter_map(|file| fs::read_to_string(file).ok())
        .flat_map(|text| {
            let numbers = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
            numbers.collect::<Vec<_>>()
        })
}

/// When a process began, in the kernel's own count, and whether it has ended and waits for its parent (proc(5),
/// `/proc/PID/stat`: state and field 22, behind the name in brackets).
fn stat(process: libc::pid_t) -> Option<(u64, bool)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace();
    let is_over = matches!(words.next()?, "Z" | "X");
    let began = words.nth(18)?.parse().ok()?;
    Some((began, is_over))
}
