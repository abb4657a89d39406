//! Finds the calls among an operation's steps: requests of a program to another service within a
//! request to the program.
//!
//! A step with a parent that carries requests is a call, unless its connection passes the parent's
//! request on, as a proxy or a web server does: FastCGI, or the same method and path, at most
//! [`MAX_ATTEMPTS`] times. A proxy may add the beginning of a path, or take it away. Encrypted
//! steps count as calls: a proxy rarely encrypts a plain request. Misleads where a
//! program calls a path like its own once, or a proxy rewrites paths: `--on` decides then.

use foldhash::{HashMap, HashSet};
use model::{ConnectionId, OperationStep, Phase, Protocol};

pub(super) fn mark(steps: &mut [OperationStep], parents: &[Option<u32>]) {
    if parents.iter().all(Option::is_none) {
        return;
    }
    let mut attempts: HashMap<(u32, ConnectionId), u32> = HashMap::default();
    let mut calling: HashSet<ConnectionId> = HashSet::default();
    for (step, parent) in steps.iter().zip(parents) {
        let Some(parent) = *parent else { continue };
        let outer = &steps[parent as usize];
        let connection = step.exchange.connection;
        if !may_call(step) || !outer.protocol.carries_requests() {
            continue;
        }
        if passes_on(outer, step) {
            *attempts.entry((parent, connection)).or_default() += 1;
        } else {
            calling.insert(connection);
        }
    }
    let mut passing: HashSet<ConnectionId> = HashSet::default();
    for ((_, connection), count) in attempts {
        match count > MAX_ATTEMPTS {
            true => calling.insert(connection),
            false => passing.insert(connection),
        };
    }
    for (step, parent) in steps.iter_mut().zip(parents) {
        let connection = step.exchange.connection;
        step.is_call = parent.is_some() && calling.contains(&connection) && !passing.contains(&connection);
    }
}

fn may_call(step: &OperationStep) -> bool {
    step.exchange.phase == Phase::Work && !step.protocol.is_database() && step.protocol != Protocol::Fastcgi
}

fn passes_on(outer: &OperationStep, step: &OperationStep) -> bool {
    let [outer, inner] = [outer, step].map(|step| step.exchange.fingerprint.as_deref());
    let Some((outer, inner)) = outer.zip(inner) else {
        return false;
    };
    // A method of gRPC stands alone.
    let [outer, inner] = [outer, inner].map(|name| name.split_once(' ').unwrap_or(("", name)));
    outer.0 == inner.0 && is_same_path(path(outer.1), path(inner.1))
}

fn is_same_path(one: &str, other: &str) -> bool {
    let (short, long) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    short == long || (short.len() > 1 && long.ends_with(short))
}

/// Cuts the query string off. A part of a path may be the placeholder `?`.
fn path(target: &str) -> &str {
    let last = target.rfind('/').map_or(0, |slash| slash + 1);
    let part = &target[last..];
    let from = usize::from(part == "?" || part.starts_with("??"));
    match part[from..].find('?') {
        Some(query) => &target[..last + from + query],
        None => target,
    }
}

/// A proxy tries another server if one fails.
const MAX_ATTEMPTS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_passes_paths_on() {
        for (outer, inner, is_passed) in [
            ("/page", "/page", true),
            ("/page?id=?", "/page?id=?&from=?", true),
            ("/api/users/?", "/users/?", true),
            ("/users/??all=?", "/v2/users/?", true),
            ("/", "/", true),
            ("/", "/app/", false),
            ("/page", "/query", false),
            ("/users/?", "/orders/?", false),
        ] {
            assert_eq!(
                is_same_path(path(outer), path(inner)),
                is_passed,
                "{outer} {inner}"
            );
        }
    }
}
