//! A password that only a person knows.

use client::session::{Session, SessionError, SessionOptions};
use std::sync::atomic::AtomicBool;
use sys::{Credentials, Scheme, Target, terminal};

/// The target, with the password read from the terminal where the server wants one and neither the target nor
/// the environment nor a file has it. To determine whether it wants one, a connection is opened first, only
/// where a person could answer. Any other fault of the target shows when it is used.
pub fn completed(mut target: Target) -> Target {
    let credentials = Credentials::from_target(&target);
    if !has_login(target.scheme) || credentials.password.is_some() || !terminal::is_there() {
        return target;
    }
    let never = AtomicBool::new(false);
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

/// Redis does not ask for a password before it receives a command.
const fn has_login(scheme: Scheme) -> bool {
    match scheme {
        Scheme::Postgres | Scheme::Kingbase | Scheme::Mysql | Scheme::Mariadb => true,
        Scheme::Http
        | Scheme::Tcp
        | Scheme::Oracle
        | Scheme::SqlServer
        | Scheme::Redis
        | Scheme::Informix
        | Scheme::Drda => false,
    }
}
