//! What `watch` and `relay` have in common: TLS, the emulated links, and how a run is described.

use super::targets::PlannedRelay;
use crate::relayed_command::TlsPlan;
use anyhow::Result;
use link::LinkDescription;
use model::{Conditions, LinkOutcome, Warning, WarningKind};
use pipeline::output;
use relay::{Counters, RelayTls};
use std::io::{self, Write};
use std::time::Duration;
use sys::{ClientTls, LiveError, Scheme, Target, TlsMode, TlsSettings};

/// Connects to each server once, so that a wrong host, port or certificate is reported at once. The
/// application may start later, by the command itself: it is not tried. What is wrong with the targets' links
/// and addresses needs no server, and is reported before.
///
/// # Errors
/// When a server cannot be reached within `longest`, a target cannot cross its link, or a relay may not
/// listen at its address.
pub fn check_servers(planned: &[PlannedRelay], longest: Duration) -> Result<()> {
    for planned in planned {
        check_link(&planned.target, planned.link.as_ref())?;
        relay::check_listen(&planned.target, planned.listen, planned.plain_clients.choice())?;
    }
    for planned in planned.iter().filter(|planned| !planned.is_application()) {
        relay::probe(&planned.target, longest)?;
    }
    Ok(())
}

/// Whether connections to the target can cross an emulated link.
///
/// # Errors
/// When longwire would have to speak TLS on them.
pub fn check_link(target: &Target, link: Option<&LinkDescription>) -> Result<()> {
    if TlsSettings::from_target(target)?.mode.insists() && link.is_some() {
        return Err(LiveError::TlsThroughLink.into());
    }
    Ok(())
}

/// Which side speaks TLS where statements need not be seen: longwire where the target requires it, else the
/// command, if it wants.
///
/// # Errors
/// When the TLS settings cannot be applied.
pub fn tls_as_asked(target: &Target) -> Result<TlsPlan> {
    Ok(TlsPlan {
        relay: RelayTls::AsTheTargetInsists,
        client: match TlsSettings::from_target(target)?.mode.insists() {
            true => ClientTls::LeftOut,
            false => ClientTls::Own,
        },
    })
}

/// Which side speaks TLS where statements are to be seen; reports it too. Where a PostgreSQL server offers
/// TLS, clients would use it, and nothing would be seen: so longwire speaks it for them. Asks the server,
/// which costs a connection.
///
/// # Errors
/// When the TLS settings cannot be applied, or the server cannot be reached.
pub fn tls_to_be_seen(target: &Target, link: bool, longest: Duration) -> Result<TlsPlan> {
    let asked = tls_as_asked(target)?;
    let security = TlsSettings::from_target(target)?;
    let is_postgres = matches!(target.scheme, Scheme::Postgres | Scheme::Kingbase);
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

const TAKEN_OVER: &str = "the server offers TLS: longwire speaks it for the command (which gets PGSSLMODE=disable), so that statements are seen, and \
                          counts its round trips, as libpq's clients have them; say sslmode=disable in the target for a command that does without TLS";
const LEFT_OUT: &str = "the server offers TLS, which longwire cannot speak through an emulated link: the command is asked to do without (PGSSLMODE=disable), \
                        so that statements are seen; each connection has 2 round trips less than with TLS 1.3, 3 less where the key exchange is begun anew \
                        or with TLS 1.2; say sslmode=prefer in the target to leave TLS to the command";

/// The conditions of a run with emulated links.
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

/// The links, as the flag takes them.
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

/// What a run was requested, without passwords: targets, addresses, links.
pub fn asked(planned: &[PlannedRelay]) -> String {
    let targets = planned.iter().map(|planned| format!(" {}", planned.target));
    let listens = planned
        .iter()
        .map(|planned| format!(" --listen {}", planned.listen));
    let links = link_texts(planned)
        .into_iter()
        .map(|link| format!(" --link '{link}'"));
    let plain = planned.first().map(|planned| planned.plain_clients.words());
    let words: String = targets.chain(listens).chain(links).collect();
    words + plain.unwrap_or_default()
}

/// Where a run's figures are from.
pub fn observation_point(planned: &[PlannedRelay]) -> String {
    let servers: Vec<String> = planned.iter().map(|planned| planned.target.server()).collect();
    let relays = match planned.len() {
        1 => "relay",
        _ => "relays",
    };
    format!("{relays} in front of {}", servers.join(", "))
}

/// An error; with a hint, where the client has to change something and its own message does not know about
/// longwire.
fn told(error: &LiveError) -> String {
    match (error, error.hint()) {
        (LiveError::ClientWantsBinding { .. }, Some(hint)) => format!("{error}: {hint}"),
        _ => error.to_string(),
    }
}

/// What a reader of the figures must know of a relay's run.
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

/// Reports what an emulated link did.
///
/// # Errors
/// When stderr cannot be written.
pub fn print_link(link: &LinkOutcome) -> io::Result<()> {
    io::stderr()
        .lock()
        .write_all(report::text::link_line(link).as_bytes())
}
