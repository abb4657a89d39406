//! How operations are found: the same flags for every command that reads or watches.

use analysis::hosts::HostSettings;
use analysis::operations::rule::Rule;
use model::Host;
use std::path::PathBuf;

/// How operations are found.
#[derive(Debug, Clone, clap::Args)]
pub struct Grouping {
    /// What an operation is: auto, connection, transaction, gap:50ms, marked, http or whole.
    #[arg(long, default_value = "auto", value_name = "RULE")]
    pub operations: Rule,
    /// Addresses of one machine, such as a web server that serves at one and asks its database from another:
    /// web=10.0.0.5,172.17.0.0/16. Can be given several times. Otherwise inferred from the traffic, and
    /// printed; "none" infers nothing.
    #[arg(long, value_parser = HostChoice::parse, value_name = "NAME=ADDRESS,...")]
    pub host: Vec<HostChoice>,
}

impl Grouping {
    /// The same for what is in `files`: captures may say which addresses their interfaces have, and which
    /// machine sent packets.
    pub fn hosts_in(&self, files: &[PathBuf]) -> HostSettings {
        let hosts = self.hosts();
        if hosts.only_given {
            return hosts;
        }
        HostSettings {
            interfaces: pipeline::input::interfaces(files),
            captures: pipeline::input::captured_addresses(files),
            undecoded: true,
            ..hosts
        }
    }

    /// The same for traffic of this machine, as it passes.
    pub fn hosts_here(&self) -> HostSettings {
        let hosts = self.hosts();
        let own = match hosts.only_given {
            true => Vec::new(),
            false => sys::own_addresses::all(),
        };
        HostSettings { own, ..hosts }
    }

    /// How it is known which addresses are one host.
    pub fn hosts(&self) -> HostSettings {
        let given = self.host.iter().filter_map(|choice| match choice {
            HostChoice::Given(host) => Some(host.clone()),
            HostChoice::None => None,
        });
        HostSettings {
            given: given.collect(),
            only_given: self.host.contains(&HostChoice::None),
            ..HostSettings::default()
        }
    }
}

/// A value of `--host`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostChoice {
    /// These addresses are a host's.
    Given(Host),
    /// Nothing is inferred.
    None,
}

impl HostChoice {
    /// Parses a value.
    ///
    /// # Errors
    /// When it is neither "none" nor a name with addresses.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            text => text
                .parse()
                .map(Self::Given)
                .map_err(|fault: model::ParseHostError| fault.to_string()),
        }
    }
}
