//! Measure, explain, predict and cut what network round trips cost your database.

use longwire::places::Places;
use longwire::{cli, failure, usage};
use pipeline::output;
use std::process::ExitCode;
use sys::arguments::CommandLine;

fn main() -> ExitCode {
    sys::signals::heed_children();
    let given = sys::arguments::given();
    if sys::rights::is_another_users() {
        return failure::refuse_other_users_rights();
    }
    let places = Places::of_user();
    let known = places.as_ref().cloned().unwrap_or_default();
    let arguments = match (cli::Cli::from_arguments(given, &known), places) {
        (Err(error), Err(_)) if !error.use_stderr() => return usage::report(&error, given),
        (_, Err(fault)) => return failure::report(&fault, given),
        (Err(error), Ok(_)) => return usage::report(&error, given),
        (Ok(arguments), Ok(_)) => arguments,
    };
    if arguments.quiet {
        output::be_quiet();
    }
    hide_passwords();
    usage::older_names(given)
        .iter()
        .for_each(|text| output::warning(text));
    let typed = CommandLine::from_arguments(given);
    match output::survive_file_limit().and_then(|()| arguments.command.run(&typed)) {
        Ok(status) => status.into(),
        Err(error) => failure::report(&error, given),
    }
}

/// Removes them from the process list.
fn hide_passwords() {
    let seen = match sys::arguments::hide_passwords() {
        Ok(0) => return,
        Ok(_) => "could see the password in the arguments until it was overwritten".to_owned(),
        Err(error) => format!("can see the password in the arguments: it could not be overwritten: {error}"),
    };
    // Restarted by longwire inside a namespace: the user has already been warned.
    if std::env::var_os(netns::sandbox::MARK).is_some() {
        return;
    }
    output::warning(&format!(
        "other users of this machine {seen}; PGPASSWORD, MYSQL_PWD, REDISCLI_AUTH, ~/.pgpass or ~/.my.cnf keep it out of sight"
    ));
}
