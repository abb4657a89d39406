//! Ends reads that block. A client that waits for a stop in the same call would need a second
//! system call for each read.

use crate::Error;
use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::error::OsError;

/// Sockets on which a client may block.
#[derive(Debug, Default)]
pub(crate) struct BlockingReads {
    sockets: Mutex<HashMap<u64, TcpStream>>,
    next: AtomicU64,
}

/// Removes its socket when dropped.
#[derive(Debug)]
pub(crate) struct BlockingRead {
    all: Arc<BlockingReads>,
    number: u64,
}

impl BlockingReads {
    pub fn add(self: &Arc<Self>, socket: &TcpStream) -> Result<BlockingRead, Error> {
        let socket = socket.try_clone().map_err(|error| Error::Broken {
            reason: OsError::from_io_error(&error),
        })?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.sockets().insert(number, socket);
        Ok(BlockingRead {
            all: self.clone(),
            number,
        })
    }

    /// The reads find the end of the stream. Bytes can still be sent.
    pub fn end(&self) {
        for socket in self.sockets().values() {
            // It may be closed by the server.
            socket.shutdown(Shutdown::Read).ok();
        }
    }

    fn sockets(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BlockingRead {
    fn drop(&mut self) {
        self.all.sockets().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn a_read_ends_and_bytes_can_still_be_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
        let mut socket = TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
        let (mut peer, _) = listener.accept().expect("it is connected");
        let reads = Arc::new(BlockingReads::default());
        let added = reads.add(&socket).expect("a descriptor");
        let reading = std::thread::spawn(move || {
            assert_eq!(socket.read(&mut [0]).expect("an end"), 0);
            socket.write_all(b"x").expect("it is not closed");
            drop(added);
        });
        reads.end();
        reading.join().expect("it has ended");
        peer.read_exact(&mut [0]).expect("a byte");
        assert!(reads.sockets().is_empty());
    }
}
