//! Round trips: of a server by its own protocol ([`ping`]), and of the path between two longwires ([`echo`]).
//!
//! It asks one thing at a time and knows when; what the times mean is said in `report`. It may open
//! connections of `client`, and sockets of its own where a protocol's first message is enough.
//!
//! Start reading at [`ping`].

#![forbid(unsafe_code)]

pub mod echo;
pub mod ping;
