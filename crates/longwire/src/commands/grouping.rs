//! Flags that choose operations, the same for every command that reads or watches.

use analysis::hosts::{HostChoice, HostSettings};
use analysis::operations::rule::Rule;
use pipeline::aggregator::AggregatorConfig;
use pipeline::input;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub struct Grouping {
    /// Rule for operations: auto, connection, transaction, gap:50ms, marked, http or whole.
    #[arg(long, default_value = "auto", value_name = "RULE")]
    pub operations: Rule,
    /// Addresses of one machine, such as those of a web server: web=10.0.0.5,172.17.0.0/16. Can be
    /// repeated. Without it they are inferred from the traffic and printed; "none" infers nothing.
    #[arg(long, value_parser = HostChoice::parse, value_name = "NAME=ADDRESS,...")]
    pub host: Vec<HostChoice>,
}

impl Grouping {
    pub fn config_for(&self, files: &[PathBuf]) -> AggregatorConfig {
        AggregatorConfig {
            rule: self.operations,
            hosts: self.hosts_in(files),
            statements_alone: input::are_of_load(files),
            files: (files.len() > 1).then(input::RunFiles::default),
            ..AggregatorConfig::default()
        }
    }

    /// Settings for `files`: captures may name the addresses of their interfaces and the machine
    /// that sent a packet.
    pub fn hosts_in(&self, files: &[PathBuf]) -> HostSettings {
        let hosts = self.hosts();
        if hosts.only_given {
            return hosts;
        }
        let machines = input::machines(files);
        HostSettings {
            interfaces: machines.interfaces,
            captures: machines.senders,
            undecoded: true,
            ..hosts
        }
    }

    /// Settings for live traffic of this machine.
    pub fn hosts_here(&self) -> HostSettings {
        let hosts = self.hosts();
        let own = match hosts.only_given {
            true => Vec::new(),
            false => sys::own_addresses::all(),
        };
        HostSettings { own, ..hosts }
    }

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
