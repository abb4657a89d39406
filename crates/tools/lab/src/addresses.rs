//! Hosts of the addresses in a lab's captures.

use super::config::Lab;
use model::Endpoint;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A host has one address per link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// Starts with the primary address of a host.
    hosts: Vec<(IpAddr, String)>,
}

impl Addresses {
    pub fn add(&mut self, address: IpAddr, host: &str) {
        self.hosts.push((address, host.to_owned()));
    }

    pub fn host(&self, address: IpAddr) -> Option<&str> {
        self.hosts
            .iter()
            .find(|(known, _)| *known == address)
            .map(|(_, host)| host.as_str())
    }

    pub fn first(&self, host: &str) -> Option<IpAddr> {
        let found = self.hosts.iter().find(|(_, name)| name == host);
        found.map(|(address, _)| *address)
    }

    /// Replaces the address with the primary one of its host. Otherwise an HTTP server with a
    /// database on another link would look like two hosts.
    pub(super) fn canonical(&self, endpoint: Endpoint) -> Endpoint {
        let first = self.host(endpoint.address).and_then(|host| self.first(host));
        Endpoint {
            address: first.unwrap_or(endpoint.address),
            port: endpoint.port,
        }
    }

    /// The link between these hosts.
    pub(super) fn link(&self, lab: &Lab, client: Endpoint, server: Endpoint) -> Option<usize> {
        let (client, server) = (self.host(client.address)?, self.host(server.address)?);
        lab.links.iter().position(|link| {
            let between = |host: &str| link.between.iter().any(|one| one == host);
            between(client) && between(server)
        })
    }
}
