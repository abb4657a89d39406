//! A PgBouncer of a test's own.

use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::postgres::Postgres;
use crate::process::{self, given, launch, private_directory, require};

/// A running PgBouncer on a private port of 127.0.0.1, in transaction mode, in front of a [`Postgres`]; gone
/// when dropped.
#[derive(Debug)]
pub struct PgBouncer {
    // Dropped in this order: the server ends before its directory goes.
    _running: Running,
    _directory: TempDir,
    port: u16,
}

impl PgBouncer {
    /// Starts one that asks the database over at most `pool` connections at a time.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start(database: &Postgres, pool: u32) -> Self {
        let program = require("pgbouncer").display().to_string();
        // PgBouncer refuses to run as root.
        let directory = private_directory(given(servers::postgres::PostgresConfig::account()));
        let file = directory.path().join("pgbouncer.ini");
        let (running, port) = launch("PgBouncer", directory.path(), |place| {
            let settings = format!(
                "[databases]\n{name} = host=127.0.0.1 port={behind} dbname={name} user={user}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nunix_socket_dir =\nauth_type = any\nadmin_users = {user}\npool_mode = transaction\n\
                 default_pool_size = {pool}\n",
                name = Postgres::DATABASE,
                user = Postgres::USER,
                behind = database.port(),
                port = place.port,
            );
            std::fs::write(&file, settings).unwrap_or_else(|error| panic!("settings of PgBouncer: {error}"));
            let server = CommandServer {
                words: vec![program.clone(), file.display().to_string()],
                environment: Vec::new(),
                directory: None,
                readiness: Readiness::Port(place.port),
                user: Some("postgres".to_owned()),
            };
            server.start(place)
        });
        Self {
            _running: running,
            _directory: directory,
            port,
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The microseconds that clients of `database` waited for a connection to it so far, by PgBouncer's own
    /// count (`wait_time` of `SHOW STATS_TOTALS`).
    ///
    /// # Panics
    /// With psql's message, or when PgBouncer counts otherwise than version 1.
    pub fn waited(&self, database: &Postgres) -> u64 {
        let mut command = database.client_at("psql", self.port);
        command.env("PGDATABASE", "pgbouncer");
        command.args(["-X", "-x", "-A", "-t", "-c", "SHOW STATS_TOTALS"]);
        let said = process::run(command);
        let of_database = said
            .split("\n\n")
            .find(|record| record.contains(&format!("database|{}", Postgres::DATABASE)));
        let line =
            of_database.and_then(|record| record.lines().find_map(|line| line.strip_prefix("wait_time|")));
        line.and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no wait_time: {said}"))
    }
}
