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

fn asks(conversation: &mut Conversation, stream: u32, time: u64, target: &str) {
    let request = (CLIENT, Role::Request);
    says(conversation, stream, request, time, call(target.as_bytes()));
}

fn answers(conversation: &mut Conversation, stream: u32, role: Role, time: u64) {
    says(conversation, stream, (SERVER, role), time, Content::Other);
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
        asks(&mut conversation, stream, time, name);
    }
    answers(&mut conversation, 5, Role::ReplyPart, 32);
    answers(&mut conversation, 1, Role::ReplyPart, 33);
    answers(&mut conversation, 5, Role::Reply, 34);
    answers(&mut conversation, 3, Role::Reply, 39);
    answers(&mut conversation, 1, Role::Reply, 60);
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
    answers(&mut conversation, CONTROL_STREAM, Role::Notice, 15);
    asks(&mut conversation, 1, 20, "/s.A/One");
    answers(&mut conversation, CONTROL_STREAM, Role::Notice, 25);
    answers(&mut conversation, 1, Role::Reply, 33);
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
    asks(&mut conversation, 1, 20, "/s.A/One");
    asks(&mut conversation, 3, 20, "/s.A/Two");
    says(&mut conversation, 1, (CLIENT, Role::OneWay), 25, Content::Other);
    answers(&mut conversation, 3, Role::Reply, 30);
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
    asks(&mut conversation, 1, 20, "/s.A/One");
    asks(&mut conversation, 3, 20, "/s.A/Two");
    says(&mut conversation, 0, (SERVER, Role::Opaque), 30, Content::Cut);
    answers(&mut conversation, 3, Role::Reply, 31);
    asks(&mut conversation, 5, 40, "/s.A/Three");
    answers(&mut conversation, 5, Role::Reply, 50);
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
    asks(&mut conversation, 3, 20, "/s.A/Two");
    answers(&mut conversation, 1, Role::Reply, 25);
    answers(&mut conversation, 3, Role::Reply, 30);
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

#[test]
fn a_wait_for_a_window_is_a_round_trip_within_its_exchange() {
    let mut conversation = Conversation::new();
    asks(&mut conversation, 1, 20, "/s.A/Big");
    asks(&mut conversation, 3, 21, "/s.A/Small");
    answers(&mut conversation, 1, Role::ReplyPart, 30);
    answers(&mut conversation, 1, Role::ReplyPause, 30);
    says(&mut conversation, 1, (CLIENT, Role::Request), 31, Content::Other);
    answers(&mut conversation, 3, Role::Reply, 32);
    answers(&mut conversation, 1, Role::Reply, 41);
    let (exchanges, closed) = conversation.finish();
    let found: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| {
            let name = exchange.fingerprint.as_deref().unwrap_or_default();
            (name, exchange.turns, exchange.more.len(), exchange.executions)
        })
        .collect();
    assert_eq!(found, [("/s.A/Small", 1, 0, 1), ("/s.A/Big", 2, 1, 1)]);
    assert_eq!(closed.turns, 4);
}

/// Joined in the middle: the path is in the table of header fields.
#[test]
fn a_request_without_a_path_is_an_execution_that_was_not_seen() {
    let mut conversation = Conversation::new();
    asks(&mut conversation, 1, 20, "");
    answers(&mut conversation, 1, Role::Reply, 30);
    let (exchanges, _) = conversation.finish();
    let exchange = &exchanges[1];
    assert_eq!((exchange.turns, exchange.executions), (1, 1));
    assert_eq!(
        (exchange.fingerprint.as_deref(), exchange.not_seen),
        (None, Some(NotSeen::PreparedBefore))
    );
}
