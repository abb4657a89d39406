//! A database and an application to try longwire on, with nothing installed.
//!
//! [`Server`] is a small book shop: real SQL over SQLite in memory, spoken in PostgreSQL's protocol on
//! loopback. [`ShopApplication`] asks it for one page of the shop, either with one look-up per item shown
//! ([`PageVariant::Chatty`]) or with one join ([`PageVariant::Joined`]); both give the same content. The
//! difference in round trips between the two is what `longwire demo` shows.
//!
//! Start reading in `application.rs`; `server.rs`, `postgres.rs` and `session.rs` are a statement's path
//! through the server.

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
