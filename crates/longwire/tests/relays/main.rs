//! Traffic through relays and tunnels of the real binary to real servers.

mod advise;
mod check;
mod distance;
mod exports;
mod findings;
mod held;
mod hostile;
mod http;
mod poolers;
mod redis;
mod relay;
mod session;
mod spare;
mod targets;
mod tls;
mod toxiproxy;
mod tunnel_clients;
mod tunnel_port;
mod typed;
mod watch;
