//! How a command that could not run says so: one line, and what to do next when that is known.

use crate::advise::outcome::AdviseError;
use report::text::escape::message;
use std::io::{self, Write};
use std::process::ExitCode;

/// Prints `error` on stderr and gives the exit status for a command that could not run.
///
/// A reader of our output that went away (`longwire read ... | head`) is no failure.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "longwire: {}", message(&format!("{error:#}")));
    if let Some(hint) = hint(error) {
        let _ = writeln!(stderr, "hint: {}", message(&hint));
    }
    ExitCode::from(2)
}

/// Whether it is that whoever read our output has left.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        cause
            .downcast_ref::<live::LiveError>()
            .and_then(live::LiveError::hint)
            .or_else(|| {
                cause
                    .downcast_ref::<live::bridge::BridgeError>()
                    .and_then(live::bridge::BridgeError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::ping::PingError>()
                    .and_then(live::ping::PingError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::ping::rows::RowsError>()
                    .and_then(live::ping::rows::RowsError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::ping::via::ViaError>()
                    .and_then(live::ping::via::ViaError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::session::SessionError>()
                    .and_then(live::session::SessionError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::TargetError>()
                    .and_then(live::TargetError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::echo::EchoError>()
                    .and_then(live::echo::EchoError::hint)
            })
            .or_else(|| cause.downcast_ref::<AdviseError>().map(AdviseError::hint))
            .or_else(|| {
                cause
                    .downcast_ref::<live::tune::TuneError>()
                    .and_then(live::tune::TuneError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::load::LoadError>()
                    .and_then(live::load::LoadError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::tunnel::TunnelError>()
                    .and_then(live::tunnel::TunnelError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<live::tunnel::keys::KeyError>()
                    .and_then(live::tunnel::keys::KeyError::hint)
            })
    })
}
