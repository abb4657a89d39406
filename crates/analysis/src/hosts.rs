//! Which addresses are one host: as given, and as the traffic shows.
//!
//! A web server may serve its clients at one address and ask its database from another. Until it is known
//! whether the client of a database is on the host of a server of requests, facts wait (at most
//! [`MAX_WAITING`]). In this order:
//! 1. [`model::Host`]s that were given.
//! 2. The capture says that one of its interfaces has both addresses, or that the machine that captured sends
//!    from both ([`machines`]), or this machine has them, whose traffic is observed.
//! 3. Both are at the observation point: requests have no distance to their server, and statements none from
//!    their client, but they have to the other side.
//! 4. Statements carry identifiers of requests that the server has in progress.
//! 5. All statements of the client lie within requests of that server, many times, of no other server is that
//!    true, and it is no coincidence: between one busy time's last statement and the next one's first there
//!    always is a pause.
//! 6. Responses of the server follow the client's statements closely, far more often than with shifted times
//!    ([`closeness`]). So do they follow exchanges that are encrypted or not decoded, where that is evidence.
//!
//! Of two addresses whose packets cannot come from one machine ([`machines`]), 3, 5 and 6 show nothing. What
//! stays open is reported, with the argument that decides it.

mod client;
mod closeness;
mod evidence;
mod interfaces;
mod machines;
mod server;

use crate::fact::Fact;
use crate::stage_output::StageOutput;
use evidence::Evidence;
use model::{CapturedAddress, Host, InterfaceAddresses, Warning, WarningKind, counted};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// How hosts are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Those that were given.
    pub given: Vec<Host>,
    /// Interfaces of the machines that captured. A given host takes precedence.
    pub interfaces: Vec<InterfaceAddresses>,
    /// Of each capture, the addresses that its packets come from, and what they say about their machines.
    pub captures: Vec<Vec<CapturedAddress>>,
    /// Addresses of the machine that observes its own traffic as it passes: they are one host.
    pub own: Vec<IpAddr>,
    /// Whether exchanges that are encrypted or not decoded may show hosts, too. Any connection may be a
    /// database's then, and all facts wait for it: for files, where nobody waits.
    pub undecoded: bool,
    /// Whether nothing is inferred from the traffic.
    pub only_given: bool,
}

/// The hosts of a run.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    settings: HostSettings,
    /// Of each address that is another one's host, that one.
    same: HashMap<IpAddr, IpAddr>,
    /// The same of addresses that the machine that captured sends from.
    own: BTreeMap<IpAddr, IpAddr>,
    /// Clients of databases among them, each with a server of requests among them.
    own_clients: Vec<(IpAddr, IpAddr)>,
    /// Clients that would be taken to be on the host of a server, were that not excluded: what speaks for it,
    /// and what excludes it.
    excluded: Vec<(IpAddr, IpAddr, String)>,
    /// Clients of databases that are known to be on no server's host.
    strangers: Vec<IpAddr>,
    evidence: Evidence,
    waiting: Vec<Fact>,
    inferred: Vec<Inferred>,
    /// Clients of which it stays open whether they are on the host of this server, and what is known.
    open: Vec<(IpAddr, IpAddr, String)>,
}

/// A client of a database that was taken to be on a server's host, and what came after that.
#[derive(Debug)]
struct Inferred {
    client: IpAddr,
    server: IpAddr,
    reason: String,
    /// Statements since then, and those of them that lie outside of requests to the server.
    statements: u64,
    outside: u64,
}

/// Most facts that wait until it is known which addresses are one host (some 20 MB).
pub const MAX_WAITING: usize = 40_000;

impl Hosts {
    pub(crate) fn new(settings: HostSettings) -> Self {
        let mut own = match settings.only_given {
            true => BTreeMap::new(),
            false => machines::own(&settings.captures),
        };
        // A given host that has one of them stands for all.
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

    /// An address that stands for the host that `address` is of: the same for all addresses of a host.
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

    /// Takes a fact.
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

    /// Remembers, to be reported, that a client is on the host of a server of requests because the machine
    /// that captured sends from both.
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

    /// The observation is over: what waited.
    pub(crate) fn finish(&mut self) -> Vec<Fact> {
        self.decide(true);
        std::mem::take(&mut self.waiting)
    }

    /// Why addresses were taken to be one host, and what came later that says otherwise.
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
                "{} of the {} that {} sent later lie outside of requests to {}: it has other work, or is another host's address now; \
                 --host says which addresses are a host's",
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
                "whether {client}, which asks {}, and {server}, which serves requests, are one host stays open ({reason}): its \
                 statements are joined to no request; if they are, give --host web={server},{client}; if they are not, --host \
                 web={server} --host other={client}",
                asks(client)
            )
        });
        let excluded = self.excluded.iter().map(|(client, server, reason)| {
            format!(
                "{client}, which asks {}, and {server}, which serves requests, are not taken to be one host ({reason}): its statements are \
                 joined to no request; if they are one nevertheless, or the one works for the other, give --host web={server},{client}",
                asks(client)
            )
        });
        let texts = reasons.chain(doubts).chain(open).chain(excluded);
        texts
            .map(|text| Warning::new(WarningKind::HostsInferred, text))
            .collect()
    }

    /// Whether this client of a database may be on the host of a server of requests.
    fn is_unknown(&self, client: IpAddr) -> bool {
        if given_host(&self.settings.given, client).is_some() {
            return false;
        }
        let host = self.host(client);
        let serves = |server: IpAddr| self.host(server) == host;
        !self.strangers.contains(&client) && !self.evidence.servers().any(serves)
    }

    /// The server that is on the host of a client because an interface has both addresses.
    fn of_interface(&self, client: IpAddr) -> Option<Verdict> {
        let found = self.evidence.servers().find_map(|server| {
            let name = interfaces::with_both(&self.settings.interfaces, client, server)?;
            Some((server, name))
        });
        let (server, name) = found?;
        let reason = format!("the capture says that its interface {name} has both addresses");
        Some(Verdict::On(server, reason))
    }

    /// What evidence shows of a client that hop limits and link-layer addresses may contradict. Identifiers
    /// say whose work statements are, wherever they come from.
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

    /// Whether it is known of all clients of databases which hosts they are on; at the `last` moment it is.
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

/// The address that stands for the given host that `address` is of; `None` if it is of none.
pub(crate) fn given_host(given: &[Host], address: IpAddr) -> Option<IpAddr> {
    let host = given.iter().find(|host| host.has(address))?;
    host.addresses.first().map(|range| range.address.to_canonical())
}

/// Statements outside of requests that are worth a sentence: so many, and more than one in so many.
const MIN_UNASSIGNED_STATEMENTS: u64 = 10;
const FEW_OUTSIDE: u64 = 10;

/// What is known of a client of databases.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// It is on the host of this server, because.
    On(IpAddr, String),
    /// It may be on the host of this server: what is known.
    Open(IpAddr, String),
    /// It is on no server's host.
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
