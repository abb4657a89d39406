//! Compares a key log with the TLS connections of a run.

use model::{Warning, WarningKind, counted};
use std::sync::atomic::{AtomicU64, Ordering};
use tls_keys::{Closed, KeyLog};

#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Connections with a seen start, and those decrypted.
    asked: AtomicU64,
    found: AtomicU64,
    in_part: AtomicU64,
    /// Connections not or only partly decrypted, in the order of [`Closed::ALL`].
    unopened: [AtomicU64; Closed::ALL.len()],
    damaged: AtomicU64,
}

impl Counts {
    pub(super) fn greeted(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn opened(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn opened_in_part(&self, closed: Closed) {
        self.in_part.fetch_add(1, Ordering::Relaxed);
        self.unopened(closed);
    }

    pub(super) fn unopened(&self, closed: Closed) {
        if let Some(place) = Closed::ALL.iter().position(|reason| *reason == closed) {
            self.unopened[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }

    /// Warnings of keys missing in `name`, and of connections that could not be decrypted for other
    /// reasons. `late` connections had begun before their keys came.
    pub(super) fn warnings(&self, name: &str, log: &KeyLog, late: u64) -> Vec<Warning> {
        let damaged = self.damaged.load(Ordering::Relaxed);
        let damaged = (damaged > 0).then(|| {
            format!(
                "{} not authentic: their content is missing from statements and rows, later records are not",
                counted(damaged, "TLS record is", "TLS records are")
            )
        });
        let fit = self.fit(name, log, late);
        let fit = fit.map(|text| Warning::new(WarningKind::KeysMissing, text));
        let damaged = damaged.map(|text| Warning::new(WarningKind::PayloadMissing, text));
        fit.into_iter().chain(damaged).collect()
    }

    /// How well the log fits the connections. `None` if all were decrypted.
    fn fit(&self, name: &str, log: &KeyLog, late: u64) -> Option<String> {
        let (asked, found) = (
            self.asked.load(Ordering::Relaxed),
            self.found.load(Ordering::Relaxed),
        );
        if log.sessions() == 0 {
            return Some(no_secrets(name, log.by_identifier()));
        }
        let sessions = counted(log.sessions() as u64, "session", "sessions");
        let reasons = self.reasons();
        match (asked, found) {
            (asked, 0) if late > 0 && late >= asked => None,
            (0, _) => Some(format!(
                "no TLS connection began in the capture, so the secrets of {sessions} in {name} open nothing{reasons}"
            )),
            (_, 0) if self.is_only(Closed::Secret) => Some(format!(
                "none of the secrets of {sessions} in {name} fits a TLS connection that was seen: was it written by another run?"
            )),
            (_, 0) => Some(format!(
                "no TLS connection was opened with the secrets of {sessions} in {name}{reasons}"
            )),
            _ if found < asked || !reasons.is_empty() => {
                let in_part = self.in_part.load(Ordering::Relaxed);
                let joined = self.by_reason().find(|(closed, _)| *closed == Closed::Joined);
                let all = asked + joined.map_or(0, |(_, count)| count);
                let more = (in_part > 0).then(|| format!(", {in_part} more in part"));
                Some(format!(
                    "{} of {} opened with the keys in {name}{}{reasons}",
                    found.saturating_sub(in_part),
                    counted(all, "TLS connection", "TLS connections"),
                    more.unwrap_or_default()
                ))
            }
            _ => None,
        }
    }

    fn reasons(&self) -> String {
        let some = self.by_reason().filter(|(_, count)| *count > 0);
        let each: Vec<String> = some
            .map(|(closed, count)| format!("{count} {}", closed.in_common()))
            .collect();
        if each.is_empty() {
            String::new()
        } else {
            format!("; counted as opaque: {}", each.join(", "))
        }
    }

    fn is_only(&self, reason: Closed) -> bool {
        self.by_reason()
            .all(|(closed, count)| closed == reason || count == 0)
    }

    fn by_reason(&self) -> impl Iterator<Item = (Closed, u64)> {
        let counts = self.unopened.iter().map(|count| count.load(Ordering::Relaxed));
        Closed::ALL.into_iter().zip(counts)
    }
}

fn no_secrets(name: &str, by_identifier: u64) -> String {
    if by_identifier == 0 {
        return format!(
            "{name} has no secret of a session: was the program started with SSLKEYLOGFILE, or by longwire keys?"
        );
    }
    format!(
        "{name} has only {} that names a session by its identifier (RSA Session-ID, as an agent for Java writes for TLS 1.2). That opens \
         nothing; with TLS 1.3 the agent writes usable lines",
        counted(by_identifier, "line", "lines")
    )
}
