//! Detects proxies that would connect to themselves, directly or through others: each connection
//! would open the next until no descriptor is left.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use sys::listening::leads_to;

/// An enabled proxy and its upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: String,
}

/// Whether connections to `upstream` reach a proxy listening at `listen`. Blocks for name
/// resolution, unless the port already excludes it.
pub(crate) fn comes_back(listen: SocketAddr, upstream: &str, routes: &[Route]) -> bool {
    let mut followed = BTreeSet::new();
    let mut next = vec![upstream];
    while let Some(upstream) = next.pop() {
        let candidates: Vec<(usize, &Route)> = routes
            .iter()
            .enumerate()
            .filter(|(number, route)| !followed.contains(number) && has_port(upstream, route.listen.port()))
            .collect();
        if candidates.is_empty() && !has_port(upstream, listen.port()) {
            continue;
        }
        // An unknown name is no loop.
        let addresses: Vec<SocketAddr> = upstream.to_socket_addrs().into_iter().flatten().collect();
        if addresses.iter().any(|address| leads_to(*address, listen)) {
            return true;
        }
        for (number, route) in candidates {
            if addresses.iter().any(|address| leads_to(*address, route.listen)) && followed.insert(number) {
                next.push(&route.upstream);
            }
        }
    }
    false
}

fn has_port(upstream: &str, port: u16) -> bool {
    let text = upstream.rsplit_once(':').map(|(_, text)| text);
    text.and_then(|text| text.parse().ok()) == Some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(listen: &str, upstream: &str) -> Route {
        Route {
            listen: listen.parse().expect("an address"),
            upstream: upstream.to_owned(),
        }
    }

    fn is_loop(listen: &str, upstream: &str, routes: &[Route]) -> bool {
        comes_back(listen.parse().expect("an address"), upstream, routes)
    }

    #[test]
    fn a_proxy_onto_itself_is_recognised_under_every_name() {
        for (listen, upstream) in [
            ("127.0.0.1:5", "127.0.0.1:5"),
            ("127.0.0.1:5", "localhost:5"),
            ("127.0.0.1:5", "0.0.0.0:5"),
            ("0.0.0.0:5", "localhost:5"),
            ("[::]:5", "127.0.0.1:5"),
            ("[::]:5", "[::1]:5"),
        ] {
            assert!(is_loop(listen, upstream, &[]), "{listen} {upstream}");
        }
        for upstream in ["127.0.0.1:6", "127.0.0.2:5", "no such host:5", "nonsense"] {
            assert!(!is_loop("127.0.0.1:5", upstream, &[]), "{upstream}");
        }
    }

    #[test]
    fn a_circle_of_proxies_is_recognised_and_a_circle_elsewhere_is_left_in_peace() {
        let routes = [
            route("127.0.0.1:6", "localhost:7"),
            route("0.0.0.0:7", "127.0.0.1:5"),
            route("127.0.0.1:8", "127.0.0.1:9"),
            route("127.0.0.1:9", "127.0.0.1:8"),
        ];
        assert!(is_loop("127.0.0.1:5", "127.0.0.1:6", &routes));
        assert!(!is_loop("127.0.0.1:4", "127.0.0.1:6", &routes));
        assert!(!is_loop("127.0.0.1:5", "127.0.0.1:8", &routes));
    }
}
