//! A database and an application for trying longwire without installing anything else.
//!
//! [`Server`] is a small book shop: SQL over in-memory SQLite, in PostgreSQL's protocol on
//! loopback. [`ShopApplication`] fetches a page either with one look-up per item
//! ([`PageVariant::Chatty`]) or with one join ([`PageVariant::Joined`]). `longwire demo` shows the
//! difference in round trips.
//!
//! Start reading in `application.rs`, then follow a statement through `server.rs`, `postgres.rs`
//! and `session.rs`.

mod application;
mod client;
mod error;
mod postgres;
mod server;
mod session;
mod shop;
mod sqlstate;
mod statement;
mod values;

pub use application::{FetchedPage, PageVariant, ShopApplication};
pub use error::Error;
pub use server::Server;
