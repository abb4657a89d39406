//! Which side of a connection is the server, when the handshake does not tell.

/// Whether the first port is more likely the server's. Conditions, the first that tells decides:
///
/// 1. a port of [`WELL_KNOWN`] against one that is not;
/// 2. a port below 1024 (IANA's system ports) against one that is not;
/// 3. a port below 32768 (below Linux's ephemeral range) against one that is not;
/// 4. the lower port.
pub(crate) fn first_is_server(first: u16, second: u16) -> bool {
    rank(first) < rank(second)
}

fn rank(port: u16) -> (u8, u16) {
    let class = if WELL_KNOWN.contains(&port) {
        0
    } else if port < 1024 {
        1
    } else if port < 32_768 {
        2
    } else {
        3
    };
    (class, port)
}

/// Ports of databases, their proxies and HTTP.
static WELL_KNOWN: &[u16] = &[
    80, 443, 1433, 1521, 1522, 1526, 1527, 2484, 3050, 3306, 3307, 4000, 4333, 5000, 5236, 5432, 5433, 5439,
    6379, 6380, 6432, 6446, 6447, 8000, 8080, 8443, 8888, 9042, 9088, 9089, 11211, 15432, 26257, 27017,
    30015, 33060, 50000, 54321,
];
