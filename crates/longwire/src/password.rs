//! Prompts for passwords on a terminal.

use client::session::{Session, SessionError, SessionOptions};
use model::Protocol;
use sys::StopToken;
use sys::{Credentials, Scheme, Target, terminal};

/// Prompts for the password if the server requires one and neither the target, the environment nor
/// a file has it. Tries a connection first, only on a terminal. Other faults of the target are
/// reported on use.
pub fn completed(mut target: Target) -> Target {
    let credentials = Credentials::from_target(&target);
    if !has_login(target.scheme) || credentials.password.is_some() || !terminal::is_there() {
        return target;
    }
    let never = StopToken::never();
    match Session::open(&target, SessionOptions::new(&never)) {
        Ok(session) => session.close(),
        Err(SessionError::NoPassword) => {
            let prompt = format!("Password of {} at {}: ", credentials.user, target.server());
            target.password = terminal::ask_secretly(&prompt);
        }
        Err(_) => {}
    }
    target
}

/// Redis asks for a password only after the first command.
const fn has_login(scheme: Scheme) -> bool {
    matches!(scheme.protocol(), Protocol::Postgres | Protocol::Mysql)
}
