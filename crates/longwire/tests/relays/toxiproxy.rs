//! `longwire relay --api` with a real Redis and a real PostgreSQL: every request of toxiproxy's
//! API, every toxic on open connections, and malformed requests.

pub(crate) mod api;
mod clients;
mod hostile;
mod proxies;
mod timing;
mod toxics;
