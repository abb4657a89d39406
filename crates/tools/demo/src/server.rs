//! The shop's listener and thread.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pgwire::tokio::process_socket;
use tokio::sync::oneshot;

use crate::Error;
use crate::postgres::Handlers;
use crate::shop::Shop;

/// A running shop with PostgreSQL's protocol, without password or TLS, and SQLite's dialect of SQL.
///
/// One thread serves all connections, so a slow statement delays the others for up to 5 s. The
/// speed is not representative. On drop it closes the port and all connections, and joins the
/// thread.
pub struct Server {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens a new, separate shop at `listener`.
    pub fn start(listener: TcpListener) -> Result<Server, Error> {
        let stopping = Arc::new(AtomicBool::new(false));
        let shop = Shop::open(Arc::clone(&stopping)).map_err(|source| Error::Shop { source })?;
        let failed = |doing| move |source| Error::Start { doing, source };
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
            // The runtime, with every connection, ends with the closure.
            .spawn(move || runtime.block_on(serve(listener, shop, stopped)))
            .map_err(failed("start a thread"))?;
        Ok(Server {
            address,
            stopping,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(stop) = self.stop.take() {
            // An error means that the thread has already ended.
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
                    // A session fails to open only for lack of memory: the connection is then
                    // closed.
                    if let Ok(session) = shop.session() {
                        let handlers = Handlers::new(session);
                        // The result of a connection is not needed.
                        tokio::spawn(async move { process_socket(stream, None, handlers).await });
                    }
                }
                // No free descriptor: the client waits in the listener's queue.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
