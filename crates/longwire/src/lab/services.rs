//! A lab's services.

use super::config::{Lab, Ready, Service, ServiceKind};
use super::wiring::Wiring;
use anyhow::{Context, Result, bail};
use live::network::{HostId, Network};
use servers::{Host, Place, Readiness, Running};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;

/// The services of a lab; they end when it is dropped.
pub struct RunningServices {
    running: Vec<Running>,
}

impl RunningServices {
    /// # Errors
    /// When one of them has ended.
    pub fn check(&mut self) -> Result<()> {
        for one in &mut self.running {
            one.check()?;
        }
        Ok(())
    }
}

struct There<'a>(&'a Network, HostId);

impl Host for There<'_> {
    fn place(&self, command: &mut Command) {
        self.0.run_in(self.1, command);
    }
    fn connect(&self, port: u16) -> std::io::Result<TcpStream> {
        self.0
            .within(self.1, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)))
    }
}

/// # Errors
/// When one does not get ready.
pub fn start(lab: &Lab, wiring: &Wiring, _directory: &Path, say: &dyn Fn(&str)) -> Result<RunningServices> {
    let mut services = RunningServices { running: Vec::new() };
    for service in &lab.services {
        say(&format!("starting {}", service.name));
        let host = There(wiring.network(), wiring.host(&service.host));
        let directory = std::env::temp_dir().join(format!("lw-{}-{}", std::process::id(), service.name));
        let place = Place {
            name: &service.name,
            host: &host,
            directory: &directory,
            listen: Ipv4Addr::UNSPECIFIED,
            port: 5432,
            ready_within: service.ready_timeout,
        };
        let one = start_one(service, &place).with_context(|| format!("could not start {}", service.name))?;
        services.running.push(one);
        for setup in &service.setup {
            let mut command = Command::new(&setup.words[0]);
            command
                .args(&setup.words[1..])
                .current_dir(&lab.home)
                .env("PGUSER", "postgres")
                .env("PGHOST", "127.0.0.1");
            host.place(&mut command);
            let out = command.output()?;
            if !out.status.success() {
                bail!(
                    "setup of {}: {}",
                    service.name,
                    String::from_utf8_lossy(&out.stderr)
                );
            }
        }
    }
    Ok(services)
}

fn start_one(service: &Service, place: &Place<'_>) -> Result<Running> {
    match service.kind {
        ServiceKind::Postgres => Ok(servers::postgres::Postgres::default().start(place)?),
        ServiceKind::Command => {
            let readiness = match &service.ready {
                Some(Ready::Port(port)) => Readiness::Port(*port),
                Some(Ready::Command(command)) => Readiness::Command(command.words.clone()),
                _ => Readiness::Running,
            };
            let words = service
                .command
                .clone()
                .map(|command| command.words)
                .unwrap_or_default();
            Ok(servers::command::CommandServer {
                words,
                environment: vec![],
                readiness,
                user: None,
            }
            .start(place)?)
        }
        _ => bail!("not yet"),
    }
}
