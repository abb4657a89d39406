//! The shop's listener and its lifetime: one thread, stopped when the value is dropped.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pgwire::tokio::process_socket;
use tokio::sync::oneshot;

use crate::DemoError;
use crate::postgres::Handlers;
use crate::shop::Shop;

/// A running shop: PostgreSQL's protocol on a port that the caller opens, no password, no TLS, SQLite's
/// dialect of SQL.
///
/// One thread serves all connections, so a statement that computes for a long time delays the others (it is
/// ended after 5 s). It is a database for demonstration; its own speed means nothing. Dropping the value
/// closes the port and every connection, and waits for the thread.
pub struct Server {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens a new shop that `listener` leads to; two servers share nothing.
    ///
    /// # Errors
    /// [`DemoError::Start`] or [`DemoError::Shop`].
    pub fn start(listener: TcpListener) -> Result<Server, DemoError> {
        let stopping = Arc::new(AtomicBool::new(false));
        let shop = Shop::open(Arc::clone(&stopping)).map_err(|source| DemoError::Shop { source })?;
        let failed = |doing| move |source| DemoError::Start { doing, source };
        let address = listener.local_addr().map_err(failed("learn the port"))?;
        listener
            .set_nonblocking(true)
            .map_err(failed("prepare the port"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed("make an event queue"))?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(failed("watch the port"))?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("demo-server".to_owned())
            // The runtime ends with the closure, and with it every connection.
            .spawn(move || runtime.block_on(serve(listener, shop, stopped)))
            .map_err(failed("start a thread"))?;
        Ok(Server {
            address,
            stopping,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(stop) = self.stop.take() {
            // An error here means that the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: tokio::net::TcpListener, shop: Shop, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _client)) => {
                    // Only a lack of memory prevents a session from opening: then the client sees its
                    // connection close.
                    if let Ok(session) = shop.session() {
                        let handlers = Handlers::new(session);
                        // A connection ends for its client's reasons; nothing waits for the result.
                        tokio::spawn(async move { process_socket(stream, None, handlers).await });
                    }
                }
                // No file descriptor is free: the client waits in the listener's queue until one is.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
