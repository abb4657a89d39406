use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::{Account, Error, Readiness, Running, ServerHost, ServerPlace, files, program};

/// Authentication over TCP; clients of the Unix socket are trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    #[default]
    Trust,
    Md5,
    ScramSha256,
}

/// PEM files, readable by the server's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authority that signed the certificate.
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Configuration of a PostgreSQL server.
///
/// Data are not durable (`fsync`, `synchronous_commit` and `full_page_writes` are off): they are
/// deleted after the run, and disk time would distort every figure. `settings` may override this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresConfig {
    pub authentication: Authentication,
    /// The superuser's password, if required.
    pub password: Option<String>,
    /// A database to create besides `postgres`.
    pub database: Option<String>,
    pub tls: Option<TlsFiles>,
    /// Lines of `postgresql.conf`, overriding all others.
    pub settings: Vec<(String, String)>,
}

impl PostgresConfig {
    pub const USER: &str = "postgres";

    pub fn account() -> Result<Account, Error> {
        Account::unprivileged("postgres")
    }

    /// Creates the data directory, starts the server and returns when it accepts connections.
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, Error> {
        let account = Self::account()?;
        let data = place.directory.join("data");
        files::make_directory(place.directory, account)?;
        if !data.exists() {
            Self::initialise(place.directory, place.host)?;
        }
        self.configure(&data, place, account)?;
        let mut command = Command::new(require("postgres")?);
        command.arg("-D").arg(&data).current_dir("/");
        // SIGQUIT: PostgreSQL's immediate shutdown, which also ends its children.
        let ready = Readiness::Log(READY.to_owned());
        let running = Running::start(command, place, account, libc::SIGQUIT, &ready)?;
        self.introduce(place, account)?;
        Ok(running)
    }

    /// Creates the data directory in `directory`, owned by the account. [`Self::start`] does this
    /// if needed.
    ///
    /// # Errors
    /// Fails if `initdb` is missing or fails.
    pub fn initialise(directory: &Path, host: &dyn ServerHost) -> Result<(), Error> {
        let mut command = Command::new(require("initdb")?);
        command.args([
            "--no-sync",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--wal-segsize=1",
        ]);
        command
            .arg(format!("--username={}", Self::USER))
            .arg("-D")
            .arg(directory.join("data"))
            .current_dir("/");
        process::run(command, host, Self::account()?).map(|_| ())
    }

    fn configure(&self, data: &Path, place: &ServerPlace<'_>, account: Account) -> Result<(), Error> {
        let (method, encryption) = match self.authentication {
            Authentication::Trust => ("trust", "scram-sha-256"),
            Authentication::Md5 => ("md5", "md5"),
            Authentication::ScramSha256 => ("scram-sha-256", "scram-sha-256"),
        };
        let mut settings = vec![
            ("listen_addresses", place.listen.to_string()),
            ("port", place.port.to_string()),
            ("unix_socket_directories", place.directory.display().to_string()),
            ("password_encryption", encryption.to_owned()),
        ];
        settings.extend(
            NOT_DURABLE
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        if let Some(tls) = &self.tls {
            settings.push(("ssl", "on".to_owned()));
            settings.push(("ssl_cert_file", tls.certificate.display().to_string()));
            settings.push(("ssl_key_file", tls.key.display().to_string()));
        }
        let given = self
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        let lines: String = settings
            .into_iter()
            .chain(given)
            .map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''")))
            .collect();
        files::write(&data.join("postgresql.conf"), &lines, account)?;
        let access = format!("local all all trust\nhost all all 0.0.0.0/0 {method}\n");
        files::write(&data.join("pg_hba.conf"), &access, account)
    }

    fn introduce(&self, place: &ServerPlace<'_>, account: Account) -> Result<(), Error> {
        let mut statements = Vec::new();
        if let Some(password) = &self.password {
            let password = password.replace('\'', "''");
            statements.push(format!("alter role {} password '{password}'", Self::USER));
        }
        if let Some(database) = &self.database {
            statements.push(format!("create database \"{}\"", database.replace('"', "\"\"")));
        }
        statements
            .iter()
            .try_for_each(|statement| sql(place, account, statement).map(|_| ()))
    }
}

/// Runs a statement as superuser over the Unix socket; returns psql's unaligned rows.
fn sql(place: &ServerPlace<'_>, account: Account, statement: &str) -> Result<String, Error> {
    let mut command = Command::new(program::require("psql", "postgresql-client")?);
    command
        .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement])
        .args(["-d", "postgres", "-U", PostgresConfig::USER])
        .arg("-h")
        .arg(place.directory)
        .args(["-p", &place.port.to_string()])
        .current_dir("/");
    process::run(command, place.host, account)
}

fn require(program: &str) -> Result<PathBuf, Error> {
    program::require(program, "postgresql")
}

const READY: &str = "database system is ready to accept connections";
const NOT_DURABLE: [(&str, &str); 6] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("shared_buffers", "32MB"),
    ("max_connections", "600"),
    ("lc_messages", "C"),
];
