//! Exchanges that pass without the link's delay.

use model::Timestamp;

/// Decides for the connections of a relay with a link.
pub trait Sparing: Send + Sync {
    /// Called once per connection, when the client has come.
    fn connection(&self, at: Timestamp) -> Box<dyn SparedConnection + Send>;
}

/// One connection, as its client sees it. Called before bytes are forwarded, so it must not wait.
pub trait SparedConnection {
    /// Whether the handshake, and a greeting of the server, pass without delay.
    fn spares_connecting(&self) -> bool;

    /// Bytes from the client. Returns whether they, and the server's up to the client's next, pass
    /// without delay. This is possible only `at_rest`: when all earlier bytes have arrived.
    fn request(&mut self, at: Timestamp, bytes: &[u8], at_rest: bool) -> bool;

    /// Bytes that have arrived at the client.
    fn reply(&mut self, at: Timestamp, bytes: &[u8]);

    fn closed(&mut self, at: Timestamp);
}
