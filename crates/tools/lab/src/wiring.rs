//! Creates a lab's hosts and links on this machine.

use super::addresses::Addresses;
use super::config::Lab;
use super::plan::at_rest;
use anyhow::{Context, Result, bail};
use netns::Sandbox;
use netns::network::{HostId, LinkId, Network};
use std::fmt::Write;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::LiveError;

/// Hosts and links are removed on drop.
#[derive(Debug)]
pub struct Wiring {
    network: Network,
    hosts: Vec<(String, HostId)>,
    links: Vec<(String, LinkId)>,
    addresses: Addresses,
}

impl Wiring {
    /// Creates hosts and links, all without distance. Hosts get each other's names from a file in
    /// `directory`.
    pub fn new(sandbox: &Sandbox, lab: &Lab, directory: &Path) -> Result<Self> {
        let mut network = Network::new(sandbox)?;
        network.set_congestion_control(predict::CONGESTION_CONTROL);
        network.keep_awake();
        let mut hosts = Vec::new();
        for name in &lab.hosts {
            let host = network
                .add_host(name)
                .with_context(|| format!("could not make the host {name}"))?;
            // TCP metrics of one point must not carry over to the next.
            network
                .within(host, || fs::write(NO_METRICS, "1"))
                .with_context(|| format!("could not set up the host {name}: {NO_METRICS}"))?;
            hosts.push((name.clone(), host));
        }
        let mut wiring = Self {
            network,
            hosts,
            links: Vec::new(),
            addresses: Addresses::default(),
        };
        for link in &lab.links {
            wiring
                .join(link)
                .with_context(|| format!("could not make the link {}", link.name))?;
        }
        wiring.name_hosts(directory)?;
        Ok(wiring)
    }

    fn join(&mut self, link: &super::config::LabLink) -> Result<(), LiveError> {
        let [a, b] = link.between.each_ref().map(|name| self.host(name));
        let id = self.network.add_link(a, b, &at_rest(&link.link))?;
        self.links.push((link.name.clone(), id));
        for (name, host, peer) in [(&link.between[0], a, b), (&link.between[1], b, a)] {
            if let Some(address) = self.network.address(host, peer) {
                self.addresses.add(address.into(), name);
            }
        }
        Ok(())
    }

    /// Bind-mounts a hosts file, visible only to processes of this run.
    fn name_hosts(&self, directory: &Path) -> Result<()> {
        let mut text = "127.0.0.1 localhost\n".to_owned();
        for (name, _) in &self.hosts {
            let _ = writeln!(text, "{} {name}", self.address(name));
        }
        let file = directory.join("hosts");
        fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
        let bound = Command::new("mount")
            .arg("--bind")
            .args([file.as_path(), Path::new("/etc/hosts")])
            .output()
            .context("could not run mount, which is in the package mount")?;
        if !bound.status.success() {
            let said = String::from_utf8_lossy(&bound.stderr);
            bail!("could not make the hosts known by name: {}", said.trim());
        }
        Ok(())
    }

    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// # Panics
    /// If the lab has no such host, which parsing has checked.
    pub fn host(&self, name: &str) -> HostId {
        let found = self.hosts.iter().find(|(known, _)| known == name);
        found
            .map(|(_, host)| *host)
            .unwrap_or_else(|| panic!("the lab was checked to have a host {name}"))
    }

    /// Address of the first link, which other hosts use; loopback for a host without links.
    pub fn address(&self, host: &str) -> IpAddr {
        self.addresses
            .first(host)
            .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    pub const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    pub fn set_links(&self, lab: &Lab) {
        for (link, (_, id)) in lab.links.iter().zip(&self.links) {
            self.network.change_link(*id, &link.link);
        }
    }

    /// Captures each link at its first host, one file per link.
    pub fn start_captures(&self, files: &[PathBuf]) -> Result<(), LiveError> {
        self.links
            .iter()
            .zip(files)
            .try_for_each(|((_, id), file)| self.network.start_capture(*id, file))
    }

    /// Completes the capture files.
    ///
    /// # Errors
    /// If a file could not be written, or packets were dropped.
    pub fn stop_captures(&self) -> Result<(), LiveError> {
        self.links
            .iter()
            .try_for_each(|(_, id)| self.network.stop_capture(*id))
    }

    /// Since the last change of each link, with names as in the lab's file.
    pub fn outcomes(&self) -> Vec<model::LinkOutcome> {
        let outcome = |(name, id): &(String, LinkId)| model::LinkOutcome {
            name: name.clone(),
            ..self.network.outcome(*id)
        };
        self.links.iter().map(outcome).collect()
    }
}

const NO_METRICS: &str = "/proc/sys/net/ipv4/tcp_no_metrics_save";
