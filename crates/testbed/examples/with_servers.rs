//! Runs a command with a temporary PostgreSQL and MariaDB, for benchmarks and experiments.
//!
//! `cargo run -p longwire-testbed --example with_servers -- psql`
//!
//! The servers are passed in `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`,
//! `MYSQL_HOST`, `MYSQL_TCP_PORT`, `MYSQL_USER`, `MYSQL_PWD`, `MYSQL_DATABASE`. The command's exit
//! status is returned.

use std::process::{Command, ExitCode};

use testbed::{MariaDb, Postgres};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("with_servers: give the command to run with the servers");
        return ExitCode::from(2);
    };
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    let mut command = Command::new(&program);
    command.args(arguments);
    command
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", postgres.port().to_string());
    command
        .env("PGUSER", Postgres::USER)
        .env("PGPASSWORD", Postgres::PASSWORD);
    command.env("PGDATABASE", Postgres::DATABASE);
    command
        .env("MYSQL_HOST", "127.0.0.1")
        .env("MYSQL_TCP_PORT", mariadb.port().to_string());
    command
        .env("MYSQL_USER", MariaDb::USER)
        .env("MYSQL_PWD", MariaDb::PASSWORD);
    command.env("MYSQL_DATABASE", MariaDb::DATABASE);
    match command.status() {
        Ok(status) => ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        ),
        Err(error) => {
            eprintln!("with_servers: {}: {error}", program.display());
            ExitCode::from(2)
        }
    }
}
