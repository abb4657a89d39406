//! Clients that were accepted and whose upstream is being connected to: a short-lived thread each, because
//! resolving a name blocks.

use crate::addresses;
use crate::proxy::{Command, Mailbox};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use sys::socket::Socket;
use sys::threads::spawn;

/// How many are in progress.
#[derive(Debug, Default)]
pub(crate) struct Connecting(Arc<AtomicUsize>);

impl Connecting {
    /// Connects to `upstream` for `client` of the proxy that listens at `own`; the pair goes into the
    /// mailbox. A client for which that fails is closed, and so is one that is one too many: then this
    /// returns false.
    pub(crate) fn begin(
        &self,
        client: Socket,
        (upstream, own): (String, SocketAddr),
        mailbox: &Arc<Mailbox>,
    ) -> bool {
        if self.0.fetch_add(1, Ordering::Relaxed) >= MAX_THREADS {
            self.0.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let (count, mailbox) = (self.0.clone(), mailbox.clone());
        let started = spawn("proxy-connect".to_owned(), move || {
            let server = addresses::connect(&upstream, own);
            count.fetch_sub(1, Ordering::Relaxed);
            mailbox.send(match server {
                Some(server) => Command::Open([client, server]),
                None => Command::Unreachable,
            });
        });
        if started.is_err() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
        started.is_ok()
    }
}

/// Threads that connect, of one proxy.
const MAX_THREADS: usize = 256;
