//! What the captures of one run of the workload show: its operations, and on which link each connection lay.

use super::config::{Lab, Workload};
use crate::input;
use analysis::fact::Fact;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use anyhow::Result;
use model::{ConnectionId, Endpoint, Operation, OperationKind, Warning};
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Addresses of the lab's hosts: a host has one on each of its links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    hosts: Vec<(IpAddr, String)>,
}

/// The operations of one run of a workload.
#[derive(Debug, Default)]
pub struct Observed {
    /// The workload's operations, in the order of their ends. Operations that only connect are among them, see
    /// [`Observed::is_counted`].
    pub operations: Vec<Operation>,
    /// The link that each connection lay on, by its place in [`Lab::links`].
    pub links: HashMap<ConnectionId, usize>,
    /// What is missing in the captures.
    pub warnings: Vec<Warning>,
}

impl Addresses {
    /// `address` is one of `host`.
    pub fn add(&mut self, address: IpAddr, host: &str) {
        self.hosts.push((address, host.to_owned()));
    }

    /// The host that has `address`.
    pub fn host(&self, address: IpAddr) -> Option<&str> {
        self.hosts
            .iter()
            .find(|(known, _)| *known == address)
            .map(|(_, host)| host.as_str())
    }

    /// The first address of `host`.
    pub fn first(&self, host: &str) -> Option<IpAddr> {
        let found = self.hosts.iter().find(|(_, name)| name == host);
        found.map(|(address, _)| *address)
    }

    /// The same endpoint with one and the same address of its host, whichever of its addresses was used: else an
    /// HTTP server that asks a database over another link would seem to be two hosts.
    fn canonical(&self, endpoint: Endpoint) -> Endpoint {
        let first = self.host(endpoint.address).and_then(|host| self.first(host));
        Endpoint {
            address: first.unwrap_or(endpoint.address),
            port: endpoint.port,
        }
    }

    /// The link between the hosts of these endpoints.
    fn link(&self, lab: &Lab, client: Endpoint, server: Endpoint) -> Option<usize> {
        let (client, server) = (self.host(client.address)?, self.host(server.address)?);
        lab.links.iter().position(|link| {
            let between = |host: &str| link.between.iter().any(|one| one == host);
            between(client) && between(server)
        })
    }
}

impl Observed {
    /// Reads the captures of one run of `lab`'s workload, one a link.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(files: &[PathBuf], lab: &Lab, addresses: &Addresses) -> Result<Self> {
        let rule = lab.workload.operation.unwrap_or(Rule::Whole);
        let mut observed = Self::default();
        let mut grouping = Operations::new(rule);
        let mut found: Vec<Operation> = Vec::new();
        let mut own: HashMap<ConnectionId, bool> = HashMap::new();
        let mut take = |grouped| {
            if let Grouped::Operation(operation) = grouped {
                found.push(operation);
            }
        };
        let input = input::read(files, false, &mut |mut fact| {
            if let Fact::Opened {
                connection,
                client,
                server,
                ..
            } = &mut fact
            {
                if let Some(link) = addresses.link(lab, *client, *server) {
                    observed.links.insert(*connection, link);
                }
                let by_workload = addresses.host(client.address) == Some(&lab.workload.host);
                own.insert(*connection, by_workload);
                *client = addresses.canonical(*client);
                *server = addresses.canonical(*server);
            }
            grouping.fact(fact, &mut take);
        })?;
        grouping.finish(&mut take);
        // What other hosts do by themselves meanwhile is none of the workload's operations.
        found.retain(|operation| {
            let outermost = operation.steps.iter().filter(|step| step.after.is_none());
            let mut connections = outermost.map(|step| step.exchange.connection);
            connections.any(|connection| own.get(&connection) == Some(&true))
        });
        observed.operations = found;
        observed.warnings = input.warnings;
        observed.name(&lab.workload);
        Ok(observed)
    }

    /// All counted operations get one name, so that they are predicted together.
    fn name(&mut self, workload: &Workload) {
        let (counted, other): (Arc<str>, Arc<str>) =
            (Arc::from(operation_word(workload)), Arc::from("setup"));
        for operation in &mut self.operations {
            let name = if is_counted(workload, operation.kind) {
                &counted
            } else {
                &other
            };
            operation.name = Arc::clone(name);
        }
    }

    /// The operations that are measured and predicted: connecting apart from the work is not.
    pub fn counted<'a>(&'a self, workload: &'a Workload) -> impl Iterator<Item = &'a Operation> {
        let counted = |operation: &&Operation| is_counted(workload, operation.kind) && !operation.continues;
        self.operations.iter().filter(counted)
    }
}

/// What one operation of the workload is called.
pub fn operation_word(workload: &Workload) -> &'static str {
    match workload.operation {
        None => "run",
        Some(Rule::Http) => "request",
        Some(Rule::Transaction) => "transaction",
        Some(Rule::Connection) => "connection",
        Some(Rule::Auto | Rule::Gap(_) | Rule::Whole) => "operation",
    }
}

/// Under the rule of transactions, connecting is an operation of its own, which is not counted.
fn is_counted(workload: &Workload, kind: OperationKind) -> bool {
    match workload.operation {
        Some(Rule::Transaction) => kind == OperationKind::Transaction,
        Some(Rule::Http) => kind == OperationKind::Http,
        _ => true,
    }
}
