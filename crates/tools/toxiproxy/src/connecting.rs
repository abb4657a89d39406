//! Connects upstreams for accepted clients, each in a short-lived thread because name resolution
//! blocks.

use crate::addresses;
use crate::proxy::{Command, Mailbox};
use model::PerSide;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use sys::socket::Socket;
use sys::threads::spawn;

#[derive(Debug, Default)]
pub(crate) struct Connecting(Arc<AtomicUsize>);

impl Connecting {
    /// Connects to `upstream` for `client` of the proxy at `own`, and posts the pair to the
    /// mailbox. On failure the client is closed; beyond the limit too, and this returns false.
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
                Some(server) => Command::Open(PerSide::new(client, server)),
                None => Command::Unreachable,
            });
        });
        if started.is_err() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
        started.is_ok()
    }
}

const MAX_THREADS: usize = 256;
