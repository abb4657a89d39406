//! Clients `psql`, `pg_dump` and `pg_restore` through a tunnel.

use super::{assert_same, interrupted, output, tunnels_to};
use std::process::Command;
use testbed::Postgres;
use testbed::postgres::PostgresAuth;

#[test]
fn psql_and_pg_dump_work_unchanged() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).tls().start();
    server.sql(TABLE);
    let ask = |port: u16, statement: &str| {
        let mut psql = psql(&server, port);
        output(psql.args(["-A", "-t", "-c", statement]))
    };
    let rows = ask(server.port(), "select * from orders order by id");
    let copied = ask(server.port(), "copy (select * from orders order by id) to stdout");
    let dump = dump(&server, server.port(), Postgres::DATABASE);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &copied).expect("it can be written");
    for (level, tunnel) in tunnels_to(server.port()) {
        let port = tunnel.port();
        assert_same(
            &ask(port, "select * from orders order by id"),
            &rows,
            &format!("rows at level {level}"),
        );
        assert_same(
            &ask(port, "copy (select * from orders order by id) to stdout"),
            &copied,
            &format!("COPY at level {level}"),
        );
        let copy_in = format!("\\copy copies from '{}'", file.path().display());
        ask(port, "create table copies (like orders)");
        ask(port, &copy_in);
        assert_same(
            &ask(server.port(), "copy (select * from copies order by id) to stdout"),
            &copied,
            &format!("\\copy at level {level}"),
        );
        ask(port, "drop table copies");
        assert_same(
            &self::dump(&server, port, Postgres::DATABASE),
            &dump,
            &format!("pg_dump at level {level}"),
        );
    }
}

#[test]
fn a_dump_is_restored_over_several_connections_and_is_what_it_was() {
    let server = Postgres::start();
    server.sql(TABLE);
    let (_, tunnel) = tunnels_to(server.port()).swap_remove(0);
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("archive");
    let mut pg_dump = server.client_at("pg_dump", tunnel.port());
    output(
        pg_dump
            .args(["--format=directory", "--jobs=2", "--file"])
            .arg(&archive),
    );
    server.sql("create database restored");
    let mut pg_restore = server.client_at("pg_restore", tunnel.port());
    output(pg_restore.args(["--jobs=2", "--dbname=restored"]).arg(&archive));
    assert_same(
        &dump(&server, server.port(), "restored"),
        &dump(&server, server.port(), Postgres::DATABASE),
        "the restored database",
    );
}

#[test]
fn encrypted_sessions_and_ctrl_c_pass() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).tls().start();
    let (_, tunnel) = tunnels_to(server.port()).swap_remove(0);
    let mut encrypted = psql(&server, tunnel.port());
    encrypted
        .env("PGSSLMODE", "verify-full")
        .env("PGHOST", "localhost")
        .env("PGHOSTADDR", "127.0.0.1");
    let authority = server.certificate().expect("it has one").authority();
    encrypted.env("PGSSLROOTCERT", authority);
    let told = output(encrypted.args([
        "-A",
        "-t",
        "-c",
        "select ssl, repeat('x', 100000) from pg_stat_ssl where pid = pg_backend_pid()",
    ]));
    assert_same(
        &told,
        format!("t|{}\n", "x".repeat(100_000)).as_bytes(),
        "a row of an encrypted session",
    );

    let mut sleeper = psql(&server, tunnel.port());
    let runs =
        || server.sql("select count(*) from pg_stat_activity where query = 'select pg_sleep(600)'") == "1\n";
    let said = interrupted(sleeper.args(["-c", "select pg_sleep(600)"]), runs);
    assert!(said.contains("canceling statement due to user request"), "{said}");
    let said = tunnel.near.reported();
    assert!(said.contains("are encrypted and cannot be compressed"), "{said}");
}

fn psql(server: &Postgres, port: u16) -> Command {
    let mut command = server.client_at("psql", port);
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]);
    command
}

/// As text, without the random key that newer versions of `pg_dump` add.
fn dump(server: &Postgres, port: u16, database: &str) -> Vec<u8> {
    let dump = output(server.client_at("pg_dump", port).arg(database));
    let lines = dump.split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| !line.starts_with(b"\\restrict") && !line.starts_with(b"\\unrestrict"));
    kept.collect::<Vec<_>>().concat()
}

/// A few megabytes of text with and without repetitions, numbers, binary and nulls.
const TABLE: &str = "create table orders as select id, 'customer ' || id % 97 as customer, md5(id::text) as reference, \
    id * 1.25 as amount, timestamp '2026-11-21 08:00' + id * interval '1 minute' as at, \
    decode(md5((id * 7)::text), 'hex') as body, case when id % 3 = 0 then repeat('a remark ', id % 40) end as remark \
    from generate_series(1, 10000) id; alter table orders add primary key (id)";
