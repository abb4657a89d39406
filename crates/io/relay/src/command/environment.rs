//! Environment variables that redirect a command to the relays.

use super::RelayedTarget;
use model::Protocol;

#[derive(Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// May hold a password.
    pub value: String,
    pub place: usize,
}

/// A database's variables describe the first target of that kind. A single target gets them in any
/// case, as `tcp://` may be any database. They never name the application (`http://`), because it
/// would then connect to itself.
pub fn variables(targets: &[RelayedTarget<'_>]) -> Vec<Variable> {
    let mut all = Collected::default();
    for (place, target) in targets.iter().enumerate() {
        if place == 0 {
            all.address(place, target, ["LONGWIRE_HOST", "LONGWIRE_PORT"]);
            all.add(place, "LONGWIRE_URL", target.url());
        }
        let own = |part: &str| format!("LONGWIRE_{}_{part}", target.name.to_ascii_uppercase());
        all.address(place, target, [&own("HOST"), &own("PORT")]);
        all.add(place, &own("URL"), target.url());
    }
    if let Some((place, target)) = first(targets, SQL) {
        all.add(place, "DATABASE_URL", target.url());
    }
    if let Some((place, target)) = first(targets, POSTGRES) {
        all.address(place, target, ["PGHOST", "PGPORT"]);
        all.postgres_login(place, target);
    }
    if let Some((place, target)) = first(targets, MYSQL) {
        all.address(place, target, ["MYSQL_HOST", "MYSQL_TCP_PORT"]);
        if MYSQL(target.target.scheme.protocol()) {
            all.secret(place, "MYSQL_PWD", target);
        }
    }
    if let Some((place, target)) = of_kind(targets, REDIS) {
        all.address(place, target, ["REDIS_HOST", "REDIS_PORT"]);
        all.add(place, "REDIS_URL", target.url());
    }
    if let Some((place, target)) = of_kind(targets, MONGODB) {
        all.add(place, "MONGODB_URI", target.url());
    }
    all.0
}

/// The target for PostgreSQL's variables.
pub(super) fn postgres<'t>(targets: &'t [RelayedTarget<'t>]) -> Option<&'t RelayedTarget<'t>> {
    of_kind(targets, POSTGRES).map(|(_, target)| target)
}

fn first<'t>(targets: &'t [RelayedTarget<'t>], kind: Kind) -> Option<(usize, &'t RelayedTarget<'t>)> {
    of_kind(targets, kind).or(match targets {
        [only] if !only.target.scheme.protocol().carries_requests() => Some((0, only)),
        _ => None,
    })
}

fn of_kind<'t>(targets: &'t [RelayedTarget<'t>], kind: Kind) -> Option<(usize, &'t RelayedTarget<'t>)> {
    let mut all = targets.iter().enumerate();
    all.find(|(_, target)| kind(target.target.scheme.protocol()))
}

const POSTGRES: Kind = |protocol| protocol == Protocol::Postgres;
const MYSQL: Kind = |protocol| protocol == Protocol::Mysql;
const REDIS: Kind = |protocol| protocol == Protocol::Redis;
const MONGODB: Kind = |protocol| protocol == Protocol::Mongodb;
const SQL: Kind = |protocol| protocol.is_database() && !REDIS(protocol) && !MONGODB(protocol);

type Kind = fn(Protocol) -> bool;

#[derive(Default)]
struct Collected(Vec<Variable>);

impl Collected {
    fn add(&mut self, place: usize, name: &str, value: String) {
        self.0.push(Variable {
            name: name.to_owned(),
            value,
            place,
        });
    }

    fn address(&mut self, place: usize, target: &RelayedTarget<'_>, [host, port]: [&str; 2]) {
        self.add(place, host, target.relay.address.to_string());
        self.add(place, port, target.relay.port.to_string());
    }

    fn secret(&mut self, place: usize, name: &str, target: &RelayedTarget<'_>) {
        if let Some(password) = &target.target.password {
            self.add(place, name, password.reveal().to_owned());
        }
    }

    fn postgres_login(&mut self, place: usize, target: &RelayedTarget<'_>) {
        if !POSTGRES(target.target.scheme.protocol()) {
            return;
        }
        let login = [
            ("PGUSER", &target.target.user),
            ("PGDATABASE", &target.target.database),
        ];
        for (name, value) in login {
            if let Some(value) = value {
                self.add(place, name, value.clone());
            }
        }
        self.secret(place, "PGPASSWORD", target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Endpoint;
    use std::collections::BTreeMap;
    use sys::{ClientTls, Target};

    /// Relay ports count from 1.
    fn environment(targets: &[(&str, &str)]) -> BTreeMap<String, String> {
        let parsed: Vec<Target> = targets
            .iter()
            .map(|(_, text)| Target::parse(text).expect("a target"))
            .collect();
        let relayed: Vec<RelayedTarget<'_>> = (1..)
            .zip(targets.iter().zip(&parsed))
            .map(|(port, ((name, _), target))| RelayedTarget {
                name,
                target,
                relay: Endpoint {
                    address: [127, 0, 0, 1].into(),
                    port,
                },
                tls: ClientTls::Own,
            })
            .collect();
        let all = variables(&relayed).into_iter();
        all.map(|variable| (variable.name, variable.value)).collect()
    }

    #[test]
    fn each_database_has_its_usual_ones() {
        let all = environment(&[
            ("http", "http://127.0.0.1:8000"),
            ("redis", "redis://cache1"),
            ("mysql", "mysql://shop:secret@db2/shop"),
            ("postgres", "postgres://app@db1/shop"),
        ]);
        let is =
            |name: &str, value: &str| assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
        is("LONGWIRE_PORT", "1");
        is("LONGWIRE_HTTP_URL", "http://127.0.0.1:1");
        is("REDIS_URL", "redis://127.0.0.1:2");
        is("REDIS_PORT", "2");
        is("MYSQL_TCP_PORT", "3");
        is("MYSQL_PWD", "secret");
        is("DATABASE_URL", "mysql://shop:secret@127.0.0.1:3/shop");
        is("PGPORT", "4");
        is("PGUSER", "app");
        is("LONGWIRE_POSTGRES_PORT", "4");
    }

    #[test]
    fn a_second_database_of_a_kind_has_only_its_own() {
        let all = environment(&[("postgres", "postgres://db1"), ("postgres2", "postgres://db2")]);
        assert_eq!((&*all["PGPORT"], &*all["LONGWIRE_POSTGRES2_PORT"]), ("1", "2"));
        assert!(
            !all.contains_key("MYSQL_HOST") && !all.contains_key("REDIS_URL"),
            "{all:?}"
        );
    }

    #[test]
    fn a_single_target_may_be_any_database_but_the_application_is_none() {
        let all = environment(&[("tcp", "tcp://db1:1234")]);
        assert!(
            all.contains_key("PGHOST") && all.contains_key("MYSQL_HOST") && all.contains_key("DATABASE_URL")
        );
        let all = environment(&[("http", "http://127.0.0.1:8000")]);
        assert!(
            !all.contains_key("DATABASE_URL") && all.contains_key("LONGWIRE_URL"),
            "{all:?}"
        );
    }
}
