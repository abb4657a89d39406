//! HTTP/2 and gRPC: streams, names, also from the middle of a connection.

mod streams;

use model::{Direction, Protocol, Role};
use streams::{Recording, Seen, play, play_joined, play_with_sides, recordings};

fn recording(name: &str) -> Recording {
    let mut all = recordings().into_iter();
    all.find(|recording| recording.path.ends_with(format!("{name}.stream")))
        .expect("the recording is there")
}

fn count(seen: &[Seen], direction: Direction, role: Role) -> usize {
    let of_both = |message: &&Seen| message.direction == direction && message.role == role;
    seen.iter().filter(of_both).count()
}

fn named(seen: &[Seen], name: &str) -> usize {
    seen.iter().filter(|message| message.what.contains(name)).count()
}

/// Requests and replies as the clients counted them, and tshark.
#[test]
fn streams_are_as_many_as_the_clients_count() {
    for (name, exchanges) in [
        ("curl-get", 1),
        ("curl-post", 1),
        ("h2load-five-at-once", 20),
        // Ten in a row, two that fail, a stream of replies, one of requests, three messages of a
        // conversation and its end, ten at once.
        ("grpcio-calls", 28),
        ("etcd-put", 1),
        ("etcd-watch", 1),
    ] {
        let recording = recording(name);
        let (seen, stream) = play(recording.server_port, &recording.segments);
        assert_eq!(
            (stream.protocol(), stream.decoding().opaque),
            (Protocol::Http2, None),
            "{name}"
        );
        let found = [
            count(&seen, Direction::ClientToServer, Role::Request),
            count(&seen, Direction::ServerToClient, Role::Reply),
        ];
        assert_eq!(found, [exchanges; 2], "{name}");
    }
}

#[test]
fn calls_are_named_and_their_status_is_the_error() {
    let recording = recording("grpcio-calls");
    let (seen, _) = play(recording.server_port, &recording.segments);
    for (name, times) in [
        ("/shop.v1.Cart/Get", 10),
        ("/shop.v1.Cart/Slow", 10),
        ("/shop.v1.Cart/Fail", 2),
        ("/shop.v1.Cart/Chat", 4),
        ("Error grpc-status 5", 2),
    ] {
        assert_eq!(named(&seen, name), times, "{name}");
    }
}

/// Of httpx, with nginx before moto and graphql-yoga.
#[test]
fn requests_of_stores_have_the_names_errors_and_rows_of_their_dialects() {
    for (name, protocol, expected) in [
        (
            "httpx-dynamodb-nginx",
            Protocol::Dynamodb,
            [
                ("Call Words GetItem Birds", 2),
                ("Call FirstPage { rows: 2 } Scan Birds", 1),
                ("Call NextPage Scan Birds", 1),
                ("Done", 2),
                ("HttpResponse 400", 1),
            ],
        ),
        (
            "httpx-graphql-nginx",
            Protocol::Graphql,
            [
                ("Call Words query Bird", 2),
                ("Error errors", 1),
                ("HttpResponse 200", 2),
                ("HttpRequest", 0),
                ("Done", 0),
            ],
        ),
    ] {
        let recording = recording(name);
        let (seen, stream) = play(recording.server_port, &recording.segments);
        assert_eq!(stream.protocol(), protocol);
        for (what, times) in expected {
            assert_eq!(named(&seen, what), times, "{name}: {what}");
        }
    }
}

/// The headers show which side is the client, without the handshake and at any port.
#[test]
fn in_the_middle_of_a_connection_sides_are_those_of_the_heads() {
    let recording = recording("grpcio-calls");
    let mut decided = 0;
    for begin in 12..recording.segments.len() - 12 {
        let segments = &recording.segments[begin..];
        let (_, stream, is_reversed) = play_with_sides(40_000, segments);
        if stream.protocol() == Protocol::Http2 {
            assert!(!is_reversed, "from segment {begin}");
            decided += 1;
        }
    }
    assert!(decided > 20, "{decided}");
}

/// The table of header fields is lost: names are found again where they are sent as text.
#[test]
fn in_the_middle_of_a_connection_streams_are_paired_without_their_names() {
    let recording = recording("grpcio-calls");
    let (seen, stream) = play_joined(recording.server_port, &recording.segments[12..]);
    assert_eq!(
        (stream.protocol(), stream.decoding().opaque),
        (Protocol::Http2, None)
    );
    let [requests, replies] = [
        count(&seen, Direction::ClientToServer, Role::Request),
        count(&seen, Direction::ServerToClient, Role::Reply),
    ];
    assert!(
        (20..28).contains(&requests) && requests.abs_diff(replies) <= 1,
        "{requests} {replies}"
    );
    assert_eq!(named(&seen, "/shop.v1.Cart/Get"), 0);
    assert_eq!(named(&seen, "/shop.v1.Cart/Slow"), 10);
}

/// 9,000 bytes with a window of 4,095: two waits in each of two replies.
#[test]
fn replies_beyond_the_window_wait_for_its_updates() {
    let recording = recording("h2load-small-window");
    let (seen, _) = play(recording.server_port, &recording.segments);
    let of_both = |role_of_client, role_of_server| {
        [
            count(&seen, Direction::ClientToServer, role_of_client),
            count(&seen, Direction::ServerToClient, role_of_server),
        ]
    };
    assert_eq!(of_both(Role::Request, Role::Reply), [2 + 4, 2]);
    assert_eq!(count(&seen, Direction::ServerToClient, Role::ReplyPause), 4);
}

/// `Upgrade: h2c`: the first request is of HTTP/1 and answered on stream 1.
#[test]
fn an_upgraded_connection_goes_on_as_http_2() {
    let recording = recording("curl-upgrade");
    let (seen, stream) = play(recording.server_port, &recording.segments);
    assert_eq!(stream.decoding().opaque, None);
    let found = [
        count(&seen, Direction::ClientToServer, Role::Request),
        count(&seen, Direction::ServerToClient, Role::Reply),
    ];
    assert_eq!((found, named(&seen, "/small")), ([2, 2], 2));
}

/// The signature alone, which is sent as text each time, would be one of another service.
#[test]
fn in_the_middle_of_a_connection_a_store_is_not_guessed() {
    let recording = recording("httpx-dynamodb-nginx");
    let (seen, stream) = play_joined(recording.server_port, &recording.segments[9..]);
    assert_eq!(stream.protocol(), Protocol::Http2);
    assert_eq!(named(&seen, "HttpRequest POST /"), 4);
    assert_eq!(named(&seen, "Call"), 0);
}
