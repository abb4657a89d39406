//! TLS of relays, emulated links and the description of a run.

use crate::targets::PlannedRelay;
use anyhow::Result;
use link::LinkDescription;
use model::{Conditions, Protocol, Warning, WarningKind};
use pipeline::output;
use relay::command::TlsPlan;
use relay::{Counters, RelayTls};
use std::time::Duration;
use sys::arguments::CommandLine;
use sys::{ClientTls, LiveError, Target, TlsMode, TlsSettings};

/// Connects to each server once to report a wrong host, port or certificate early. Links and
/// addresses are checked first, as they need no server. The application is not tried: the command
/// itself may start it.
///
/// # Errors
/// If a server cannot be reached within `longest`, a target cannot cross its link, or a listen
/// address is not allowed.
pub fn check_servers(planned: &[PlannedRelay], longest: Duration) -> Result<()> {
    for planned in planned {
        check_link(&planned.target, planned.link.as_ref())?;
        relay::check_listen(&planned.target, planned.listen, planned.plain_clients)?;
    }
    for planned in planned.iter().filter(|planned| !planned.is_application()) {
        relay::probe(&planned.target, longest)?;
    }
    Ok(())
}

/// # Errors
/// If longwire would have to speak TLS to the target.
pub fn check_link(target: &Target, link: Option<&LinkDescription>) -> Result<()> {
    if TlsSettings::from_target(target)?.mode.insists() && link.is_some() {
        return Err(LiveError::TlsThroughLink.into());
    }
    Ok(())
}

/// TLS side if statements need not be seen: longwire if the target requires it, else the command.
pub fn tls_as_asked(target: &Target) -> Result<TlsPlan> {
    Ok(TlsPlan {
        relay: RelayTls::AsTheTargetInsists,
        client: match TlsSettings::from_target(target)?.mode.insists() {
            true => ClientTls::LeftOut,
            false => ClientTls::Own,
        },
    })
}

/// TLS side for each server; every server must be reachable.
pub fn with_tls(planned: &[PlannedRelay], has_command: bool) -> Result<Vec<(PlannedRelay, TlsPlan)>> {
    check_servers(planned, REACH)?;
    let each = planned.iter().map(|planned| {
        let tls = match has_command {
            false => tls_as_asked(&planned.target)?,
            true => tls_to_be_seen(&planned.target, planned.link.is_some(), REACH)?,
        };
        Ok((planned.clone(), tls))
    });
    each.collect()
}

/// Chooses and reports the TLS side if statements must be seen. Clients would use TLS if a PostgreSQL server
/// offers it and hide their statements, so longwire speaks TLS for them. Costs one connection to
/// the server.
pub fn tls_to_be_seen(target: &Target, link: bool, longest: Duration) -> Result<TlsPlan> {
    let asked = tls_as_asked(target)?;
    let security = TlsSettings::from_target(target)?;
    let is_postgres = target.scheme.protocol() == Protocol::Postgres;
    let left_to_the_command = link && security.said;
    if security.mode != TlsMode::Prefer || !is_postgres || left_to_the_command {
        return Ok(asked);
    }
    if !relay::offers_tls(target, longest)? {
        return Ok(asked);
    }
    output::print_note(match link {
        false => TAKEN_OVER,
        true => LEFT_OUT,
    });
    Ok(TlsPlan {
        relay: match link {
            false => RelayTls::InTheClientsStead,
            true => RelayTls::AsTheTargetInsists,
        },
        client: ClientTls::LeftOut,
    })
}

/// Time limit for the server to accept a connection before the run is refused.
pub const REACH: Duration = Duration::from_secs(10);

const TAKEN_OVER: &str = "the server offers TLS: longwire speaks it for the command (with PGSSLMODE=disable), so that statements are \
                          seen. Its round trips are counted, as libpq's clients have them. For a command without TLS, say sslmode=disable \
                          in the target";
const LEFT_OUT: &str = "the server offers TLS, but longwire cannot speak it through an emulated link: the command runs without \
                        (PGSSLMODE=disable), so that statements are seen. Each connection has 2 round trips less than with TLS 1.3, or 3 \
                        less with TLS 1.2 or a repeated key exchange. To leave TLS to the command, say sslmode=prefer in the target";

pub fn conditions(typed: &CommandLine, planned: &[PlannedRelay]) -> Conditions {
    let conditions = output::conditions(
        typed,
        "kernel receive timestamps where the socket gives them, else the monotonic clock",
        observation_point(planned),
    );
    with_links(conditions, planned)
}

pub fn with_links(conditions: Conditions, planned: &[PlannedRelay]) -> Conditions {
    let random = |link: &LinkDescription| link.loss.is_some() || link.jitter.is_some();
    let links = planned.iter().filter_map(|planned| planned.link);
    let mut seeds: Vec<u64> = links.filter(random).map(|link| link.seed).collect();
    seeds.dedup();
    let text = link_texts(planned).join("; ");
    Conditions {
        link: (!text.is_empty()).then_some(text),
        seed: match seeds.as_slice() {
            [seed] => Some(*seed),
            _ => None,
        },
        ..conditions
    }
}

fn link_texts(planned: &[PlannedRelay]) -> Vec<String> {
    let links = planned.iter().filter_map(|of| {
        let link = of.link?;
        Some(match planned.len() {
            1 => link.to_string(),
            _ => format!("{}={link}", of.name),
        })
    });
    links.collect()
}

pub fn observation_point(planned: &[PlannedRelay]) -> String {
    let servers: Vec<String> = planned.iter().map(|planned| planned.target.server()).collect();
    let relays = match planned.len() {
        1 => "relay",
        _ => "relays",
    };
    format!("{relays} in front of {}", servers.join(", "))
}

/// Adds a hint if the client must change a setting and its own error message does not mention
/// longwire.
fn told(error: &LiveError) -> String {
    match (error, error.hint()) {
        (LiveError::ClientWantsBinding { .. }, Some(hint)) => format!("{error}: {hint}"),
        _ => error.to_string(),
    }
}

pub fn warnings(counters: &Counters) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if counters.failed > 0 {
        let reason = counters
            .last_error
            .as_ref()
            .map_or_else(|| "no reason known".to_owned(), told);
        let text = format!(
            "{} did not reach the server; the last: {reason}",
            model::counted(counters.failed, "connection", "connections")
        );
        warnings.push(Warning::new(WarningKind::ConnectionsFailed, text));
    }
    if counters.unbound > 0 {
        let text = format!(
            "{} without channel binding: longwire speaks TLS for the client, so SCRAM-SHA-256-PLUS was taken out of the server's offer",
            match counters.unbound {
                1 => "1 login".to_owned(),
                logins => format!("{logins} logins"),
            }
        );
        warnings.push(Warning::new(WarningKind::DoneOtherwise, text));
    }
    if let Some(link) = &counters.link {
        warnings.extend(report::text::link_warnings(link));
    }
    warnings
}
