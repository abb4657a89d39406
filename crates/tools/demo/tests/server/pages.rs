//! Both variants of the page show the same content: once, repeatedly, and with many clients.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use demo::{Error, FetchedPage, PageVariant, Server, ShopApplication};

use crate::raw::Raw;

fn page(server: SocketAddr, variant: PageVariant) -> FetchedPage {
    ShopApplication::new().page(server, variant).expect("a page")
}

#[test]
fn both_variants_show_the_same_content_in_different_numbers_of_statements() {
    let server = Server::start(crate::listener()).expect("a server");
    let chatty = page(server.address(), PageVariant::Chatty);
    let joined = page(server.address(), PageVariant::Joined);
    assert_eq!(chatty.rows, 12);
    assert_eq!((chatty.rows, chatty.checksum), (joined.rows, joined.checksum));
    assert_eq!((chatty.statements, joined.statements), (1 + 2 * chatty.rows, 1));
}

#[test]
fn the_checksum_depends_on_what_is_shown() {
    let server = Server::start(crate::listener()).expect("a server");
    let before = page(server.address(), PageVariant::Chatty).checksum;
    let mut client = Raw::log_in(server.address());
    client.query("UPDATE authors SET name = name || '!' WHERE id = (SELECT author_id FROM products LIMIT 1)");
    let chatty = page(server.address(), PageVariant::Chatty).checksum;
    assert_ne!(before, chatty);
    assert_eq!(chatty, page(server.address(), PageVariant::Joined).checksum);
}

#[test]
fn fifty_connections_at_once_all_get_the_page() {
    let server = Server::start(crate::listener()).expect("a server");
    let address = server.address();
    let variant = |number: usize| {
        if number.is_multiple_of(2) {
            PageVariant::Chatty
        } else {
            PageVariant::Joined
        }
    };
    // All log in before the first requests a page, so that they are connected together.
    let idle: Vec<_> = (0..50).map(|_| Raw::log_in(address)).collect();
    let visitors: Vec<_> = (0..50)
        .map(|n| thread::spawn(move || page(address, variant(n)).checksum))
        .collect();
    let seen: HashSet<u64> = visitors
        .into_iter()
        .map(|visitor| visitor.join().expect("a page"))
        .collect();
    assert_eq!(seen.len(), 1);
    for mut client in idle {
        assert!(client.query("SELECT count(*) FROM products").contains("48"));
    }
}

#[test]
fn twenty_restarts_leave_no_port_and_no_thread_and_show_the_same_page() {
    let mut checksums = HashSet::new();
    for _ in 0..20 {
        let server = Server::start(crate::listener()).expect("a server");
        let address = server.address();
        let mut lasting = Raw::log_in(address);
        checksums.insert(page(address, PageVariant::Chatty).checksum);
        drop(server);
        assert!(lasting.is_closed(), "a connection outlived its server");
        // The port is closed and can be bound again.
        assert!(TcpStream::connect(address).is_err());
        drop(TcpListener::bind(address).expect("the port of a stopped server"));
    }
    assert_eq!(checksums.len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stopped_server_leaves_no_thread() {
    // Identified by its thread's name; other tests of this process have servers too, so this one
    // runs in a child.
    if std::env::var_os(ALONE).is_none() {
        let this = std::env::current_exe().expect("this test program");
        let child = std::process::Command::new(this)
            .args([
                "--exact",
                "pages::a_stopped_server_leaves_no_thread",
                "--test-threads=1",
            ])
            .env(ALONE, "1")
            .status();
        assert!(child.expect("a child process").success());
        return;
    }
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("threads of this process");
        let names = tasks.map(|task| std::fs::read_to_string(task.expect("a thread").path().join("comm")));
        names
            .filter(|name| name.as_ref().is_ok_and(|name| name.trim() == "demo-server"))
            .count()
    };
    let server = Server::start(crate::listener()).expect("a server");
    page(server.address(), PageVariant::Chatty);
    assert_eq!(threads(), 1);
    drop(server);
    assert_eq!(threads(), 0);
}

#[test]
fn a_server_stops_while_a_statement_runs() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    client.send(
        b'Q',
        b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n\0",
    );
    // The server may read the statement before or after the request to stop: both must end.
    let started = std::time::Instant::now();
    drop(server);
    assert!(started.elapsed().as_secs() < 20, "the statement held up the end");
    assert!(client.is_closed());
}

#[test]
fn a_client_that_vanishes_leaves_the_server_as_it_was() {
    let server = Server::start(crate::listener()).expect("a server");
    let before = page(server.address(), PageVariant::Chatty).checksum;
    for bytes in [
        &b""[..],
        b"\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 64],
        &[0; 4096],
    ] {
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        stream.write_all(bytes).expect("some bytes");
    }
    // A malformed message ends only its own connection.
    let mut confused = Raw::log_in(server.address());
    confused.send(b'B', b"\0");
    assert!(confused.is_closed());
    let mut client = Raw::log_in(server.address());
    client.query("BEGIN");
    client.query("DELETE FROM reviews");
    client.send(b'Q', b"SELECT * FROM products\0");
    drop(client);
    // The open transaction ended with its client.
    assert_eq!(page(server.address(), PageVariant::Chatty).checksum, before);
}

#[test]
fn a_writer_that_waits_for_another_goes_on_when_that_one_commits() {
    let server = Server::start(crate::listener()).expect("a server");
    let address = server.address();
    let mut first = Raw::log_in(address);
    first.query("BEGIN");
    first.query("UPDATE authors SET name = 'first' WHERE id = 1");
    let second =
        thread::spawn(move || Raw::log_in(address).query("UPDATE authors SET name = 'second' WHERE id = 1"));
    // Other connections are served while one waits.
    let mut third = Raw::log_in(address);
    assert!(third.query("SELECT count(*) FROM reviews").contains("SELECT 1"));
    first.query("COMMIT");
    assert!(second.join().expect("an answer").contains("UPDATE 1"));
    assert!(
        first
            .query("SELECT name FROM authors WHERE id = 1")
            .contains("second")
    );
}

#[test]
fn nobody_listening_is_a_connect_error_that_names_the_address() {
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|port| port.local_addr())
        .expect("a free port");
    let failure = ShopApplication::new()
        .page(address, PageVariant::Joined)
        .expect_err("no server");
    assert!(matches!(failure, Error::Connect { server, .. } if server == address));
    assert!(failure.to_string().contains(&address.to_string()));
}

#[test]
fn a_server_that_talks_nonsense_or_leaves_is_named_in_the_error() {
    let cases: [(&[u8], Expected); 4] = [
        (b"", |failure| {
            matches!(
                failure,
                Error::Closed {
                    doing: "logging in",
                    ..
                }
            )
        }),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", |failure| {
            matches!(failure, Error::Malformed { tag: 'H', .. })
        }),
        (b"R\0\0\0\x03", |failure| {
            matches!(failure, Error::Malformed { tag: 'R', .. })
        }),
        (b"R\0\0\0\x08\0\0\0\x03", |failure| {
            matches!(failure, Error::Malformed { tag: 'R', .. })
        }),
    ];
    for (reply, expected) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut startup = [0; 16];
            stream.read_exact(&mut startup).expect("a startup message");
            stream.write_all(reply).expect("room for the reply");
            stream
                .shutdown(std::net::Shutdown::Write)
                .expect("an open connection");
            // Read to the end, so that no reset discards the reply.
            stream
                .read_to_end(&mut Vec::new())
                .expect("the client's last bytes");
        });
        let failure = ShopApplication::new()
            .page(address, PageVariant::Chatty)
            .expect_err("no shop");
        assert!(expected(&failure), "{failure:?}");
        server.join().expect("the nonsense server");
    }
}

type Expected = fn(&Error) -> bool;

#[cfg(target_os = "linux")]
const ALONE: &str = "LONGWIRE_DEMO_TEST_ALONE";
