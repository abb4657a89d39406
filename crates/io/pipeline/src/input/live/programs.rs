//! Finds the programs at the ends of observed connections on this host. A separate thread searches,
//! rarely enough for low processor use. A connection that ends before the search has no programs.

use analysis::fact::Fact;
use model::{ConnectionId, Endpoint, HostProcess, PerSide};
use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::socket_owners::OwnerLookup;

#[derive(Debug)]
pub(super) struct Programs {
    asked: SyncSender<Asked>,
    found: Found,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    connection: ConnectionId,
    client: Endpoint,
    server: Endpoint,
    looked: u32,
}

type Found = Arc<Mutex<FoundPrograms>>;

/// Programs at the ends of a connection.
pub type ProgramsOfConnection = (ConnectionId, PerSide<Option<Arc<HostProcess>>>);

#[derive(Debug, Default)]
struct FoundPrograms {
    by_connection: HashMap<ConnectionId, PerSide<Option<Arc<HostProcess>>>>,
    news: HashSet<ConnectionId>,
}

impl Programs {
    /// Starts the thread, which searches with `lookup`.
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

    pub fn find_programs(&self, connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.by_connection.get(&connection).cloned().unwrap_or_default()
    }

    pub fn take_news(&self) -> Vec<ProgramsOfConnection> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let FoundPrograms { by_connection, news } = &mut *found;
        let news = news.drain();
        news.filter_map(|connection| Some((connection, by_connection.get(&connection)?.clone())))
            .collect()
    }

    /// Requests the programs of a connection that opens. Adds them to one that ends.
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
                // When the queue is full, this connection is not searched.
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

fn look_for(asked: &Receiver<Asked>, found: &Found, lookup: &OwnerLookup) {
    let mut waiting: Vec<Asked> = Vec::new();
    loop {
        let timeout = if waiting.is_empty() {
            FOREVER
        } else {
            Duration::ZERO
        };
        match asked.recv_timeout(timeout) {
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

/// Searches once. Returns the connections to retry, because a server may not have accepted them.
fn look_up_programs(waiting: Vec<Asked>, found: &Found, lookup: &OwnerLookup) -> Vec<Asked> {
    let ends = |asked: &Asked| PerSide::new((asked.client, asked.server), (asked.server, asked.client));
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
            // Results for connections that ended before the search are never taken.
            *found = FoundPrograms::default();
        }
        if processes.iter().any(Option::is_some) {
            found.by_connection.insert(asked.connection, processes);
            found.news.insert(asked.connection);
        }
    }
    again
}

const MAX_PENDING_LOOKUPS: usize = 1024;
const MAX_KNOWN_CONNECTIONS: usize = 65_536;
const MAX_LOOKUPS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);
/// Pause as a multiple of a search's duration.
const REST: u32 = 20;
const FOREVER: Duration = Duration::from_secs(3600);
