//! Programs without waste have no findings, even if their work resembles waste.

use crate::findings::stage::{ITEMS, MYSQL_URL, PGJDBC_URL, Stage};
use crate::findings::{done, longwire, of_type, records};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use testbed::process::free_port;
use testbed::{Capture, MariaDb, Redis};

type Alarms = String;

#[test]
fn well_behaved_programs_have_no_finding() {
    let stage = Stage::set();
    let redis = Redis::start();
    let folder = tempfile::tempdir().expect("a directory");
    let programs = programs(&stage, &redis, folder.path());
    let alarms: Vec<Alarms> = std::thread::scope(|scope| {
        // Running all at once would slow each one down and change its behaviour.
        let (ours, others) = programs.split_at(programs.len() / 2);
        let other = scope.spawn(|| others.iter().map(Program::alarms).collect::<Vec<_>>());
        let mut alarms: Vec<Alarms> = ours.iter().map(Program::alarms).collect();
        alarms.extend(other.join().expect("they ran"));
        alarms
    });
    assert!(alarms.iter().all(String::is_empty), "{}", alarms.concat());
}

/// Both the web side and database side, and the database side alone.
#[test]
fn pages_of_one_statement_each_over_a_pool_have_no_finding() {
    let stage = Stage::set();
    let folder = tempfile::tempdir().expect("a directory");
    let recording = folder.path().join("pages.lwr").display().to_string();
    let port = free_port();
    let capture = Capture::start_ports(&[port, stage.postgres.port()]);
    let mut watch = longwire(&[
        "watch",
        "--json",
        "-o",
        &recording,
        "--rtt",
        "40ms",
        &stage.postgres.url(),
        "--",
    ]);
    let database = records(&done(watch.args(stage.pages(port, 25))));
    assert_eq!(alarms("pages, from the database's side", &database), "");
    let capture = capture.stop();
    let read = longwire(&["read", "--json", "--rtt", "40ms"])
        .arg(capture.path())
        .output()
        .expect("it starts");
    let both = records(&read);
    let pages = of_type(&both, "operation");
    let pages = pages.iter().filter(|operation| operation["kind"] == "http");
    assert_eq!(pages.count(), 75);
    assert_eq!(alarms("pages, seen whole", &both), "");
}

struct Program {
    name: &'static str,
    target: String,
    words: Vec<String>,
}

impl Program {
    fn shell(name: &'static str, target: String, script: String) -> Self {
        let words = vec!["sh".to_owned(), "-ec".to_owned(), script];
        Self { name, target, words }
    }

    fn alarms(&self) -> Alarms {
        let mut watch = longwire(&["watch", "--json", "--rtt", "40ms", &self.target, "--"]);
        let seen = records(&done(watch.args(&self.words)));
        assert!(
            !of_type(&seen, "connection").is_empty(),
            "{}: nothing was seen",
            self.name
        );
        alarms(self.name, &seen)
    }
}

fn alarms(name: &str, seen: &[Value]) -> Alarms {
    let findings = of_type(seen, "finding");
    findings.iter().fold(String::new(), |mut lines, finding| {
        writeln!(lines, "{name}: {finding}").expect("a string takes all");
        lines
    })
}

fn programs(stage: &Stage, redis: &Redis, folder: &Path) -> Vec<Program> {
    let postgres = |name, script| Program::shell(name, stage.postgres.url(), script);
    let mariadb = |name, script| Program::shell(name, stage.mariadb.url(), script);
    let cli = |name, script| Program::shell(name, redis.url(), script);
    let path = |name: &str| folder.join(name).display().to_string();
    let (rows, items) = (path("rows.tsv"), path("items.tsv"));
    let (pipelined, commands) = (path("pipelined.pgbench"), path("commands"));
    stage.postgres.sql("create table copies (like items)");
    stage
        .mariadb
        .sql("use test; create table loads like items; grant all on *.* to 'longwire'@'%'");
    let lines: String = (0..5000).map(|id| format!("{id}\titem {id}\n")).collect();
    let sets: String = (0..2000)
        .map(|id| format!("set key:{id} 'value {id}'\n"))
        .collect();
    std::fs::write(&rows, lines).expect("it can be written");
    std::fs::write(&commands, sets).expect("it can be written");
    std::fs::write(&pipelined, PIPELINED).expect("it can be written");
    let keys: Vec<String> = (0..200).map(|id| format!("key:{id}")).collect();
    stage.postgres.sql(&format!("create table pgbench_accounts as select id aid, 0 abalance from generate_series(1, {ITEMS}) id; \
        alter table pgbench_accounts add primary key (aid); create table pgbench_branches (bid int); insert into pgbench_branches values (1)"));
    vec![
        postgres("COPY out", format!("{PSQL} -c '\\copy items to {items}'")),
        postgres("COPY in", format!("{PSQL} -c '\\copy copies from {rows}'")),
        postgres("a large select", format!("{PSQL} -c 'select * from generate_series(1, 50000)' > /dev/null")),
        postgres("pipelined pgbench", format!("pgbench -n -M extended -t 40 -f {pipelined} > /dev/null")),
        postgres("pgbench -S -M prepared", "pgbench -n -S -M prepared -c 2 -t 100 > /dev/null 2>&1".to_owned()),
        Program {
            name: "pgjdbc batch with reWriteBatchedInserts",
            target: stage.postgres.url(),
            words: stage.jdbc(&[["", "batch", "500", &format!("{PGJDBC_URL}&reWriteBatchedInserts=true")]]),
        },
        mariadb("LOAD DATA", format!("{} --local-infile=1 -e \"load data local infile '{rows}' into table loads\"", mariadb_client())),
        mariadb("a large select of MariaDB", format!("{} -e 'select * from seq_1_to_50000' > /dev/null", mariadb_client())),
        Program {
            name: "Connector/J batch with rewriteBatchedStatements",
            target: stage.mariadb.url(),
            words: stage.jdbc(&[["", "batch", "500", &format!("{MYSQL_URL}&rewriteBatchedStatements=true")]]),
        },
        cli("a pipeline of Redis", format!("redis-cli -h $LONGWIRE_HOST -p $LONGWIRE_PORT --pipe < {commands} > /dev/null")),
        cli("pipelines of 16", "redis-benchmark -h $LONGWIRE_HOST -p $LONGWIRE_PORT -c 2 -n 2000 -P 16 -t get,set -q > /dev/null".to_owned()),
        cli("MGET", format!("redis-cli -h $LONGWIRE_HOST -p $LONGWIRE_PORT mget {} > /dev/null", keys.join(" "))),
    ]
}

fn mariadb_client() -> String {
    let (user, database) = (MariaDb::USER, MariaDb::DATABASE);
    format!(
        "mariadb --no-defaults --protocol=tcp --host=$MYSQL_HOST --port=$MYSQL_TCP_PORT --user={user} {database}"
    )
}

const PSQL: &str = "psql -X -q -v ON_ERROR_STOP=1";

const PIPELINED: &str = "\\startpipeline\nselect name from items where id = 1;\nselect name from items where id = 2;\n\
    select count(*) from items;\nselect max(id) from items;\nselect name from items where id = 5;\n\\endpipeline\n";
