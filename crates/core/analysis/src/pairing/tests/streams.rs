//! Exchanges on streams of one connection.

use super::*;

const CONTROL_STREAM: u32 = Message::CONTROL_STREAM;

const CLIENT: Direction = Direction::ClientToServer;
const SERVER: Direction = Direction::ServerToClient;

fn says(
    conversation: &mut Conversation,
    stream: u32,
    (direction, role): (Direction, Role),
    time: u64,
    content: Content<'_>,
) {
    let message = Message {
        stream,
        protocol: Protocol::Http2,
        direction,
        started: at(time),
        ended: at(time),
        bytes: 100,
        role,
        phase: Phase::Work,
        content,
    };
    let facts = &mut conversation.facts;
    let pairing = &mut conversation.pairing;
    pairing.segment(direction, message.ended, None);
    pairing.message(
        &message,
        Protocol::Http2,
        &mut conversation.fingerprints,
        &mut |fact| {
            facts.push(fact);
        },
    );
}

fn call(target: &[u8]) -> Content<'_> {
    Content::HttpRequest {
        method: b"",
        target,
        request: None,
        span: None,
    }
}

#[test]
fn replies_complete_their_stream_in_any_order() {
    let mut conversation = Conversation::new();
    for (stream, time, name) in [(1, 20, "/s.A/One"), (3, 21, "/s.A/Two"), (5, 22, "/s.A/Three")] {
        says(
            &mut conversation,
            stream,
            (CLIENT, Role::Request),
            time,
            call(name.as_bytes()),
        );
    }
    says(
        &mut conversation,
        5,
        (SERVER, Role::ReplyPart),
        32,
        Content::Other,
    );
    says(
        &mut conversation,
        1,
        (SERVER, Role::ReplyPart),
        33,
        Content::Other,
    );
    says(&mut conversation, 5, (SERVER, Role::Reply), 34, Content::Other);
    says(&mut conversation, 3, (SERVER, Role::Reply), 39, Content::Other);
    says(&mut conversation, 1, (SERVER, Role::Reply), 60, Content::Other);
    let (exchanges, closed) = conversation.finish();
    let found: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| {
            let name = exchange.fingerprint.as_deref().unwrap_or_default();
            let server = exchange.first.server.as_millis();
            (name, exchange.turns, exchange.reply_bytes, server)
        })
        .collect();
    // Each waited for itself: no earlier reply shortens its server time.
    assert_eq!(
        found,
        [
            ("/s.A/Three", 1, 200, 2),
            ("/s.A/Two", 1, 100, 10),
            ("/s.A/One", 1, 200, 5)
        ]
    );
    assert_eq!((closed.turns, closed.exchanges), (4, 4));
}

#[test]
fn control_frames_are_no_exchange_and_the_clients_travel_with_its_next_request() {
    let mut conversation = Conversation::new();
    says(
        &mut conversation,
        CONTROL_STREAM,
        (CLIENT, Role::OneWay),
        11,
        Content::Other,
    );
    says(
        &mut conversation,
        CONTROL_STREAM,
        (SERVER, Role::Notice),
        15,
        Content::Other,
    );
    says(
        &mut conversation,
        1,
        (CLIENT, Role::Request),
        20,
        call(b"/s.A/One"),
    );
    says(
        &mut conversation,
        CONTROL_STREAM,
        (SERVER, Role::Notice),
        25,
        Content::Other,
    );
    says(&mut conversation, 1, (SERVER, Role::Reply), 33, Content::Other);
    says(
        &mut conversation,
        CONTROL_STREAM,
        (CLIENT, Role::OneWay),
        34,
        Content::Other,
    );
    let (exchanges, closed) = conversation.finish();
    assert_eq!(closed.turns, 2);
    let [_, exchange] = exchanges.as_slice() else {
        panic!("{exchanges:?}");
    };
    assert_eq!((exchange.request_bytes, exchange.reply_bytes), (200, 100));
    assert_eq!(exchange.first.server, Duration::from_millis(5));
}

#[test]
fn a_cancelled_stream_ends_without_a_round_trip() {
    let mut conversation = Conversation::new();
    says(
        &mut conversation,
        1,
        (CLIENT, Role::Request),
        20,
        call(b"/s.A/One"),
    );
    says(
        &mut conversation,
        3,
        (CLIENT, Role::Request),
        20,
        call(b"/s.A/Two"),
    );
    says(&mut conversation, 1, (CLIENT, Role::OneWay), 25, Content::Other);
    says(&mut conversation, 3, (SERVER, Role::Reply), 30, Content::Other);
    let (exchanges, _) = conversation.finish();
    let found: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| (exchange.turns, exchange.error.as_deref()))
        .collect();
    assert_eq!(found, [(0, Some("cancelled")), (1, None)]);
}

#[test]
fn lost_bytes_of_the_server_mix_up_no_streams() {
    let mut conversation = Conversation::new();
    says(
        &mut conversation,
        1,
        (CLIENT, Role::Request),
        20,
        call(b"/s.A/One"),
    );
    says(
        &mut conversation,
        3,
        (CLIENT, Role::Request),
        20,
        call(b"/s.A/Two"),
    );
    says(&mut conversation, 0, (SERVER, Role::Opaque), 30, Content::Cut);
    says(&mut conversation, 3, (SERVER, Role::Reply), 31, Content::Other);
    says(
        &mut conversation,
        5,
        (CLIENT, Role::Request),
        40,
        call(b"/s.A/Three"),
    );
    says(&mut conversation, 5, (SERVER, Role::Reply), 50, Content::Other);
    let (exchanges, closed) = conversation.finish_seen();
    let found: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| {
            (
                exchange.fingerprint.as_deref(),
                exchange.turns,
                exchange.error.as_deref(),
            )
        })
        .collect();
    let expected = [Some("/s.A/Two"), Some("/s.A/Three"), Some("/s.A/One")];
    assert_eq!(found, expected.map(|name| (name, 1, None)));
    assert_eq!(closed.turns, 4);
}

#[test]
fn a_reply_to_an_unseen_request_is_no_round_trip() {
    let mut conversation = Conversation::new();
    says(
        &mut conversation,
        3,
        (CLIENT, Role::Request),
        20,
        call(b"/s.A/Two"),
    );
    says(&mut conversation, 1, (SERVER, Role::Reply), 25, Content::Other);
    says(&mut conversation, 3, (SERVER, Role::Reply), 30, Content::Other);
    let (exchanges, closed) = conversation.finish();
    assert_eq!(
        exchanges
            .iter()
            .map(|exchange| exchange.turns)
            .collect::<Vec<_>>(),
        [1, 0, 1]
    );
    assert_eq!(closed.turns, 2);
}
