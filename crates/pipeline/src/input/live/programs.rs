//! The programs at the ends of connections that are observed on their own host. A thread of its own looks for
//! them, seldom enough not to take much of a processor; a connection that is over before it has looked has
//! none.

use analysis::fact::Fact;
use model::{ConnectionId, Endpoint, HostProcess};
use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::socket_owners::OwnerLookup;

/// The programs of the connections that are open.
#[derive(Debug)]
pub(super) struct Programs {
    asked: SyncSender<Asked>,
    found: Found,
}

/// A connection whose programs are requested.
#[derive(Debug, Clone, Copy)]
struct Asked {
    connection: ConnectionId,
    client: Endpoint,
    server: Endpoint,
    looked: u32,
}

/// What was found, shared by both threads.
type Found = Arc<Mutex<FoundPrograms>>;

/// The programs at the ends of a connection, client first.
pub type ProgramsOfConnection = (ConnectionId, [Option<Arc<HostProcess>>; 2]);

#[derive(Debug, Default)]
struct FoundPrograms {
    by_connection: HashMap<ConnectionId, [Option<Arc<HostProcess>>; 2]>,
    /// Connections of which something was found since it was last asked.
    news: HashSet<ConnectionId>,
}

impl Programs {
    /// Begins to look for those that it is asked for, by `lookup`.
    pub fn start(lookup: OwnerLookup) -> std::io::Result<Self> {
        let (asked, receiver) = mpsc::sync_channel(MAX_PENDING_LOOKUPS);
        let found = Found::default();
        let keep = found.clone();
        std::thread::Builder::new()
            .name("longwire programs".to_owned())
            .spawn(move || {
                sys::signals::block_all_signals();
                look_for(&receiver, &keep, &lookup);
            })?;
        Ok(Self { asked, found })
    }

    /// Those of a connection that is open, as far as they were found.
    pub fn find_programs(&self, connection: ConnectionId) -> [Option<Arc<HostProcess>>; 2] {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.by_connection.get(&connection).cloned().unwrap_or_default()
    }

    /// What was found since the last call.
    pub fn take_news(&self) -> Vec<ProgramsOfConnection> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let FoundPrograms { by_connection, news } = &mut *found;
        let news = news.drain();
        news.filter_map(|connection| Some((connection, by_connection.get(&connection)?.clone())))
            .collect()
    }

    /// Asks for the programs of a connection that opens; adds them to one that ends.
    pub fn add_to(&self, fact: &mut Fact) {
        match fact {
            Fact::Opened {
                connection,
                client,
                server,
                ..
            } => {
                let asked = Asked {
                    connection: *connection,
                    client: *client,
                    server: *server,
                    looked: 0,
                };
                // Where so many are requested, this one is not looked for.
                self.asked.try_send(asked).ok();
            }
            Fact::Closed(outcome) => {
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(processes) = found.by_connection.remove(&outcome.id) {
                    outcome.processes = processes;
                }
            }
            _ => {}
        }
    }
}

/// Looks for programs until nobody asks any more.
fn look_for(asked: &Receiver<Asked>, found: &Found, lookup: &OwnerLookup) {
    let mut waiting: Vec<Asked> = Vec::new();
    loop {
        let patience = if waiting.is_empty() {
            FOREVER
        } else {
            Duration::ZERO
        };
        match asked.recv_timeout(patience) {
            Ok(first) => waiting.push(first),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        waiting.extend(asked.try_iter().take(MAX_PENDING_LOOKUPS));
        let began = Instant::now();
        waiting = look_up_programs(waiting, found, lookup);
        std::thread::sleep(PAUSE.max(REST * began.elapsed()));
    }
}

/// Looks once; those that it is to look for again, since a server may not have taken them yet.
fn look_up_programs(waiting: Vec<Asked>, found: &Found, lookup: &OwnerLookup) -> Vec<Asked> {
    let ends = |asked: &Asked| [(asked.client, asked.server), (asked.server, asked.client)];
    let wanted: HashSet<_> = waiting.iter().flat_map(ends).collect();
    let owners: HashMap<_, _> = lookup
        .find_owners(&wanted)
        .into_iter()
        .map(|(end, process)| (end, Arc::new(process)))
        .collect();
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    let mut again = Vec::new();
    for mut asked in waiting {
        let processes = ends(&asked).map(|end| owners.get(&end).cloned());
        asked.looked += 1;
        if processes.iter().any(Option::is_none) && asked.looked < MAX_LOOKUPS {
            again.push(asked);
        }
        if found.by_connection.len() >= MAX_KNOWN_CONNECTIONS {
            // Of connections that ended before they were looked for nobody takes them.
            *found = FoundPrograms::default();
        }
        if processes.iter().any(Option::is_some) {
            found.by_connection.insert(asked.connection, processes);
            found.news.insert(asked.connection);
        }
    }
    again
}

/// Connections that may wait to be looked for.
const MAX_PENDING_LOOKUPS: usize = 1024;
/// Connections whose programs are kept: as many as are followed.
const MAX_KNOWN_CONNECTIONS: usize = 65_536;
/// How often a connection is looked for.
const MAX_LOOKUPS: u32 = 3;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// The same, as a multiple of the time that a look takes.
const REST: u32 = 20;
/// As long as nothing is asked.
const FOREVER: Duration = Duration::from_secs(3600);
