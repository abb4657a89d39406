//! Clients `mariadb` and `mariadb-dump` through a tunnel.

use super::{assert_same, interrupted, output, tunnels_to};
use std::process::{Command, Stdio};
use testbed::MariaDb;

#[test]
fn mariadb_and_mariadb_dump_work_unchanged() {
    let server = MariaDb::options().tls().start();
    server.sql(TABLE);
    let ask = |port: u16, options: &[&str], statement: &str| {
        let mut mariadb = client(&server, port);
        output(mariadb.args(options).args(["--execute", statement]))
    };
    let every_row = "select * from orders order by id";
    let rows = ask(server.port(), &[], every_row);
    let dumped = dump(&server, server.port(), MariaDb::DATABASE);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &rows).expect("it can be written");
    for (level, tunnel) in tunnels_to(server.port()) {
        let port = tunnel.port();
        for options in [
            &["--skip-ssl"][..],
            &["--compress", "--skip-ssl"],
            &["--ssl"],
            &["--compress", "--ssl"],
        ] {
            assert_same(
                &ask(port, options, every_row),
                &rows,
                &format!("rows at level {level} with {options:?}"),
            );
        }
        let load = format!(
            "create table loads like orders; load data local infile '{}' into table loads; select * from loads order by id; drop table loads",
            file.path().display()
        );
        assert_same(
            &ask(port, &["--local-infile=1"], &load),
            &rows,
            &format!("LOAD DATA at level {level}"),
        );
        assert_same(
            &dump(&server, port, MariaDb::DATABASE),
            &dumped,
            &format!("mariadb-dump at level {level}"),
        );
    }
}

#[test]
fn a_dump_is_restored_and_ctrl_c_kills_a_statement() {
    let server = MariaDb::start();
    server.sql(TABLE);
    let (_, tunnel) = tunnels_to(server.port()).swap_remove(0);
    let dumped = dump(&server, tunnel.port(), MariaDb::DATABASE);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &dumped).expect("it can be written");
    server.sql("create database restored");
    let mut restore = server.client_at("mariadb", tunnel.port());
    let restored = restore
        .arg("restored")
        .stdin(Stdio::from(file.reopen().expect("a file")))
        .status();
    assert!(restored.expect("it starts").success());
    assert_same(
        &dump(&server, server.port(), "restored"),
        &dumped,
        "the restored database",
    );

    let mut sleeper = client(&server, tunnel.port());
    let runs = || {
        server.sql("select count(*) from information_schema.processlist where info = 'select sleep(600)'")
            == "1\n"
    };
    let said = interrupted(sleeper.args(["--execute", "select sleep(600)"]), runs);
    assert!(said.contains("interrupted"), "{said}");
}

fn client(server: &MariaDb, port: u16) -> Command {
    let mut command = server.client_at("mariadb", port);
    command.args(["--batch", "--skip-column-names", "--database", MariaDb::DATABASE]);
    command
}

fn dump(server: &MariaDb, port: u16, database: &str) -> Vec<u8> {
    output(
        server
            .client_at("mariadb-dump", port)
            .args(["--skip-comments", database]),
    )
}

/// A few megabytes of text with and without repetitions, and numbers.
const TABLE: &str = "use test; create table orders (id int primary key, customer varchar(40), reference char(32), amount decimal(12,2), \
    remark text) select seq as id, concat('customer ', seq % 97) as customer, md5(seq) as reference, seq * 1.25 as amount, \
    repeat('a remark ', seq % 40) as remark from seq_1_to_10000";
