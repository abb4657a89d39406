//! Which addresses belong to one host: given, or inferred from the traffic.
//!
//! A web server may serve clients at one address and query its database from another. Until a
//! database client's host is known, facts wait (at most [`MAX_WAITING`]). Evidence, in this order:
//! 1. [`model::Host`]s that were given.
//! 2. An interface of the capture has both addresses, the capturing machine sends from both
//!    ([`machines`]), or this machine has both and observes its own traffic.
//! 3. Both are at the observation point: requests have no distance to their server and statements none from
//!    their client, but both have distance to the other side.
//! 4. Statements carry identifiers of requests that the server has in progress.
//! 5. All statements of the client lie within requests of that server and of no other, many times. A pause
//!    between busy times rules out coincidence.
//! 6. Responses of the server follow the client's statements closely, far more often than with shifted times
//!    ([`closeness`]); also with encrypted or undecoded exchanges, where these count as evidence.
//!
//! If packets of two addresses cannot come from one machine ([`machines`]), 3, 5 and 6 do not
//! apply. Open cases are reported with the argument that decides them.

mod client;
mod closeness;
mod evidence;
mod interfaces;
mod machines;
mod server;

use crate::fact::Fact;
use evidence::Evidence;
use foldhash::HashMap;
use model::{CapturedAddress, Host, InterfaceAddresses, StageOutput, Warning, WarningKind, counted};
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSettings {
    pub given: Vec<Host>,
    /// Interfaces of the capturing machines. A given host takes precedence.
    pub interfaces: Vec<InterfaceAddresses>,
    /// Source addresses of each capture's packets, with evidence about machines.
    pub captures: Vec<Vec<CapturedAddress>>,
    /// Addresses of the machine that observes its own traffic, which is one host.
    pub own: Vec<IpAddr>,
    /// Whether encrypted or undecoded exchanges are evidence too. Any connection may then be a
    /// database's, and all facts wait: only for files.
    pub undecoded: bool,
    /// Turns inference from traffic off.
    pub only_given: bool,
}

/// As `--host` and `host` in files have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostChoice {
    Given(Host),
    None,
}

impl HostChoice {
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

#[derive(Debug, Default)]
pub(crate) struct Hosts {
    settings: HostSettings,
    same: HashMap<IpAddr, IpAddr>,
    own: BTreeMap<IpAddr, IpAddr>,
    /// Database clients in `own`, each with a request server in `own`.
    own_clients: Vec<(IpAddr, IpAddr)>,
    /// Client, server, evidence for one host, and the fact that excludes it.
    excluded: Vec<(IpAddr, IpAddr, String)>,
    strangers: Vec<IpAddr>,
    evidence: Evidence,
    waiting: Vec<Fact>,
    inferred: Vec<Inferred>,
    /// Undecided client and server, with the evidence.
    open: Vec<(IpAddr, IpAddr, String)>,
}

/// A database client inferred to be on a server's host, and later evidence.
#[derive(Debug)]
struct Inferred {
    client: IpAddr,
    server: IpAddr,
    reason: String,
    /// Later statements, then those outside requests to the server.
    statements: u64,
    outside: u64,
}

/// They take some 20 MB.
pub const MAX_WAITING: usize = 40_000;

impl Hosts {
    pub(crate) fn new(settings: HostSettings) -> Self {
        let mut own = match settings.only_given {
            true => BTreeMap::new(),
            false => machines::own(&settings.captures),
        };
        // A given host with one of the addresses stands for all.
        let given = own
            .iter()
            .filter_map(|(address, first)| Some((*first, given_host(&settings.given, *address)?)));
        let given: BTreeMap<IpAddr, IpAddr> = given.collect();
        for first in own.values_mut() {
            *first = given.get(first).copied().unwrap_or(*first);
        }
        Self {
            evidence: Evidence::new(&settings.captures, settings.undecoded),
            settings,
            own,
            ..Self::default()
        }
    }

    pub(crate) fn host(&self, address: IpAddr) -> IpAddr {
        let address = address.to_canonical();
        if let Some(host) = given_host(&self.settings.given, address) {
            return host;
        }
        if let [first, ..] = self.settings.own.as_slice()
            && self.settings.own.contains(&address)
        {
            return *first;
        }
        let same = self.same.get(&address).or_else(|| self.own.get(&address));
        same.copied().unwrap_or(address)
    }

    pub(crate) fn process_fact(&mut self, fact: Fact) -> StageOutput<Fact> {
        if self.settings.only_given {
            return StageOutput::Go(fact);
        }
        if let Some(client) = self.evidence.fact(&fact) {
            self.note_own(client);
            if self.is_unknown(client) {
                self.evidence.asked(client, &fact);
                return self.wait(fact);
            }
            if let Fact::Exchange { exchange, protocol } = &fact
                && let Some(inferred) = self.inferred.iter_mut().find(|one| one.client == client)
            {
                let is_outside = self
                    .evidence
                    .asked_later(client, inferred.server, exchange, *protocol);
                inferred.statements += 1;
                inferred.outside += u64::from(is_outside);
            }
        }
        match self.waiting.is_empty() {
            true => StageOutput::Go(fact),
            false => self.wait(fact),
        }
    }

    /// Records, for the report, a client on the same host as a request server because the capturing
    /// machine sends from both.
    fn note_own(&mut self, client: IpAddr) {
        let Some(own) = self.own.get(&client) else {
            return;
        };
        let is_given = given_host(&self.settings.given, client).is_some();
        if is_given || self.own_clients.iter().any(|(known, _)| *known == client) {
            return;
        }
        let mut servers = self.evidence.servers();
        let server = servers.find(|server| *server != client && self.own.get(server) == Some(own));
        self.own_clients.extend(server.map(|server| (client, server)));
    }

    fn wait(&mut self, fact: Fact) -> StageOutput<Fact> {
        self.waiting.push(fact);
        match self.decide(self.waiting.len() >= MAX_WAITING) {
            true => StageOutput::Released(std::mem::take(&mut self.waiting)),
            false => StageOutput::Stays,
        }
    }

    pub(crate) fn finish(&mut self) -> Vec<Fact> {
        self.decide(true);
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn notes(&self) -> Vec<Warning> {
        let own = self.own_clients.iter().map(|(client, server)| {
            let reason = "the capture marks packets of both as sent by the machine that captured";
            taken_to_be_one(*client, *server, reason)
        });
        let inferred = self.inferred.iter();
        let reasons = own.chain(inferred.map(|one| taken_to_be_one(one.client, one.server, &one.reason)));
        let doubtful = self.inferred.iter().filter(|one| {
            one.outside >= MIN_UNASSIGNED_STATEMENTS
                && one.outside * FEW_OUTSIDE > one.statements
                && !self.evidence.follows(one.client, one.server)
        });
        let doubts = doubtful.map(|one| {
            format!(
                "{} of the {} that {} sent later lie outside of requests to {}: other work, or now another host's address. --host names \
                 the addresses of a host",
                one.outside,
                counted(one.statements, "statement", "statements"),
                one.client,
                one.server
            )
        });
        let asks = |client: &IpAddr| match self.evidence.asks_database(*client) {
            true => "a database",
            false => "a server whose protocol is encrypted or not decoded",
        };
        let open = self.open.iter().map(|(client, server, reason)| {
            format!(
                "{client} (a client of {}) and {server} (a server of requests) may be one host ({reason}): its statements are joined to \
                 no request. If they are one host, give --host web={server},{client}. If not, give --host web={server} --host \
                 other={client}",
                asks(client)
            )
        });
        let excluded = self.excluded.iter().map(|(client, server, reason)| {
            format!(
                "{client} (a client of {}) and {server} (a server of requests) do not count as one host ({reason}): its statements are \
                 joined to no request. If they are one host, or one works for the other, give --host web={server},{client}",
                asks(client)
            )
        });
        let texts = reasons.chain(doubts).chain(open).chain(excluded);
        texts
            .map(|text| Warning::new(WarningKind::HostsInferred, text))
            .collect()
    }

    fn is_unknown(&self, client: IpAddr) -> bool {
        if given_host(&self.settings.given, client).is_some() {
            return false;
        }
        let host = self.host(client);
        let serves = |server: IpAddr| self.host(server) == host;
        !self.strangers.contains(&client) && !self.evidence.servers().any(serves)
    }

    fn of_interface(&self, client: IpAddr) -> Option<Verdict> {
        let found = self.evidence.servers().find_map(|server| {
            let name = interfaces::with_both(&self.settings.interfaces, client, server)?;
            Some((server, name))
        });
        let (server, name) = found?;
        let reason = format!("the capture says that its interface {name} has both addresses");
        Some(Verdict::On(server, reason))
    }

    /// Hop limits and link-layer addresses may contradict the evidence. Identifiers of requests
    /// need no check: they name the owner from any address.
    fn unless_excluded(&mut self, client: IpAddr, verdict: Verdict) -> Verdict {
        let (Verdict::On(server, reason) | Verdict::Open(server, reason)) = &verdict else {
            return verdict;
        };
        if self.evidence.is_identified(client) {
            return verdict;
        }
        let Some(excluded) = machines::excluded(&self.settings.captures, client, *server) else {
            return verdict;
        };
        if matches!(verdict, Verdict::On(..)) {
            self.excluded
                .push((client, *server, format!("{reason}; but {excluded}")));
        }
        Verdict::Elsewhere
    }

    /// Returns whether every database client's host is decided; at the `last` call it always is.
    fn decide(&mut self, last: bool) -> bool {
        let unknown: Vec<IpAddr> = self
            .evidence
            .clients()
            .filter(|&client| self.is_unknown(client))
            .collect();
        for client in unknown {
            let verdict = match self.of_interface(client) {
                Some(verdict) => verdict,
                None => {
                    let verdict = self.evidence.judge_client(client, last);
                    self.unless_excluded(client, verdict)
                }
            };
            match verdict {
                Verdict::On(server, reason) => {
                    self.same.insert(client, self.host(server));
                    self.evidence.begin_anew(client);
                    self.inferred.push(Inferred {
                        client,
                        server,
                        reason,
                        statements: 0,
                        outside: 0,
                    });
                }
                Verdict::Elsewhere => self.strangers.push(client),
                Verdict::Open(server, reason) => {
                    self.strangers.push(client);
                    self.open.push((client, server, reason));
                }
                Verdict::Unknown if last => self.strangers.push(client),
                Verdict::Unknown => return false,
            }
        }
        true
    }
}

/// The address that stands for `address`'s given host; `None` if it has none.
pub(crate) fn given_host(given: &[Host], address: IpAddr) -> Option<IpAddr> {
    let host = given.iter().find(|host| host.has(address))?;
    host.addresses.first().map(|range| range.address.to_canonical())
}

/// Statements outside requests are reported from this count on, and if they are more than one in
/// [`FEW_OUTSIDE`].
const MIN_UNASSIGNED_STATEMENTS: u64 = 10;
const FEW_OUTSIDE: u64 = 10;

#[derive(Debug, PartialEq)]
enum Verdict {
    On(IpAddr, String),
    Open(IpAddr, String),
    Elsewhere,
    Unknown,
}

fn taken_to_be_one(client: IpAddr, server: IpAddr, reason: &str) -> String {
    format!(
        "{client} and {server} are taken to be one host: {reason}; --host none refuses this, --host NAME=ADDRESS,... says which addresses are a \
         host's"
    )
}

fn within(statements: u64, requests: u64) -> String {
    format!(
        "all its {} lie within {} to it, and no other server explains them",
        counted(statements, "statement", "statements"),
        counted(requests, "busy time of requests", "busy times of requests")
    )
}
