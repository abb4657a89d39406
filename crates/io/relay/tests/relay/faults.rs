//! Unreachable servers and unavailable listening addresses.

use crate::recorder::Recorder;
use crate::stand::{listen, relay_to};
use relay::{Options, probe};
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use sys::{Blame, Clock, LiveError, Target};

fn start(listen: &str, target: &str) -> Result<relay::Relay, LiveError> {
    let options = Options {
        listen: listen.parse().expect("valid"),
        target: Target::parse(target).expect("valid"),
        link: None,
        sparing: None,
        tls: relay::RelayTls::default(),
        plain_clients: sys::listening::PlainClients::default(),
        numbers: relay::ConnectionNumbers::default(),
    };
    relay::start(options, Clock::anchored_now(), Arc::new(Recorder::default()))
}

#[test]
fn a_refusing_server_closes_the_client_and_is_counted() {
    let (listener, address) = listen();
    drop(listener);
    let stand = relay_to(address);
    let mut client = stand.connect();
    assert!(
        client.read(&mut [0; 1]).is_err(),
        "reset, as the server's refusal would be"
    );
    let counters = stand.until(|counters| counters.failed == 1);
    let error = counters.last_error.expect("kept");
    assert_eq!(
        error,
        LiveError::Refused {
            server: address.to_string(),
            address
        }
    );
    assert_eq!(error.blame(), Blame::Server);
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains(&address.port().to_string()))
    );
    let (counters, stories) = stand.stop();
    assert_eq!((counters.open, stories.len()), (0, 0), "nothing to observe");
}

#[test]
fn a_second_address_is_tried_when_the_first_refuses() {
    let (listener, address) = listen();
    // `localhost` is often ::1 first, where nothing listens.
    let stand = crate::stand::relay_to_target(&format!("tcp://localhost:{}", address.port()));
    let _client = stand.connect();
    drop(crate::stand::accept(&listener));
    stand.until(|counters| counters.accepted == 1 && counters.failed == 0);
}

#[test]
fn a_probe_tells_what_is_wrong_before_anything_starts() {
    let (listener, address) = listen();
    let target = |text: String| Target::parse(&text).expect("valid");
    assert!(probe(&target(format!("tcp://{address}")), Duration::from_secs(5)).is_ok());
    drop(listener);
    let refused = probe(&target(format!("tcp://{address}")), Duration::from_secs(5)).expect_err("refused");
    assert!(matches!(refused, LiveError::Refused { .. }), "{refused}");
    let unknown = probe(
        &target("tcp://no-such-host.invalid:1".to_owned()),
        Duration::from_secs(5),
    );
    assert_eq!(
        unknown,
        Err(LiveError::NoSuchHost {
            host: "no-such-host.invalid".to_owned()
        })
    );
}

#[test]
fn an_address_that_cannot_be_listened_on_is_told() {
    let (_listener, taken) = listen();
    let error = start(&taken.to_string(), "tcp://127.0.0.1:9").expect_err("in use");
    assert_eq!(error, LiveError::PortInUse { address: taken });
    let error = start("192.0.2.1:0", "tcp://127.0.0.1:9").expect_err("not this machine's");
    assert!(matches!(error, LiveError::AddressNotHere { .. }), "{error}");
    let error = start("127.0.0.1:0", "tcp://no-such-host.invalid:9").expect_err("unknown");
    assert_eq!(error.to_string(), "no such host: 'no-such-host.invalid'");
}

#[test]
fn a_relay_to_itself_is_refused_under_every_name() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("it has one").port();
    drop(free);
    for (listen, target) in [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "localhost"),
        ("0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0"),
    ] {
        let refused = start(&format!("{listen}:{port}"), &format!("tcp://{target}:{port}"));
        let error = refused.expect_err("it would connect to itself");
        assert!(
            matches!(error, LiveError::LeadsToItself { .. }),
            "{listen} {target}: {error}"
        );
    }
}

#[test]
fn tls_that_was_asked_for_is_not_shown_in_plain_text_to_other_machines() {
    let error = start("0.0.0.0:0", "postgres://127.0.0.1:1/x?sslmode=require").expect_err("refused");
    assert!(matches!(error, LiveError::PlainClients { .. }), "{error}");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("--allow-plain-clients"))
    );
    start("127.0.0.1:0", "postgres://127.0.0.1:1/x?sslmode=require").expect("loopback is this machine alone");
    start("0.0.0.0:0", "postgres://127.0.0.1:1/x").expect("TLS is the clients', as they like");
}
