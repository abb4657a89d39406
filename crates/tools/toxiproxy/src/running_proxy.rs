//! The handle of a proxy's thread.

use crate::error::ApiError;
use crate::event_loop::EventLoop;
use crate::proxy::{Command, Mailbox, ProxyPlan};
use crate::route::{Route, comes_back};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::error::LiveError;
use sys::listening::{BoundListener, ClientSide, ListeningService, bind};
use sys::threads::spawn;

/// On drop, closes the listening socket and all connections.
#[derive(Debug)]
pub(crate) struct RunningProxy {
    local_address: SocketAddr,
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
}

impl RunningProxy {
    /// It is listening on return. `routes` are the other enabled proxies.
    pub(crate) fn start(address: SocketAddr, plan: ProxyPlan, routes: &[Route]) -> Result<Self, ApiError> {
        let upstream = &plan.upstream;
        let service = ListeningService {
            name: &format!("the proxy to {upstream}"),
            exposes: &format!("connect to {upstream} through it"),
            clients: ClientSide::AsClientsLike,
        };
        let bound = bind_anywhere(address, &service)?;
        if comes_back(bound.local_address(), upstream, routes) {
            return Err(ApiError::LeadsToItself {
                upstream: upstream.clone(),
                listen: bound.local_address().to_string(),
            });
        }
        let (listener, local_address) = bound.open();
        let mailbox = Arc::new(Mailbox::new()?);
        let event_loop = EventLoop::new((listener, local_address), plan, mailbox.clone())?;
        let thread = spawn("proxy".to_owned(), move || event_loop.run())?;
        Ok(Self {
            local_address,
            mailbox,
            thread: Some(thread),
        })
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    /// Executes a command on toxics; returns when it is in effect on every open connection.
    pub(crate) fn carry_out(&self, command: Command) {
        let (sender, done) = mpsc::sync_channel(1);
        self.mailbox.send(command);
        self.mailbox.send(Command::Confirm(sender));
        // The thread never blocks. If it has ended, no connection is left.
        done.recv_timeout(MAX_COMMAND_WAIT).ok();
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.mailbox.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            // It panics only through a defect; its sockets are then closed.
            thread.join().ok();
        }
    }
}

/// For all addresses of this machine, falls back to IPv4 without IPv6.
fn bind_anywhere(address: SocketAddr, service: &ListeningService<'_>) -> Result<BoundListener, LiveError> {
    let all_of_ipv4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
    match bind(address, service) {
        Err(LiveError::ListenFailed { .. } | LiveError::AddressNotHere { .. })
            if address.ip() == Ipv6Addr::UNSPECIFIED =>
        {
            bind(all_of_ipv4, service)
        }
        outcome => outcome,
    }
}

const MAX_COMMAND_WAIT: Duration = Duration::from_secs(10);
