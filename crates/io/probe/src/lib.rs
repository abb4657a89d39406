//! Round trips of a server in its own protocol ([`ping`]), and of the path between two longwires
//! ([`echo`]).

#![forbid(unsafe_code)]

pub mod echo;
pub mod ping;
