//! `longwire watch` with an application, its database and its cache: a page's request, statements
//! and cache calls are one operation, in one run and in recordings read together.

mod recordings;
mod shop;

use shop::{Shop, assert_pages, operations};
use std::io::Read;
use std::net::TcpStream;
use std::process::{Output, Stdio};
use testbed::binary::{done, longwire, number, of_type, records, shown, stderr, stdout, unwrapped};
use testbed::process::free_port;
use testbed::{Postgres, Redis, Started};

#[test]
fn a_page_its_statements_and_its_cache_calls_are_one_operation() {
    const PAGES: usize = 5;
    let shop = Shop::start();
    let seen = records(&shop.watched(&["--exchanges"], PAGES));
    assert_pages(&seen, PAGES);
    let connections = of_type(&seen, "connection");
    let mut numbers: Vec<u64> = connections.iter().map(|one| number(one, "id")).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(
        numbers.len(),
        PAGES + 2,
        "each connection has a number of its own"
    );
    let conditions = &of_type(&seen, "conditions")[0]["observation_point"];
    for port in [shop.port, shop.database.port(), shop.cache.port()] {
        assert!(
            conditions
                .as_str()
                .is_some_and(|text| text.contains(&port.to_string()))
        );
    }
    // Statements before the first request.
    let is_its_own = |warning: &&serde_json::Value| {
        warning["text"]
            .to_string()
            .contains("round trips to databases belong to no HTTP request")
    };
    assert!(of_type(&seen, "warning").iter().all(is_its_own), "{seen:#?}");
}

#[test]
fn a_link_of_one_target_costs_its_turns_alone() {
    let shop = Shop::start();
    let seen = records(&shop.watched(&["--link", "redis=rtt=30ms"], 3));
    let pages = operations(&seen);
    assert_eq!(pages.len(), 3);
    for page in pages {
        assert!(number(page, "round_trip_ns") >= 2 * 30_000_000, "{page}");
        assert!(number(page, "duration_ns") >= 2 * 30_000_000, "{page}");
    }
    let links = of_type(&seen, "link");
    assert_eq!(links.len(), 1);
    assert_eq!(links[0]["asked"], "rtt=30ms");
    assert_eq!(
        links[0]["name"],
        format!("clients-127.0.0.1:{}", shop.cache.port())
    );
    assert_eq!(of_type(&seen, "conditions")[0]["link"], "redis=rtt=30ms");
}

fn with_command(arguments: &[&str], script: &str) -> Output {
    let mut command = longwire(arguments);
    command
        .args(["--", "sh", "-c", script])
        .output()
        .expect("the binary starts")
}

#[test]
fn a_command_that_connects_to_no_relay_is_a_failure_with_a_hint() {
    let database = Postgres::start();
    let cache = Redis::start();
    let (postgres, redis) = (database.url(), cache.url());
    for command in ["watch", "relay"] {
        let output = with_command(&[command, &postgres, &redis], "echo {redis.port}");
        assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
        let said = unwrapped(&(stdout(&output) + &stderr(&output)));
        for words in [
            "through the relay of postgres",
            "DATABASE_URL, PGHOST, PGPORT; its arguments do not have it",
            "through the relay of redis",
            "REDIS_URL; and its arguments have it too",
            "hint: ",
            "{port}",
        ] {
            assert!(said.contains(words), "'{words}' is missing: {said}");
        }
        // The command's own failure takes precedence.
        let output = with_command(&[command, &postgres], "exit 7");
        assert_eq!(output.status.code(), Some(7), "{}", shown(&output));
        let output = with_command(
            &[command, &postgres, &redis],
            "psql -X -q -c 'select 1' >/dev/null",
        );
        done(&output);
        let said = stdout(&output) + &stderr(&output);
        assert!(
            said.contains("no connection came through the relay of redis"),
            "{said}"
        );
        assert!(
            !said.contains("relay of postgres") && !said.contains("hint: "),
            "{said}"
        );
    }
    let output = with_command(&["watch", "--json", &postgres], "exit 0");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        of_type(&records(&output), "warning").len() == 1,
        "{}",
        shown(&output)
    );
}

#[test]
fn each_target_has_its_names_in_the_command() {
    let (first, second) = (Postgres::start(), Postgres::start());
    let cache = Redis::start();
    let script = r#"psql -X -q -A -t -c 'select 1' >/dev/null &&
        psql -X -q -A -t {postgres2.url} -c 'select 2' >/dev/null &&
        test "$PGPORT" = {postgres.port} && test "$DATABASE_URL" = '{url}' &&
        test "$LONGWIRE_POSTGRES2_PORT" = {postgres2.port} && test "$REDIS_PORT" = {redis.port} &&
        "$cli" -u "$REDIS_URL" ping >/dev/null"#;
    let output = longwire(&["watch", "--json", &first.url(), &second.url(), &cache.url()])
        .args(["--", "sh", "-c", script])
        .env("cli", testbed::require("redis-cli"))
        .env_remove("REDISCLI_AUTH")
        .output()
        .expect("the binary starts");
    done(&output);
    let seen = records(&output);
    let connections = of_type(&seen, "connection");
    for port in [first.port(), second.port(), cache.port()] {
        let server = format!("127.0.0.1:{port}");
        let to_it = connections
            .iter()
            .filter(|connection| connection["server"] == server.as_str());
        assert_eq!(to_it.count(), 1, "{connections:?}");
    }
}

#[test]
fn an_application_that_is_not_there_is_reported_when_it_is_asked() {
    let port = free_port();
    let mut command = longwire(&["watch", &format!("http://127.0.0.1:{port}")]);
    let (running, relay) = Started::listening(command.stdout(Stdio::piped()), "relaying ");
    assert!(
        running.said().contains(&format!("browse http://{relay}; Ctrl-C")),
        "{}",
        running.said()
    );
    let mut stream = TcpStream::connect(relay).expect("the relay listens");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok();
    assert!(reply.is_empty());
    let output = running.interrupt();
    assert_eq!(output.status.code(), Some(130));
    assert!(
        stdout(&output).contains("1 connection did not reach the server"),
        "{}",
        shown(&output)
    );
}
