//! The command that `watch` and `top` start while observing an interface. It connects to its
//! servers directly.

use crate::child::{Child, CommandOutput};
use crate::interface::InterfaceKeys;
use crate::targets::PlannedRelay;
use anyhow::{Context, Result};
use model::Endpoint;
use relay::command::{RelayedTarget, prepare};
use std::ffi::OsString;
use sys::{ClientTls, resolve};

/// Starts it with the targets' addresses in its arguments and environment, and with TLS key logging
/// if keys are collected.
pub fn start(
    command: &[OsString],
    planned: &[PlannedRelay],
    keys: &InterfaceKeys,
    output: CommandOutput,
) -> Result<Child> {
    let servers = planned.iter().map(|planned| {
        let address = resolve::addresses(&planned.target)?.into_iter().next();
        let address = address.with_context(|| format!("no address of {}", planned.target.server()))?;
        Ok(RelayedTarget {
            name: &planned.name,
            target: &planned.target,
            relay: Endpoint {
                address: address.ip(),
                port: address.port(),
            },
            tls: ClientTls::Own,
        })
    });
    let servers: Vec<RelayedTarget<'_>> = servers.collect::<Result<_>>()?;
    let mut command = prepare(command, &servers)?;
    if let Some(collected) = &keys.collected {
        keys.rights.let_programs_write_keys();
        collected.prepare(&mut command);
    }
    output.direct(&mut command)?;
    Child::start_prepared(&mut command)
}
