//! Starts, sets up and stops a lab's services.

mod directory;
mod settings;

pub use settings::{ServiceSettings, SettingFault};

use super::config::{CommandLine, Lab, ReadinessCheck, Service, ServiceKind};
use super::wiring::Wiring;
use anyhow::{Context, Result, bail};
use directory::ServiceDirectory;
use netns::network::{HostId, Network};

use report::outcome::LabProcessor;
use servers::command::CommandServer;
use servers::mariadb::MariaDbConfig;
use servers::nginx::Nginx;
use servers::php_fpm::PhpFpm;
use servers::postgres::{Authentication, PostgresConfig};
use servers::processes::Processes;
use servers::{Account, Readiness, Running, ServerHost, ServerPlace};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stopped on drop in reverse order; their files are removed.
pub struct RunningServices {
    // Drop order: servers stop before their files are removed.
    running: Vec<Started>,
    _directory: ServiceDirectory,
}

impl RunningServices {
    /// # Errors
    /// If a service has exited; includes the tail of its log.
    pub fn check(&mut self) -> Result<()> {
        self.running
            .iter_mut()
            .try_for_each(|one| Ok(one.running.check()?))
    }

    /// CPU time of each service, including exited processes.
    pub fn processor_times(&self) -> Vec<LabProcessor> {
        let processes = Processes::now();
        let used = |one: &Started| LabProcessor {
            service: one.service.clone(),
            host: one.host.clone(),
            time: processes.time_of(one.running.process_id()),
        };
        self.running.iter().map(used).collect()
    }

    /// CPU time since `before`.
    pub fn processor_times_since(&self, before: &[LabProcessor]) -> Vec<LabProcessor> {
        let mut times = self.processor_times();
        for (now, before) in times.iter_mut().zip(before) {
            now.time = now.time.saturating_sub(before.time);
        }
        times
    }
}

struct Started {
    service: String,
    host: String,
    running: Running,
}

impl Drop for RunningServices {
    fn drop(&mut self) {
        while self.running.pop().is_some() {}
    }
}

/// Starts services in order and completes each set-up before the next start. `directory` is the
/// lab's own.
///
/// # Errors
/// If a program is missing, a service does not get ready, or a set-up command fails. Started
/// services are stopped.
pub fn start(lab: &Lab, wiring: &Wiring, directory: &Path, say: &dyn Fn(&str)) -> Result<RunningServices> {
    let home = std::path::absolute(directory)?;
    let mut services = RunningServices {
        running: Vec::new(),
        _directory: ServiceDirectory::make(&home)?,
    };
    let files = &services._directory;
    for service in &lab.services {
        let starting = Starting {
            lab,
            wiring,
            service,
            settings: settings(service)?,
            host: LabHost(wiring.network(), wiring.host(&service.host)),
            directory: files.path_of(&service.name),
            files,
            home: &home,
        };
        say(&format!("starting {} ({})", service.name, service.kind.name()));
        let running = starting.start()?;
        services.running.push(Started {
            service: service.name.clone(),
            host: service.host.clone(),
            running,
        });
        for (number, line) in service.setup.iter().enumerate() {
            say(&match service.setup.len() {
                1 => format!("setting up {}", service.name),
                all => format!("setting up {} ({} of {all})", service.name, number + 1),
            });
            starting.set_up(line)?;
        }
    }
    Ok(services)
}

/// Checked when the file was parsed.
fn settings(service: &Service) -> Result<ServiceSettings> {
    ServiceSettings::parse(service.kind, &service.settings)
        .map_err(|fault| anyhow::anyhow!("[services.{}]: {}", service.name, fault.what))
}

struct LabHost<'a>(&'a Network, HostId);

impl ServerHost for LabHost<'_> {
    fn prepare_command(&self, command: &mut Command) {
        self.0.run_in(self.1, command);
    }

    fn connect(&self, port: u16) -> std::io::Result<TcpStream> {
        self.0
            .within(self.1, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)))
    }
}

struct Starting<'a> {
    lab: &'a Lab,
    wiring: &'a Wiring,
    service: &'a Service,
    settings: ServiceSettings,
    host: LabHost<'a>,
    directory: PathBuf,
    files: &'a ServiceDirectory,
    home: &'a Path,
}

impl Starting<'_> {
    fn start(&self) -> Result<Running> {
        let name = format!("{} ({})", self.service.name, self.service.kind.name());
        let place = self.place(&name);
        let mut running = match &self.settings {
            ServiceSettings::Postgres {
                password,
                database,
                own,
                ..
            } => PostgresConfig {
                authentication: match password {
                    Some(_) => Authentication::ScramSha256,
                    None => Authentication::Trust,
                },
                password: password.clone(),
                database: database.clone(),
                tls: None,
                settings: own.clone(),
            }
            .start(&place),
            ServiceSettings::Mariadb {
                user, database, own, ..
            } => MariaDbConfig {
                user: user.clone(),
                database: database.clone(),
                tls: None,
                settings: own.clone(),
            }
            .start(&place),
            ServiceSettings::Nginx {
                root,
                php,
                directives,
                ..
            } => Nginx {
                root: self.path(root)?,
                php: php.as_deref().map(|php| self.php_address(php)).transpose()?,
                directives: directives.clone(),
            }
            .start(&place),
            ServiceSettings::PhpFpm { workers, port, own } => PhpFpm {
                workers: *workers,
                listens_on_tcp: port.is_some(),
                settings: own.clone(),
                environment: self.service.environment.clone(),
            }
            .start(&place),
            ServiceSettings::Command => return self.start_command(&place),
        }?;
        if let Some(readiness) = self.readiness()? {
            running.wait(&readiness, &place)?;
        }
        Ok(running)
    }

    fn place<'a>(&'a self, name: &'a str) -> ServerPlace<'a> {
        ServerPlace {
            name,
            host: &self.host,
            directory: &self.directory,
            listen: Ipv4Addr::UNSPECIFIED,
            port: self.settings.port().unwrap_or_default(),
            ready_within: self.service.ready_timeout,
        }
    }

    fn start_command(&self, place: &ServerPlace<'_>) -> Result<Running> {
        let command = self.service.command.as_ref().context("the command is missing")?;
        let server = CommandServer {
            words: command.words.clone(),
            environment: self.environment(),
            directory: Some(self.lab.home.clone()),
            readiness: self.readiness()?.unwrap_or(Readiness::Running),
            user: None,
        };
        Ok(server.start(place)?)
    }

    /// Uses the check of the file.
    fn readiness(&self) -> Result<Option<Readiness>> {
        let readiness = match &self.service.ready {
            None => return Ok(None),
            Some(ReadinessCheck::Port(port)) => Readiness::Port(*port),
            Some(ReadinessCheck::Url(url)) => {
                let target = sys::Target::parse(url)?;
                let path = target.database.unwrap_or_default();
                Readiness::Http {
                    port: target.port,
                    path: format!("/{path}"),
                }
            }
            Some(ReadinessCheck::Command(line)) => Readiness::Command(line.words.clone()),
        };
        Ok(Some(readiness))
    }

    /// Runs with the caller's privileges.
    fn set_up(&self, line: &CommandLine) -> Result<()> {
        let Some((program, arguments)) = line.words.split_first() else {
            bail!(
                "[services.{}]: a command of its setup is empty",
                self.service.name
            );
        };
        let program = servers::program::find(program).unwrap_or_else(|| program.into());
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.environment())
            .current_dir(&self.lab.home);
        servers::process::run(command, &self.host, Account::Own)
            .map(|_| ())
            .with_context(|| format!("could not set up {}", self.service.name))
    }

    fn environment(&self) -> Vec<(String, String)> {
        let directory = self.directory.display().to_string();
        let mut environment = vec![
            ("LONGWIRE_LAB_DIRECTORY", self.home.display().to_string()),
            ("LONGWIRE_SERVICE_DIRECTORY", directory.clone()),
            ("LONGWIRE_PROGRAM", own_program()),
            ("PATH", path_with_servers()),
        ];
        match &self.settings {
            ServiceSettings::Postgres { port, database, .. } => {
                let database = database
                    .clone()
                    .unwrap_or_else(|| PostgresConfig::USER.to_owned());
                environment.extend([
                    ("PGHOST", directory),
                    ("PGPORT", port.to_string()),
                    ("PGUSER", PostgresConfig::USER.to_owned()),
                    ("PGDATABASE", database),
                ]);
            }
            ServiceSettings::Mariadb { port, .. } => {
                let socket = MariaDbConfig::socket(&self.directory);
                environment.extend([
                    ("MYSQL_UNIX_PORT", socket.display().to_string()),
                    ("MYSQL_TCP_PORT", port.to_string()),
                ]);
            }
            ServiceSettings::Nginx { .. } | ServiceSettings::PhpFpm { .. } | ServiceSettings::Command => {}
        }
        let own = self.service.environment.iter().cloned();
        environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(own)
            .collect()
    }

    /// Relative to the lab's file; `NAME:PATH` is relative to the private directory of service
    /// NAME.
    fn path(&self, text: &str) -> Result<PathBuf> {
        let service = text
            .split_once(':')
            .filter(|(name, _)| self.lab.services.iter().any(|service| service.name == *name));
        let path = match service {
            Some((name, path)) => self.files.path_of(name).join(path),
            None => self.lab.home.join(text),
        };
        std::path::absolute(&path).with_context(|| format!("{} is no path", path.display()))
    }

    /// Address of service `name`: a Unix socket on the same host, or a port.
    fn php_address(&self, name: &str) -> Result<String> {
        let found = self.lab.services.iter().find(|service| service.name == name);
        if let Some(php) = found.filter(|service| service.kind == ServiceKind::PhpFpm) {
            if let Some(port) = settings(php)?.port() {
                return Ok(format!("{}:{port}", self.wiring.address(&php.host)));
            }
            if php.host == self.service.host {
                return Ok(PhpFpm::socket(&self.files.path_of(name)).display().to_string());
            }
        }
        bail!(
            "[services.{}]: settings.php is '{name}': name a service with kind = \"php-fpm\" on the same host, or one with \
             settings.port",
            self.service.name
        )
    }
}

/// For services that run longwire.
fn own_program() -> String {
    let path = std::env::current_exe();
    path.map_or_else(|_| "longwire".to_owned(), |path| path.display().to_string())
}

/// `PATH`, followed by usual directories of server programs.
fn path_with_servers() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    ["initdb", "mariadbd"]
        .iter()
        .filter_map(|program| servers::program::find(program)?.parent().map(Path::to_owned))
        .fold(path, |path, directory| format!("{path}:{}", directory.display()))
}
