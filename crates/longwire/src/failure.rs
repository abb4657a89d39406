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
            .downcast_ref::<sys::LiveError>()
            .and_then(sys::LiveError::hint)
            .or_else(|| {
                cause
                    .downcast_ref::<client::bridge::BridgeError>()
                    .and_then(client::bridge::BridgeError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<probe::ping::PingError>()
                    .and_then(probe::ping::PingError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<probe::ping::rows::RowsError>()
                    .and_then(probe::ping::rows::RowsError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<probe::ping::via::ViaError>()
                    .and_then(probe::ping::via::ViaError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<client::session::SessionError>()
                    .and_then(client::session::SessionError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<sys::TargetError>()
                    .and_then(sys::TargetError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<probe::echo::EchoError>()
                    .and_then(probe::echo::EchoError::hint)
            })
            .or_else(|| cause.downcast_ref::<AdviseError>().map(AdviseError::hint))
            .or_else(|| {
                cause
                    .downcast_ref::<tune::TuneError>()
                    .and_then(tune::TuneError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<load::LoadError>()
                    .and_then(load::LoadError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<tunnel_io::TunnelError>()
                    .and_then(tunnel_io::TunnelError::hint)
            })
            .or_else(|| {
                cause
                    .downcast_ref::<tunnel_io::keys::KeyError>()
                    .and_then(tunnel_io::keys::KeyError::hint)
            })
    })
}
