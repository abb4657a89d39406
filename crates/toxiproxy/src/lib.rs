//! TCP proxies whose connections meet toxics, driven by the HTTP API of Shopify's toxiproxy, version 2.x.
//!
//! ```text
//! HTTP request -> sys::http -> http/access.rs: who may -> routes.rs -> collection.rs: names, addresses, toxics, switched on or off
//!                                              | commands, answered once every open connection obeys
//!                                         proxy.rs -> event_loop.rs: a thread a proxy, epoll
//!                                              | bytes in at a time, out at theirs
//!                                         connection.rs -> crate `toxics`
//! ```
//! The API has no authentication and no encryption, as toxiproxy's has none: who reaches it can open ports on
//! this machine and connect from it. Documentation for users: docs/relay-api.md. Start reading at
//! [`collection`].

#![forbid(unsafe_code)]

mod addresses;
pub mod collection;
mod connecting;
mod connection;
mod error;
mod event_loop;
mod http;
mod proxy;
mod representation;
mod route;
mod routes;

pub use collection::ProxyCollection;
pub use error::ApiError;
pub use http::{ApiAccess, serve};
pub use proxy::ProxyCounters;

/// The version of toxiproxy whose API this is, as `/version` answers: clients ask for it and expect 2.x.
pub const API_VERSION: &str = "2.12.0";
