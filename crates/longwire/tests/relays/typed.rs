//! Records name the command line as it was typed, without its secrets.

use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use testbed::binary::{csv, longwire, of_type, program, records_among, shown};
use testbed::postgres::PostgresAuth;
use testbed::{Postgres, Started};

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/captures/pgjdbc4274-pg15-trust.pcap"
);

/// `$U` is a URL with a password, `$C` a capture, `$E` the address of an echo.
const ENDING: [&str; 23] = [
    "read --json $C",
    "read $C --json --operations 'gap:50ms'",
    "-q read $C --exchanges --json",
    "predict --json $C --rtt 10ms,40ms --on redis",
    "predict $C --json --on mssql,10.0.0.1:5432 --clients 1,4",
    "check $C --max-round-trips 100000 --json",
    "ping $U -n 2 -i 1ms --timeout 2s --json",
    "ping --json -c 1 tcp://$E",
    "ping $U --count=1 --prepared --statement 'select 1' --json",
    "ping $U --rows 3 --json",
    "echo $E -T 20ms --request 16,64 --json",
    "watch $U --rtt 40ms --rate 10mbit --json -- true",
    "watch --json --operations transaction $U -- sh -c 'MYSQL_PWD=$S app; exit 0'",
    "watch $U --json -- env PGPASSWORD=$S true --token $S -p 8080",
    "relay $U --link 'rtt=1ms' --json --listen 127.0.0.1:0 -- true",
    "load $U -c 2 -t 3 --ramp 1ms --timeout 5s --statement 'select 1' --json",
    "load --json -n 4 -D id=5 -D token=$S --statement 'select :id' $U",
    "load -t 1 -CDid=5 --define=id=5 --sql 'show server_version' $U --json",
    "read $C --json --html 'page with 5 rows.html'",
    "read --keep-literals $C --json --html 'page with 5 rows.html'",
    "tunnel advise $C --rate 10mbit --rtt 20ms --json",
    "demo --json",
    "link 5ms --json -- sh -c 'exit 0'",
];

const INTERRUPTED: [(&str, &str); 2] = [
    ("relay --api 127.0.0.1:0 --json --seed 7", "toxiproxy's API"),
    (
        "tunnel far --to $E --listen 127.0.0.1:0 --json --level 3",
        "listens on",
    ),
];

const SECRET: &str = "Hidden7word";

const LITERALS: [(&str, &str); 3] = [
    ("'select 1'", "'select ***'"),
    ("id=5", "id=***"),
    ("with 5 rows", "with *** rows"),
];

struct Typed {
    server: Postgres,
    echo: String,
    /// For the files that commands write.
    folder: TempDir,
    _listener: Started,
}

impl Typed {
    fn new() -> Self {
        let mut command = longwire(&["echo", "--listen", "127.0.0.1:0"]);
        let (listener, address) = Started::listening(&mut command, "listens on ");
        Self {
            server: Postgres::options().auth(PostgresAuth::Md5).start(),
            echo: address.to_string(),
            folder: tempfile::tempdir().expect("a directory"),
            _listener: listener,
        }
    }

    fn line(&self, line: &str, url: &str, secret: &str) -> String {
        let line = line.replace("$U", url).replace("$C", CAPTURE);
        line.replace("$E", &self.echo).replace("$S", secret)
    }

    fn command(&self, line: &str) -> Command {
        let script = self.line(line, &self.server.url(), SECRET);
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("exec {} {script}", program().display()));
        command.current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    #[track_caller]
    fn assert_recorded(&self, line: &str, output: &Output) {
        let masked = self.server.url().replace(Postgres::PASSWORD, "***");
        // `'gap:50ms'` needs no quotes, and is recorded without.
        let expected = self.line(line, &masked, "***").replace("'gap:50ms'", "gap:50ms");
        let expected = expected.replace("'rtt=1ms'", "rtt=1ms");
        let mut expected = without_arguments(&expected);
        if !line.contains("--keep-literals") {
            for (literal, masked) in LITERALS {
                expected = expected.replace(literal, masked);
            }
        }
        let records = records_among(output);
        let conditions = of_type(&records, "conditions");
        assert!(!conditions.is_empty(), "{line}: {}", shown(output));
        assert_eq!(conditions[0]["command_line"], format!("longwire {expected}"));
        let tables = tables_of(line);
        for record in &records {
            let name = record["type"].as_str().unwrap_or_default();
            assert!(
                tables.iter().any(|table| table == name),
                "{line}: {name} of {tables:?}"
            );
        }
        for secret in [SECRET, Postgres::PASSWORD] {
            assert!(!shown(output).contains(secret), "{line}: {}", shown(output));
        }
    }
}

/// The tables that `--csv` of this command accepts.
fn tables_of(line: &str) -> Vec<String> {
    let mut command = longwire::cli::command();
    for word in line.split(' ') {
        if let Some(found) = command.find_subcommand(word) {
            command = found.clone();
        }
    }
    let csv = command
        .get_arguments()
        .find(|flag| flag.get_long() == Some("csv"));
    let values = csv.expect("it writes tables").get_possible_values();
    values.iter().map(|value| value.get_name().to_owned()).collect()
}

/// Of a command behind `--`, only the program.
fn without_arguments(line: &str) -> String {
    let arguments = line
        .split_once(" -- ")
        .and_then(|(_, command)| command.split_once(' '));
    arguments.map_or_else(
        || line.to_owned(),
        |(_, arguments)| line.replace(arguments, "..."),
    )
}

#[test]
fn commands_record_what_was_typed() {
    let typed = Typed::new();
    for line in ENDING {
        let output = typed.command(line).output().expect("it starts");
        typed.assert_recorded(line, &output);
    }
}

/// Lines of [`ENDING`] by their beginnings, each with a table that has rows.
const TABLES: [(&str, &str); 9] = [
    ("predict --json", "operation"),
    ("check ", "check"),
    ("ping $U -n", "sample"),
    ("ping $U --rows", "rows"),
    ("relay ", "link"),
    ("load $U", "load"),
    ("tunnel advise", "pays"),
    ("demo ", "prediction"),
    ("link ", "link"),
];

#[test]
fn commands_write_tables() {
    let typed = Typed::new();
    for (beginning, table) in TABLES {
        let line = ENDING.iter().find(|line| line.starts_with(beginning));
        let line = line.expect("a line").replace("--json", &format!("--csv {table}"));
        let output = typed.command(&line).output().expect("it starts");
        let rows = csv(&output);
        assert!(!rows.is_empty(), "{line}: {}", shown(&output));
        let found = report::RecordType::find(table).expect("a type");
        for row in rows {
            assert!(found.keys().all(|key| row.contains_key(key)), "{line}: {row:?}");
            for (name, value) in row
                .iter()
                .filter(|(name, value)| name.ends_with("_ns") && !value.is_empty())
            {
                assert!(value.parse::<i64>().is_ok(), "{line}: {name} is {value}");
            }
        }
    }
}

#[test]
fn commands_that_a_signal_ends_record_what_was_typed() {
    let typed = Typed::new();
    for (line, ready) in INTERRUPTED {
        let mut started = Started::heard(&mut typed.command(line));
        started.hears(ready);
        typed.assert_recorded(line, &started.interrupt());
    }
}
