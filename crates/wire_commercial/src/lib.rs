//! Decoders for the protocols of commercial databases: Oracle ([`tns`]), SQL Server ([`tds`]), Db2
//! and Derby ([`drda`]), Informix ([`informix`]).
//!
//! Crate `wire` lists them with the others and detects the protocol of a connection.

#![forbid(unsafe_code)]

pub mod drda;
pub mod informix;
pub mod tds;
pub mod tns;
