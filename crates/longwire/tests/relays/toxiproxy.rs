//! `longwire relay --api` in front of a real Redis and a real PostgreSQL: every request of toxiproxy's API,
//! every toxic on connections that are open, and requests that no client sends.

pub(crate) mod api;
mod clients;
mod hostile;
mod proxies;
mod timing;
mod toxics;
