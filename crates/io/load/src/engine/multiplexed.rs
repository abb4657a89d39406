//! Many clients per thread.

use super::super::{Error, Outcome};
use super::RunContext;
use super::driver::{Driver, Start};
use super::machine::{Kind, Opened};
use super::shared_run::SharedRun;
use super::sums::outcome;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;
use sys::error::{LiveError, OsError};
use sys::listening::raise_file_limit;

/// Runs clients of `kind` as planned.
/// - Persistent connections are opened first, several at once, so that distant logins overlap.
/// - Each thread's clients run the warm-up operations. When all have, the clock starts for all.
pub(crate) fn run<K: Kind>(kind: &K, context: &RunContext<'_>) -> Result<Outcome, Error> {
    raise_file_limit();
    let began = Instant::now();
    let opened = open_all(kind, context)?;
    let connecting = began.elapsed();
    let parts = share_out(opened, threads(context));
    let shared = SharedRun::new(context, parts.len());
    let ends = std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(number, clients)| {
                let start = Start {
                    kind,
                    shared: &shared,
                    clients,
                };
                std::thread::Builder::new()
                    .name(format!("load {number}"))
                    .spawn_scoped(scope, move || Driver::run(start, scope))
                    // It cannot take part in the start, so the others must not wait for it.
                    .inspect_err(|_| shared.leave_out())
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.map(|thread| thread.join()) {
                Ok(Ok(end)) => end,
                Ok(Err(_)) => Err(Error::Stopped),
                Err(error) => Err(no_thread(&error)),
            })
            .collect()
    });
    outcome(ends, &shared).map(|outcome| Outcome {
        connecting,
        ..outcome
    })
}

/// As many as requested, or one per processor; at least one client each.
fn threads(context: &RunContext<'_>) -> usize {
    let processors = || {
        std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
    };
    let wanted = context.plan.threads.unwrap_or_else(processors);
    wanted.clamp(1, context.clients()) as usize
}

type Client = (u32, Option<Opened>);

/// Divides clients evenly among threads.
fn share_out(clients: Vec<Client>, threads: usize) -> Vec<Vec<Client>> {
    let mut parts: Vec<Vec<Client>> = Vec::new();
    parts.resize_with(threads, Vec::new);
    for (place, client) in clients.into_iter().enumerate() {
        parts[place % threads].push(client);
    }
    parts
}

/// Opens every client's connection, at most [`OPENERS`] at once.
fn open_all<K: Kind>(kind: &K, context: &RunContext<'_>) -> Result<Vec<Client>, Error> {
    let next = AtomicU32::new(0);
    let failed = AtomicBool::new(false);
    let opened = Mutex::new(Vec::new());
    let open = || {
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= context.clients() {
                return;
            }
            let client_spec = context.birth_ahead(number, &context.control.stop);
            let result = kind.open(&client_spec, context.watch, &|| context.next_id());
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.push((number, result));
        }
    };
    std::thread::scope(|scope| {
        for number in 1..context.clients().min(OPENERS) {
            // If it cannot be started, the others do more.
            std::thread::Builder::new()
                .name(format!("opener {number}"))
                .spawn_scoped(scope, open)
                .ok();
        }
        open();
    });
    let mut opened = opened.into_inner().unwrap_or_else(PoisonError::into_inner);
    opened.sort_by_key(|(number, _)| *number);
    let mut clients = Vec::with_capacity(opened.len());
    let mut fault = None;
    for (number, result) in opened {
        match result {
            Ok(opened) => clients.push((number, opened)),
            Err(error) => {
                fault.get_or_insert(error);
            }
        }
    }
    let Some(fault) = fault else { return Ok(clients) };
    for opened in clients.into_iter().filter_map(|(_, opened)| opened) {
        opened.connection.leave(kind.farewell());
    }
    Err(fault)
}

pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    Error::Connect(LiveError::System {
        operation: "start a thread",
        reason: OsError::from_io_error(error),
    })
}

/// Connections opened at the same time.
const OPENERS: u32 = 64;
