//! Reports why a command could not run, with a hint if one is known.

use crate::usage;
use relay::command::NotStarted;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// Prints `error` on stderr and returns the exit status.
///
/// A closed pipe (`longwire read ... | head`) is not a failure.
pub fn report(error: &anyhow::Error, arguments: &[OsString]) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "longwire: {}", usage::printable(&format!("{error:#}")));
    if let Some(hint) = usage::hint_for(arguments).or_else(|| hint(error)) {
        let _ = writeln!(stderr, "hint: {}", usage::printable(&hint));
    }
    error
        .downcast_ref()
        .map_or(ExitCode::from(2), |not_started: &NotStarted| {
            ExitCode::from(not_started.exit_status())
        })
}

/// A setuid or setgid longwire would let anyone write files, start programs and capture as another
/// user.
pub fn refuse_other_users_rights() -> ExitCode {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(
        stderr,
        "longwire: this program is setuid or setgid, and would do for everybody what its owner may: it does not run so\n\
         hint: chmod u-s,g-s {}; docs/interface.md has the right that each command needs",
        std::env::current_exe().map_or_else(
            |_| "PROGRAM".to_owned(),
            |path| usage::printable(&path.display().to_string())
        )
    );
    ExitCode::from(2)
}

pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

fn hint(error: &anyhow::Error) -> Option<String> {
    error
        .chain()
        .find_map(|cause| HINTS.iter().find_map(|hint| hint(cause)))
}

type Cause<'a> = &'a (dyn std::error::Error + 'static);

const HINTS: [fn(Cause<'_>) -> Option<String>; 16] = [
    |cause| cause.downcast_ref().and_then(sys::LiveError::hint),
    |cause| cause.downcast_ref().and_then(sys::TargetError::hint),
    |cause| cause.downcast_ref().and_then(client::bridge::BridgeError::hint),
    |cause| cause.downcast_ref().and_then(client::session::SessionError::hint),
    |cause| cause.downcast_ref().and_then(probe::ping::PingError::hint),
    |cause| cause.downcast_ref().and_then(probe::ping::rows::RowsError::hint),
    |cause| cause.downcast_ref().and_then(probe::ping::via::ViaError::hint),
    |cause| cause.downcast_ref().and_then(probe::echo::EchoError::hint),
    |cause| cause.downcast_ref().and_then(tune::Error::hint),
    |cause| cause.downcast_ref().and_then(load::Error::hint),
    |cause| cause.downcast_ref().and_then(tunnel_io::Error::hint),
    |cause| cause.downcast_ref().and_then(tunnel_io::keys::KeyError::hint),
    |cause| cause.downcast_ref().and_then(key_log::Error::hint),
    |cause| cause.downcast_ref().map(tunnel_io::advise::AdviseError::hint),
    |cause| cause.downcast_ref().and_then(telemetry::exporters::Error::hint),
    |cause| cause.downcast_ref().map(model::ConfigError::hint),
];
