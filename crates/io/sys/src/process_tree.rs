//! Processes and their descendants, from `/proc`.

use crate::signals;
use std::fs;

/// Identified by number and start time: a number alone is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    number: libc::pid_t,
    began: u64,
}

impl Member {
    pub const fn number(self) -> libc::pid_t {
        self.number
    }

    fn find(number: libc::pid_t) -> Option<Self> {
        let row = ProcessRow::read_process(number)?;
        Some(row.member)
    }

    pub fn is_alive(&self) -> bool {
        ProcessRow::read_process(self.number).is_some_and(|row| row.member == *self && !row.is_over)
    }

    pub fn send(&self, signal: libc::c_int) {
        if self.is_alive() {
            signals::send(self.number, signal);
        }
    }
}

pub fn process_tree(process: libc::pid_t) -> Vec<Member> {
    let mut members: Vec<Member> = Member::find(process).into_iter().collect();
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

/// Includes children of all threads.
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

/// A process as in `/proc/PID/stat` (proc(5)).
#[derive(Debug, Clone, Copy)]
pub struct ProcessRow {
    pub member: Member,
    pub parent: libc::pid_t,
    pub session: libc::pid_t,
    /// Whether it has ended and waits for its parent.
    is_over: bool,
}

impl ProcessRow {
    pub fn read_process(number: libc::pid_t) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // After the name in brackets, which may hold anything: state, parent, group, session; field
        // 22 is the start time.
        let (_, rest) = text.rsplit_once(')')?;
        let mut words = rest.split_ascii_whitespace();
        let is_over = matches!(words.next()?, "Z" | "X");
        let mut number_of = || words.next()?.parse().ok();
        let (parent, _group, session) = (number_of()?, number_of()?, number_of()?);
        let began = words.nth(15)?.parse().ok()?;
        Some(Self {
            member: Member { number, began },
            parent,
            session,
            is_over,
        })
    }
}

/// All processes of this pid namespace, at about one moment.
#[derive(Debug)]
pub struct ProcessTable {
    rows: Vec<ProcessRow>,
}

impl ProcessTable {
    /// A process that is reparented meanwhile may be missing in its tree, so callers read again.
    pub fn read_processes() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let rows =
            entries.filter_map(|entry| ProcessRow::read_process(entry.file_name().to_str()?.parse().ok()?));
        Self { rows: rows.collect() }
    }

    pub fn rows(&self) -> &[ProcessRow] {
        &self.rows
    }

    /// `roots` and all their descendants, without `spared` and theirs.
    pub fn with_descendants(&self, roots: Vec<ProcessRow>, spared: &[Member]) -> Vec<Member> {
        let mut rows = roots;
        rows.retain(|row| !spared.contains(&row.member));
        let mut looked_at = 0;
        while let Some(row) = rows.get(looked_at).copied() {
            looked_at += 1;
            let is_new = |child: &&ProcessRow| {
                child.parent == row.member.number
                    && !spared.contains(&child.member)
                    && !rows.iter().any(|known| known.member == child.member)
            };
            let more: Vec<ProcessRow> = self.rows.iter().filter(is_new).copied().collect();
            rows.extend(more);
        }
        // An ended process is still a parent while one of its threads runs.
        rows.iter().map(|row| row.member).collect()
    }
}
