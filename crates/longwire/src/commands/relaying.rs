//! What `watch` and `relay` have in common: where clients connect, and the emulated link.

use crate::delivery::Delivery;
use anyhow::Result;
use link::LinkDescription;
use live::{Counters, LiveError, Relay, Target, TlsMode};
use model::{Conditions, Endpoint, LinkOutcome, Warning};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Whether connections to the target can cross an emulated link.
///
/// # Errors
/// When longwire would have to speak TLS on them.
pub fn check(target: &Target, link: Option<&LinkDescription>) -> Result<()> {
    if link.is_some() && target.tls != TlsMode::Disable {
        return Err(LiveError::TlsThroughLink.into());
    }
    Ok(())
}

/// The address an application on this host connects to: loopback when the relay listens on every address.
pub fn connect_to(relay: &Relay) -> Endpoint {
    let local = relay.local_addr();
    let address = match local.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) | IpAddr::V6(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    Endpoint {
        address,
        port: local.port(),
    }
}

/// How long connections may take to end by themselves once the command has ended: their last bytes and ends cross the
/// link.
pub fn last_bytes(link: Option<&LinkDescription>) -> Duration {
    LAST_BYTES + link.map_or(Duration::ZERO, |link| link.rtt * 4)
}

/// Says where clients connect, and over what link.
pub fn announce(delivery: &Delivery, target: &Target, relay: &Relay, link: Option<&LinkDescription>) {
    let over = link.map_or_else(String::new, |link| format!(" over {link}"));
    delivery.say(&format!(
        "relaying {} to {}{over}; Ctrl-C ends and sums up",
        connect_to(relay),
        target.server()
    ));
}

/// The conditions of a run with an emulated link.
pub fn with_link(conditions: Conditions, link: Option<&LinkDescription>) -> Conditions {
    let random = |link: &&LinkDescription| link.loss.is_some() || link.jitter.is_some();
    Conditions {
        link: link.map(ToString::to_string),
        seed: link.filter(random).map(|link| link.seed),
        ..conditions
    }
}

/// What a reader of the figures must know of a relay's run.
pub fn warnings(counters: &Counters) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if counters.failed > 0 {
        let reason = counters
            .last_error
            .as_ref()
            .map_or_else(|| "no reason known".to_owned(), ToString::to_string);
        let text = format!(
            "{} did not reach the server; the last: {reason}",
            model::counted(counters.failed, "connection", "connections")
        );
        warnings.push(Warning { text });
    }
    if let Some(link) = &counters.link {
        warnings.extend(report::text::link_warnings(link));
    }
    warnings
}

/// Says what an emulated link did.
///
/// # Errors
/// When stderr does not take it.
pub fn tell_link(link: &LinkOutcome) -> io::Result<()> {
    io::stderr()
        .lock()
        .write_all(report::text::link_line(link).as_bytes())
}

const LAST_BYTES: Duration = Duration::from_secs(1);
