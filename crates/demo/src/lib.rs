//! A database and an application to try longwire on, with nothing installed.
//!
//! [`Server`] is a small book shop: real SQL over SQLite in memory, spoken in PostgreSQL's protocol on loopback.
//! [`ShopApplication`] asks it for one page of the shop, either with one look-up per thing shown ([`PageVariant::Chatty`]) or
//! with one join ([`PageVariant::Joined`]); both give the same content. What lies between the two in turns is what
//! `longwire demo` shows.
//!
//! Start reading in `application.rs`; `server.rs`, `postgres.rs` and `session.rs` are the way of a statement through
//! the server.

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
pub use error::DemoError;
pub use server::Server;
