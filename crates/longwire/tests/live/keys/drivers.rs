use super::{MARK, Run, VERSIONS, assert_written, mariadb, opens, postgres};
use std::path::Path;
use std::process::Command;
use testbed::binary::{shown, stderr};
use testbed::{Capture, JavaProgram, MariaDb, Postgres, java, python, require};

/// Three drivers in one process: psycopg with its wheel's OpenSSL; asyncpg and PyMySQL with
/// Python's.
const PYTHON: &str = r#"
import asyncio, ssl, sys
import asyncpg, psycopg, pymysql
pg, my, mark = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
statement = f"select '{mark}'"
user = dict(host="127.0.0.1", port=pg, user="postgres")
with psycopg.connect(dbname="postgres", sslmode="require", **user) as connection:
    connection.execute(statement)

def unverified():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context

async def ask():
    connection = await asyncpg.connect(database="postgres", ssl=unverified(), **user)
    await connection.execute(statement)
    await connection.close()
asyncio.run(ask())

# A context of the program's own making: Python itself writes no keys of it.
own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
own.check_hostname, own.verify_mode = False, ssl.CERT_NONE
for context in (unverified(), own):
    connection = pymysql.connect(host="127.0.0.1", port=my, user="longwire", password="longwire-secret", ssl=context)
    connection.cursor().execute(statement)
    connection.close()
"#;

#[test]
fn keys_of_pythons_drivers_open_their_connections() {
    let programs = python::environment(&["psycopg[binary]==3.2.13", "asyncpg==0.30.0", "PyMySQL==1.1.1"]);
    for (version, label) in VERSIONS {
        let (pg, my, run) = (postgres(version), mariadb(version), Run::new());
        let captures = (Capture::start(pg.port()), Capture::start(my.port()));
        let mut program = Command::new(programs.join("python3"));
        program.args(["-c", PYTHON, &pg.port().to_string(), &my.port().to_string(), MARK]);
        assert_written(&run.run_program(&program), 4, &run);
        assert_eq!(run.sessions(label), 4, "{version}");
        opens(&run, captures.0, pg.port(), "pgsql", 2);
        opens(&run, captures.1, my.port(), "mysql", 2);
    }
}

#[test]
fn keys_of_javas_drivers_open_their_connections_with_an_agent() {
    let jars = java::jars(&[
        "org.postgresql:postgresql:42.7.4",
        "org.mariadb.jdbc:mariadb-java-client:3.5.1",
        "name.neykov:extract-tls-secrets:4.0.0",
    ]);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/keys/AskOnce.java");
    let program = JavaProgram::compile(source.as_ref(), &jars[..2]);
    for (version, _) in VERSIONS {
        let (pg, my) = (postgres(version), mariadb(version));
        let mut run = Run::new();
        run.options = vec!["--java-agent".to_owned(), jars[2].display().to_string()];
        let captures = (Capture::start(pg.port()), Capture::start(my.port()));
        let mut java = program.command(&jars[..2]);
        let statement = format!("select '{MARK}'");
        java.arg(&statement);
        let (port, user, password) = (pg.port(), Postgres::USER, Postgres::PASSWORD);
        java.arg(format!(
            "jdbc:postgresql://127.0.0.1:{port}/postgres?user={user}&password={password}&sslmode=require"
        ));
        let (port, user, password) = (my.port(), MariaDb::USER, MariaDb::PASSWORD);
        java.arg(format!(
            "jdbc:mariadb://127.0.0.1:{port}/test?user={user}&password={password}&sslMode=trust"
        ));
        let output = run.run_program(&java);
        if version == "TLSv1.2" {
            assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
            // The servers send no session identifiers, so the agent uses Java's.
            let lines = run.lines();
            let by_identifier = lines.iter().filter(|line| line.starts_with("RSA Session-ID:"));
            assert_eq!((by_identifier.count(), lines.len()), (2, 2));
            for capture in [captures.0, captures.1] {
                assert_eq!(lengths_of_session_identifiers(&capture.stop().path()), "0\n");
            }
            assert!(
                stderr(&output).contains("keys.log has other lines"),
                "{}",
                shown(&output)
            );
            continue;
        }
        assert_written(&output, 2, &run);
        opens(&run, captures.0, pg.port(), "pgsql", 1);
        opens(&run, captures.1, my.port(), "mysql", 1);
    }
}

fn lengths_of_session_identifiers(capture: &Path) -> String {
    let mut tshark = Command::new(require("tshark"));
    tshark.arg("-r").arg(capture);
    tshark.args(["-Y", "tls.handshake.type == 2", "-T", "fields"]);
    tshark.args(["-e", "tls.handshake.session_id_length"]);
    testbed::process::run(tshark)
}
