//! TCP proxies with toxics, controlled by the HTTP API of Shopify's toxiproxy, version 2.x.
//!
//! ```text
//! HTTP request -> sys::http -> http/access.rs -> routes.rs -> collection.rs: names, addresses, toxics, state
//!                                              | commands, answered once in effect on every open connection
//!                                         proxy.rs -> event_loop.rs: a thread a proxy, epoll
//!                                              | bytes in at a time, out at theirs
//!                                         connection.rs -> toxics.rs: arithmetic over given times
//! ```
//! Like toxiproxy's, the API has no authentication and no encryption: its clients can open ports on
//! this machine and connect from it. See docs/relay-api.md for users. Start reading at
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
mod running_proxy;
pub mod toxics;

pub use collection::ProxyCollection;
pub use error::ApiError;
pub use http::{ApiAccess, serve};
pub use proxy::ProxyCounters;

/// toxiproxy's version of this API for `/version`, since clients expect 2.x.
pub const API_VERSION: &str = "2.12.0";
