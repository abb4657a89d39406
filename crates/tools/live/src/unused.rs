//! Detects relays without connections: the command connected elsewhere, or had no clients.

use crate::relays::EndedRelay;
use model::{Warning, WarningKind};
use pipeline::output::Status;
use relay::command::{RelayedTarget, environment, placeholders};
use std::ffi::OsString;

#[derive(Debug, Default)]
pub struct UnusedRelays {
    pub warnings: Vec<Warning>,
    /// Set if no relay had a connection.
    pub hint: Option<String>,
}

impl UnusedRelays {
    /// Finds relays of `ended` without a connection. Without a command, no warning is needed if all
    /// are unused.
    pub fn among(ended: &[EndedRelay], command: &[OsString]) -> Self {
        let given: Vec<RelayedTarget<'_>> = ended.iter().map(EndedRelay::as_given).collect();
        let unused: Vec<usize> = (0..)
            .zip(ended)
            .filter(|(_, ended)| ended.counters.accepted == 0)
            .map(|(place, _)| place)
            .collect();
        let none_was_used = unused.len() == ended.len();
        if none_was_used && command.is_empty() {
            return Self::default();
        }
        let warnings = unused.iter().map(|&place| {
            let text = warning(ended, &given, place, command);
            Warning::new(WarningKind::NothingSeen, text)
        });
        Self {
            warnings: warnings.collect(),
            hint: none_was_used.then(|| hint(ended)),
        }
    }

    /// A successful run without anything to measure returns a negative status.
    pub fn status(&self, status: Status) -> Status {
        match status {
            Status::Done | Status::Child(0) if self.hint.is_some() => Status::Negative,
            status => status,
        }
    }
}

fn warning(ended: &[EndedRelay], given: &[RelayedTarget<'_>], place: usize, command: &[OsString]) -> String {
    let Some((ended, target)) = ended.get(place).zip(given.get(place)) else {
        return String::new();
    };
    let server = target.target.server();
    let address = target.relay;
    let none = format!(
        "no connection came through the relay of {} ({address} to {server})",
        target.name
    );
    if ended.planned.is_application() {
        return format!("{none}: send the requests to http://{address} instead of http://{server}");
    }
    if command.is_empty() {
        return none;
    }
    let variables = environment::variables(given).into_iter();
    let names = variables.filter(|variable| variable.place == place && !is_login(&variable.name));
    // The first target has shorter names.
    let again = format!("LONGWIRE_{}_", target.name.to_ascii_uppercase());
    let names = names.filter(|variable| place > 0 || !variable.name.starts_with(&again));
    let names: Vec<String> = names.map(|variable| variable.name).collect();
    let arguments = match placeholders::are_used(command, place, target) {
        true => "and its arguments have it too",
        false => "its arguments do not have it",
    };
    format!(
        "{none}: the command was given that address in {}; {arguments}",
        names.join(", ")
    )
}

/// Variables that set the user or password rather than the address.
fn is_login(name: &str) -> bool {
    ["PGUSER", "PGDATABASE", "PGPASSWORD", "MYSQL_PWD"].contains(&name)
}

fn hint(ended: &[EndedRelay]) -> String {
    let database = (0..)
        .zip(ended)
        .find(|(_, ended)| !ended.planned.is_application());
    let Some((place, database)) = database else {
        return OF_THE_APPLICATION.to_owned();
    };
    let prefix = match place {
        0 => String::new(),
        _ => format!("{}.", database.planned.name),
    };
    format!(
        "write {{{prefix}host}}, {{{prefix}port}} or {{{prefix}url}} in the command's arguments, or set its variables: -- env \
         DB_HOST={{{prefix}host}} DB_PORT={{{prefix}port}} ./app. If it reads a file, write the address of --listen there"
    )
}

const OF_THE_APPLICATION: &str = "the relay is in front of the application: the command, or a browser, has to send its requests there ({url} in \
                                  the command's arguments)";
