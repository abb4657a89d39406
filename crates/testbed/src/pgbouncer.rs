use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::postgres::Postgres;
use crate::process::{self, given, launch, private_directory, require};

/// In transaction mode, on a private port of 127.0.0.1, in front of a [`Postgres`].
#[derive(Debug)]
pub struct PgBouncer {
    // Drop order: the server ends before its directory is removed.
    _running: Running,
    _directory: TempDir,
    port: u16,
}

impl PgBouncer {
    /// Uses at most `pool` connections to the database.
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

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Microseconds that clients of `database` have waited for a server connection, as counted by
    /// PgBouncer (`wait_time` of `SHOW STATS_TOTALS`, version 1).
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
