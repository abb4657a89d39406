//! Requested TLS, by longwire's own clients and behind its relay.

use serde_json::Value;
use std::process::{Command, Output};
use testbed::binary::{self, records_among as records, shown};
use testbed::{MariaDb, Postgres, PostgresAuth};

const IS_ENCRYPTED: &str = "psql -X -A -t -c 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'";

fn longwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary::program());
    command.args(arguments).env_remove("PGSSLMODE");
    // Excludes certificates of the current user.
    command.env("HOME", "/nonexistent");
    command
}

fn run(arguments: &[&str]) -> Output {
    longwire(arguments).output().expect("it starts")
}

fn watched(target: &str, command: &str) -> (Output, Vec<Value>) {
    let output = run(&["watch", "--json", target, "--", "sh", "-c", command]);
    let seen = records(&output);
    (output, seen)
}

fn connection(seen: &[Value]) -> &Value {
    let mut connections = seen.iter().filter(|record| record["type"] == "connection");
    connections.next().expect("a connection")
}

fn saw_the_statement(seen: &[Value]) -> bool {
    seen.iter()
        .any(|record| record["fingerprint"].to_string().contains("pg_stat_ssl"))
}

fn scram_with_tls() -> Postgres {
    Postgres::options().auth(PostgresAuth::ScramSha256).tls().start()
}

#[test]
fn libpq_logs_in_by_scram_where_longwire_speaks_tls_for_it() {
    let server = scram_with_tls();
    let target = format!("{}?sslmode=require", server.url());
    let (output, seen) = watched(&target, &format!("test $({IS_ENCRYPTED}) = t"));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(saw_the_statement(&seen), "{seen:?}");
    assert!(
        shown(&output).contains("SCRAM-SHA-256-PLUS was taken out"),
        "{}",
        shown(&output)
    );
}

#[test]
fn a_client_that_insists_on_channel_binding_is_told_where_it_ends() {
    let server = scram_with_tls();
    let target = format!("{}?sslmode=require", server.url());
    let insisting = format!("PGCHANNELBINDING=require {IS_ENCRYPTED}");
    let (output, _) = watched(&target, &insisting);
    assert_ne!(output.status.code(), Some(0));
    let told = shown(&output);
    assert!(
        told.contains("without channel binding") && told.contains("channel_binding=prefer"),
        "{told}"
    );
    // The client's TLS reaches the server, including its channel binding.
    let target = format!("{}?sslmode=disable", server.url());
    let (output, _) = watched(&target, &insisting.replace("PGCH", "PGSSLMODE=require PGCH"));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

#[test]
fn the_turns_of_tls_are_those_of_a_client_that_speaks_it_itself() {
    let server = scram_with_tls();
    let (output, seen) = watched(&server.url(), &format!("test $({IS_ENCRYPTED}) = t"));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(saw_the_statement(&seen), "{seen:?}");
    assert!(
        shown(&output).contains("sslmode=disable"),
        "it says what it does: {}",
        shown(&output)
    );
    let taken_over = connection(&seen)["turns"].as_u64();

    let (output, own) = watched(&server.url(), &format!("PGSSLMODE=require {IS_ENCRYPTED}"));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(connection(&own)["encrypted"], true);
    assert_eq!(taken_over, connection(&own)["turns"].as_u64());

    let (_, plain) = watched(&format!("{}?sslmode=disable", server.url()), IS_ENCRYPTED);
    assert!(saw_the_statement(&plain), "{plain:?}");
    assert!(connection(&plain)["turns"].as_u64() < taken_over);
}

#[test]
fn a_server_without_tls_is_asked_for_it_by_the_client_s_own_choice() {
    let server = Postgres::start();
    let turns = |target: &str| {
        let (output, seen) = watched(
            target,
            "psql -X -c 'select 1' >/dev/null && echo url=$DATABASE_URL mode=$PGSSLMODE >&2",
        );
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        (
            connection(&seen)["turns"].as_u64().expect("turns"),
            shown(&output),
        )
    };
    let (own, told) = turns(&server.url());
    let said = told
        .lines()
        .find(|line| line.starts_with("url="))
        .expect("the environment");
    assert!(!said.contains("sslmode") && said.ends_with("mode="), "{said}");
    let (without, _) = turns(&format!("{}?sslmode=disable", server.url()));
    assert_eq!(own, without + 1, "the request that the server declines");
}

#[test]
fn a_framework_s_url_is_handed_to_the_command_as_it_is() {
    let server = Postgres::start();
    for scheme in ["postgresql+asyncpg", "postgis"] {
        let target = server.url().replacen("postgres", scheme, 1);
        let output = run(&[
            "watch",
            &target,
            "--",
            "sh",
            "-c",
            "echo url=$DATABASE_URL; psql -X -c 'select 1'",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert!(
            shown(&output).contains(&format!("url={scheme}://postgres:")),
            "{}",
            shown(&output)
        );
    }
}

fn legs(target: &str) -> Vec<(String, u64)> {
    let output = run(&["ping", "--connect", "--json", "-c", "1", target]);
    assert_eq!(output.status.code(), Some(0), "{target}: {}", shown(&output));
    let legs = records(&output)
        .into_iter()
        .filter(|record| record["type"] == "leg");
    legs.map(|leg| {
        (
            leg["name"].as_str().expect("a name").to_owned(),
            leg["turns"].as_u64().expect("turns"),
        )
    })
    .collect()
}

fn has_leg(target: &str, name: &str) -> bool {
    legs(target).iter().any(|(leg, _)| leg == name)
}

fn refusal(target: &str) -> String {
    let output = run(&["ping", "-c", "1", target]);
    assert_ne!(output.status.code(), Some(0), "{target}: {}", shown(&output));
    shown(&output)
}

#[test]
fn postgres_is_asked_for_tls_as_libpq_asks() {
    let (with, without) = (scram_with_tls(), Postgres::start());
    assert!(has_leg(&with.url(), "tls handshake"), "prefer is meant");
    assert!(!has_leg(
        &format!("{}?sslmode=disable", with.url()),
        "tls request"
    ));
    assert!(!has_leg(&format!("{}?sslmode=allow", with.url()), "tls request"));
    let asked = legs(&without.url());
    assert_eq!(asked[1], ("tls request".to_owned(), 1), "and goes on without");
    assert!(!has_leg(&without.url(), "tls handshake"));
    assert!(refusal(&format!("{}?sslmode=require", without.url())).contains("does not offer TLS"));
    let mut environment = longwire(&["ping", "-c", "1", &without.url()]);
    let output = environment
        .env("PGSSLMODE", "require")
        .output()
        .expect("it starts");
    assert!(
        shown(&output).contains("does not offer TLS"),
        "{}",
        shown(&output)
    );
}

#[test]
fn a_login_is_bound_to_its_tls_or_is_none() {
    let server = scram_with_tls();
    assert!(has_leg(
        &format!("{}?channel_binding=require", server.url()),
        "scram-sha-256 final"
    ));
    assert!(has_leg(
        &format!("{}?channel_binding=disable", server.url()),
        "scram-sha-256 final"
    ));
    let told = refusal(&format!(
        "{}?channel_binding=require&sslmode=disable",
        server.url()
    ));
    assert!(told.contains("too weak for channel_binding=require"), "{told}");
    let trusting = Postgres::options().tls().start();
    let told = refusal(&format!("{}?channel_binding=require", trusting.url()));
    assert!(told.contains("no login that is bound to TLS"), "{told}");
}

#[test]
fn a_certificate_is_held_against_the_authority_that_is_named() {
    let server = scram_with_tls();
    let certificate = server.certificate().expect("TLS");
    let root = certificate.authority().display().to_string();
    let by = |file: &str, mode: &str| format!("{}?sslmode={mode}&sslrootcert={file}", server.url());
    assert!(has_leg(&by(&root, "verify-full"), "tls handshake"));
    let own = certificate.certificate().display().to_string();
    assert!(
        has_leg(&by(&own, "verify-full"), "tls handshake"),
        "a certificate that is named itself is believed"
    );
    let other = scram_with_tls();
    let stranger = other
        .certificate()
        .expect("TLS")
        .authority()
        .display()
        .to_string();
    let told = refusal(&by(&stranger, "verify-full"));
    assert!(told.contains("certificate"), "{told}");
}

#[test]
fn mariadb_is_encrypted_where_it_offers_it_and_refused_where_it_cannot_be() {
    let (with, without) = (MariaDb::options().tls().start(), MariaDb::start());
    assert!(has_leg(&with.url(), "tls handshake"), "PREFERRED is meant");
    assert!(!has_leg(
        &format!("{}?ssl-mode=DISABLED", with.url()),
        "tls handshake"
    ));
    assert!(!has_leg(&without.url(), "tls handshake"));
    let url = without.url();
    for required in ["ssl-mode=REQUIRED", "useSSL=true", "sslMode=VERIFY_CA"] {
        assert!(
            refusal(&format!("{url}?{required}")).contains("does not offer TLS"),
            "{required}"
        );
    }
    let root = with.certificate().expect("TLS").authority().display().to_string();
    assert!(has_leg(
        &format!("{}?ssl-mode=VERIFY_IDENTITY&ssl-ca={root}", with.url()),
        "tls handshake"
    ));
    assert!(refusal(&format!("{}?ssl-crl=/x", with.url())).contains("ssl-crl"));
}

#[test]
fn security_that_is_not_there_is_refused_by_name_before_anything_is_sent() {
    for (parameter, name) in [
        ("sslcrl=/x", "sslcrl"),
        ("require_auth=scram-sha-256", "require_auth"),
    ] {
        let told = refusal(&format!("postgres://127.0.0.1:1/shop?{parameter}"));
        assert!(told.contains(name) && told.contains("docs/tls.md"), "{told}");
    }
    let weak = refusal("postgres://127.0.0.1:1/shop?sslmode=require&sslrootcert=system");
    assert!(weak.contains("too weak for sslrootcert=system"), "{weak}");
}

fn let_in(server: &Postgres, lines: &[&str]) {
    let file = server.sql("show hba_file");
    let all: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
    server.sql(&format!(
        "copy (select unnest(array['local all all trust', {}])) to '{}'",
        all.join(", "),
        file.trim()
    ));
    server.sql("select pg_reload_conf()");
    // The server reloads asynchronously.
    let read =
        || server.sql("select count(*) from pg_hba_file_rules").trim() == (lines.len() + 1).to_string();
    assert!(read(), "{}", server.sql("select * from pg_hba_file_rules"));
    std::thread::sleep(std::time::Duration::from_millis(500));
}

#[test]
fn a_server_that_lets_nobody_in_one_way_is_tried_the_other_way() {
    let server = Postgres::options().tls().start();
    let with = |mode: &str| format!("{}?sslmode={mode}", server.url());
    let_in(
        &server,
        &["hostssl all all all reject", "hostnossl all all all trust"],
    );
    assert!(!has_leg(&server.url(), "tls handshake"), "prefer goes on without");
    assert!(refusal(&with("require")).contains("28000"));
    let (output, seen) = watched(&server.url(), IS_ENCRYPTED);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(saw_the_statement(&seen), "{seen:?}");

    let_in(
        &server,
        &["hostssl all all all trust", "hostnossl all all all reject"],
    );
    assert!(has_leg(&with("allow"), "tls handshake"));
    assert!(refusal(&with("disable")).contains("28000"));
}

#[test]
fn a_password_is_sent_as_it_is_only_where_nobody_else_can_read_it() {
    let server = scram_with_tls();
    let_in(&server, &["host all all all password"]);
    assert!(has_leg(&server.url(), "password"), "over TLS");
    let plain = format!("{}?sslmode=disable", server.url());
    let told = refusal(&plain);
    assert!(
        told.contains("not encrypted") && told.contains("--allow-cleartext-password"),
        "{told}"
    );
    let allowed = run(&["ping", "--allow-cleartext-password", "-c", "1", &plain]);
    assert_eq!(allowed.status.code(), Some(0), "{}", shown(&allowed));
}
