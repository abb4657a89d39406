use super::*;

fn service(clients: ClientSide) -> ListeningService<'static> {
    ListeningService {
        name: "the relay to db1:5432",
        exposes: "connect to db1:5432",
        clients,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn warned(text: &str) -> Option<String> {
    warning(address(text), true, &service(ClientSide::AsClientsLike))
}

#[test]
fn beyond_loopback_the_bound_address_is_named_and_what_it_stands_for() {
    for own in ["127.0.0.1:5", "127.9.8.7:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
        assert_eq!(warned(own), None, "{own}");
    }
    for (bound, said) in [
        (
            "0.0.0.0:5433",
            " at 0.0.0.0:5433 (every IPv4 address of this machine): ",
        ),
        (
            "[::]:5433",
            " at [::]:5433 (every IPv4 and IPv6 address of this machine): ",
        ),
        ("192.0.2.1:5433", " at 192.0.2.1:5433: "),
        ("[fe80::1]:5433", " at [fe80::1]:5433: "),
    ] {
        let text = warned(bound).expect("a warning");
        assert!(
            text.starts_with("the relay to db1:5432 ") && text.contains(said),
            "{text}"
        );
    }
}

#[test]
fn the_port_that_was_chosen_is_in_what_is_returned() {
    let (_listener, bound) =
        listen(address("127.0.0.1:0"), &service(ClientSide::AsClientsLike)).expect("free");
    assert_ne!(bound.port(), 0);
}

#[test]
fn plain_clients_before_tls_are_refused_beyond_loopback_unless_allowed() {
    let refused = service(ClientSide::PlainBeforeTls(PlainClients::Refused));
    for beyond in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = listen(address(beyond), &refused).expect_err("refused");
        assert!(matches!(error, LiveError::PlainClients { .. }), "{error}");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("--allow-plain-clients"))
        );
    }
    for here in ["127.0.0.1:0", "[::ffff:127.0.0.1]:0"] {
        listen(address(here), &refused).expect("loopback is not refused");
    }
    let allowed = service(ClientSide::PlainBeforeTls(PlainClients::Allowed));
    listen(address("0.0.0.0:0"), &allowed).expect("it is allowed");
    let text = warning(address("0.0.0.0:1"), false, &allowed).expect("a warning");
    assert!(text.contains("plain text"), "{text}");
}

#[test]
fn the_loopback_is_here_and_a_documentation_address_is_not() {
    assert!(is_own_address([127, 0, 0, 1].into()));
    assert!(!is_own_address([192, 0, 2, 1].into()));
}

#[test]
fn an_upstream_that_is_the_listener_itself_is_recognised_under_every_name() {
    for (upstream, listener) in [
        ("127.0.0.1:5", "127.0.0.1:5"),
        ("[::ffff:127.0.0.1]:5", "127.0.0.1:5"),
        ("127.0.0.1:5", "0.0.0.0:5"),
        ("127.0.0.9:5", "0.0.0.0:5"),
        ("0.0.0.0:5", "127.0.0.1:5"),
        ("0.0.0.0:5", "[::]:5"),
        ("127.0.0.1:5", "[::]:5"),
        ("[::]:5", "[::1]:5"),
    ] {
        assert!(
            leads_to(address(upstream), address(listener)),
            "{upstream} {listener}"
        );
    }
    for (upstream, listener) in [
        ("127.0.0.1:6", "127.0.0.1:5"),
        ("127.0.0.2:5", "127.0.0.1:5"),
        ("192.0.2.1:5", "0.0.0.0:5"),
        ("0.0.0.0:5", "192.0.2.1:5"),
        ("[::1]:5", "0.0.0.0:5"),
    ] {
        assert!(
            !leads_to(address(upstream), address(listener)),
            "{upstream} {listener}"
        );
    }
}

#[test]
fn addresses_collide_where_the_second_could_not_be_listened_on() {
    for (one, other) in [
        ("127.0.0.1:5", "127.0.0.1:5"),
        ("127.0.0.1:5", "0.0.0.0:5"),
        ("[::]:5", "127.0.0.1:5"),
        ("[::]:5", "0.0.0.0:5"),
        ("[::1]:5", "[::]:5"),
    ] {
        assert!(collide(address(one), address(other)) && collide(address(other), address(one)));
    }
    for (one, other) in [
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:5", "127.0.0.2:5"),
        ("127.0.0.1:5", "127.0.0.1:6"),
        ("[::1]:5", "0.0.0.0:5"),
    ] {
        assert!(!collide(address(one), address(other)), "{one} {other}");
    }
}
