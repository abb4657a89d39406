mod parameters;
mod server_margin;
mod streams;

use super::*;
use model::{
    ConnectionOutcome, ConnectionTotals, Decoding, Direction, NotSeen, PerDirection, RelayHandshake, Side,
    StatementId, TcpHandshake, TransactionState,
};
use std::net::{IpAddr, Ipv4Addr};

const SERVER_RTT: Duration = Duration::from_millis(8);
const CLIENT_RTT: Duration = Duration::from_millis(2);

fn at(milliseconds: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + milliseconds * 1_000_000)
}

fn endpoint(port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port,
    }
}

struct Conversation {
    pairing: Pairing,
    fingerprints: Fingerprints,
    facts: Vec<Fact>,
}

impl Conversation {
    /// The handshake ends at 10 ms.
    fn new() -> Self {
        let mut conversation = Self {
            pairing: Pairing::new(ConnectionId(0), at(0), endpoint(40_000), endpoint(5432), false),
            fingerprints: Fingerprints::default(),
            facts: Vec::new(),
        };
        let handshake = TcpHandshake {
            syn: at(0),
            syn_ack: at(8),
            ack: at(10),
        };
        conversation
            .pairing
            .handshake(handshake, &mut |fact| conversation.facts.push(fact));
        conversation
    }

    fn says(&mut self, direction: Direction, role: Role, times: (u64, u64), content: Content<'_>) {
        self.says_in(Phase::Work, direction, role, times, content);
    }

    fn says_in(
        &mut self,
        phase: Phase,
        direction: Direction,
        role: Role,
        times: (u64, u64),
        content: Content<'_>,
    ) {
        let message = Message {
            stream: 0,
            protocol: Protocol::Postgres,
            direction,
            started: at(times.0),
            ended: at(times.1),
            bytes: 100,
            role,
            phase,
            content,
        };
        self.pairing.segment(direction, message.ended, None);
        let facts = &mut self.facts;
        self.pairing.message(
            &message,
            Protocol::Postgres,
            &mut self.fingerprints,
            &mut |fact| facts.push(fact),
        );
    }

    fn client(&mut self, role: Role, time: u64) {
        self.says(Direction::ClientToServer, role, (time, time), Content::Other);
    }

    fn server(&mut self, role: Role, time: u64) {
        self.says(Direction::ServerToClient, role, (time, time), Content::Other);
    }

    fn finish(self) -> (Vec<Exchange>, ConnectionOutcome) {
        self.finish_with(ConnectionTotals::default())
    }

    /// The same, with packets of both directions.
    fn finish_seen(self) -> (Vec<Exchange>, ConnectionOutcome) {
        self.finish_with(ConnectionTotals {
            seen: PerDirection::splat(true),
            ..ConnectionTotals::default()
        })
    }

    fn finish_with(mut self, totals: ConnectionTotals) -> (Vec<Exchange>, ConnectionOutcome) {
        let decoding = Decoding {
            protocol: Protocol::Postgres,
            encrypted: false,
            opaque: None,
        };
        let facts = &mut self.facts;
        self.pairing
            .closed(at(1000), totals, decoding, &mut |fact| facts.push(fact));
        let mut exchanges = Vec::new();
        let mut closed = None;
        for fact in self.facts {
            match fact {
                Fact::Exchange { exchange, .. } => exchanges.push(*exchange),
                Fact::Closed(outcome) => closed = Some(*outcome),
                Fact::Opened { .. } | Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
            }
        }
        (exchanges, closed.expect("closed() hands out the connection"))
    }
}

#[test]
fn the_handshake_is_an_exchange_of_one_turn() {
    let (exchanges, outcome) = Conversation::new().finish();
    assert_eq!(exchanges.len(), 1);
    assert!(exchanges[0].is_handshake());
    assert_eq!((outcome.turns, outcome.exchanges), (1, 1));
    assert_eq!(outcome.rtt, Some(SERVER_RTT + CLIENT_RTT));
}

#[test]
fn server_time_is_the_wait_less_the_server_side_round_trip() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.server(Role::ReplyPart, 33);
    conversation.server(Role::Reply, 40);
    let (exchanges, outcome) = conversation.finish();
    let step = exchanges[1].first;
    assert_eq!(step.server, Duration::from_millis(5));
    assert_eq!(
        (step.reply_started, step.reply_ended),
        (Some(at(33)), Some(at(40)))
    );
    assert_eq!(outcome.turns, 2);
}

#[test]
fn a_server_time_below_zero_is_zero() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 21);
    assert_eq!(conversation.finish().0[1].first.server, Duration::ZERO);
}

#[test]
fn a_pipelined_request_joins_the_turn_under_way() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.client(Role::Request, 21);
    conversation.server(Role::Reply, 29);
    conversation.client(Role::Request, 30);
    conversation.server(Role::Reply, 33);
    conversation.server(Role::Reply, 43);
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(
        exchanges
            .iter()
            .map(|exchange| exchange.turns)
            .collect::<Vec<_>>(),
        [1, 1, 0, 0]
    );
    assert_eq!(outcome.turns, 2);
    // The second was there and back at 21 + 8; it waited for the first, whose reply passed at 29.
    assert_eq!(exchanges[2].first.server, Duration::from_millis(4));
    // The third's request came back at 30 + 8 at the earliest.
    assert_eq!(exchanges[3].first.server, Duration::from_millis(5));
}

#[test]
fn a_pipelining_client_that_waits_a_round_trip_for_a_reply_takes_another_turn() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.client(Role::Request, 21);
    conversation.server(Role::Reply, 31);
    conversation.client(Role::Request, 31);
    conversation.server(Role::Reply, 32);
    conversation.server(Role::Reply, 42);
    let (exchanges, _) = conversation.finish();
    assert_eq!(
        exchanges
            .iter()
            .map(|exchange| exchange.turns)
            .collect::<Vec<_>>(),
        [1, 1, 0, 1]
    );
    // The request was there and back at 31 + 8, after the reply before it (32).
    assert_eq!(exchanges[3].first.server, Duration::from_millis(3));
}

#[test]
fn a_pause_of_the_server_makes_a_second_turn_of_one_exchange() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.server(Role::ReplyPause, 30);
    conversation.client(Role::RequestPart, 40);
    conversation.client(Role::Request, 50);
    conversation.server(Role::Reply, 61);
    let (exchanges, _) = conversation.finish();
    assert_eq!(exchanges.len(), 2);
    assert_eq!(exchanges[1].turns, 2);
    assert_eq!(exchanges[1].more.len(), 1);
    assert_eq!(exchanges[1].server(), Duration::from_millis(2 + 3));
    assert_eq!(exchanges[1].request_bytes, 300);
}

#[test]
fn one_way_messages_and_unanswered_requests_are_no_turns() {
    let mut conversation = Conversation::new();
    conversation.client(Role::OneWay, 20);
    conversation.client(Role::Request, 30);
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(exchanges.len(), 3);
    assert_eq!(outcome.turns, 1);
}

#[test]
fn a_server_that_speaks_first_costs_a_turn() {
    let mut conversation = Conversation::new();
    conversation.server(Role::Greeting, 20);
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(outcome.turns, 2);
    assert_eq!(exchanges[1].phase, Phase::Connect);
    // The client's ACK passed at 10 ms; 8 ms of the wait are the way there and back.
    assert_eq!(exchanges[1].first.server, Duration::from_millis(2));
}

#[test]
fn opaque_bytes_tell_when_they_begin_what_is_told_later() {
    let mut conversation = Conversation::new();
    for time in [20, 60, 100] {
        conversation.client(Role::Opaque, time);
        conversation.client(Role::Opaque, time + 1);
        conversation.server(Role::Opaque, time + 20);
    }
    let told = |fact: &Fact| {
        if let Fact::Begun { at, .. } = fact {
            Some(*at)
        } else {
            None
        }
    };
    let begun: Vec<_> = conversation.facts.iter().filter_map(told).collect();
    let (exchanges, _) = conversation.finish();
    assert!(exchanges[0].is_handshake());
    let began: Vec<_> = exchanges[1..].iter().map(|exchange| exchange.at).collect();
    assert_eq!(begun, began);
}

#[test]
fn what_was_asked_in_the_client_s_stead_is_a_turn_of_tls_before_the_login() {
    let mut conversation = Conversation::new();
    let mut trip = RelayHandshake::asked(at(14), at(40), PerDirection::new(8, 1));
    trip.goes_on(at(45), 9);
    let facts = &mut conversation.facts;
    conversation.pairing.in_stead(trip, &mut |fact| facts.push(fact));
    conversation.server(Role::Greeting, 60);
    conversation.client(Role::Request, 80);
    conversation.server(Role::Reply, 100);
    let (exchanges, outcome) = conversation.finish();
    let tls = &exchanges[1];
    assert_eq!((tls.phase, tls.turns), (Phase::Tls, 1));
    assert_eq!((tls.request_bytes, tls.reply_bytes), (8, 10));
    assert_eq!(tls.first.server + SERVER_RTT, at(40).since(at(14)));
    assert_eq!(tls.ended(), at(45));
    let sum: u64 = exchanges.iter().map(|exchange| u64::from(exchange.turns)).sum();
    assert_eq!(outcome.turns, sum);
}

#[test]
fn opaque_bytes_make_a_turn_at_each_answer() {
    let mut conversation = Conversation::new();
    for start in [20, 40, 60] {
        conversation.client(Role::Opaque, start);
        conversation.client(Role::Opaque, start + 1);
        conversation.server(Role::Opaque, start + 10);
        conversation.server(Role::Opaque, start + 12);
    }
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(outcome.turns, 4);
    assert_eq!(exchanges.len(), 4);
    assert_eq!(exchanges[1].request_bytes, 200);
    assert_eq!(exchanges[1].request_messages, 0);
}

#[test]
fn a_notice_between_exchanges_is_no_reply() {
    let mut conversation = Conversation::new();
    conversation.server(Role::Notice, 20);
    conversation.client(Role::Request, 30);
    conversation.server(Role::Reply, 40);
    conversation.server(Role::Notice, 50);
    let (exchanges, outcome) = conversation.finish();
    assert_eq!((exchanges.len(), outcome.turns), (2, 2));
    assert_eq!(exchanges[1].reply_bytes, 100);
}

#[test]
fn a_retransmission_is_no_server_time() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.pairing.recovery(at(20), at(220));
    conversation.server(Role::Reply, 230);
    let step = conversation.finish().0[1].first;
    assert_eq!(step.server, Duration::from_millis(2));
    assert_eq!(step.recovery, Duration::from_millis(200));
}

#[test]
fn waits_inside_a_reply_are_server_time_when_the_sender_was_idle() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.server(Role::ReplyPart, 28);
    conversation.pairing.segment(
        Direction::ServerToClient,
        at(128),
        Some(Duration::from_millis(90)),
    );
    conversation.server(Role::Reply, 128);
    let step = conversation.finish().0[1].first;
    assert_eq!(step.server_inside_reply, Duration::from_millis(90));
    assert_eq!(step.server, Duration::from_millis(90));
}

/// MySQL's 1156, 1158 and 1159 come while the server waits for a request, or in the middle of one.
#[test]
fn an_error_that_nobody_asked_for_is_reported() {
    let error = |code: &'static [u8]| Content::Error { code, text: b"" };
    for writing in [false, true] {
        let mut conversation = Conversation::new();
        conversation.client(Role::Request, 30);
        conversation.server(Role::Reply, 40);
        if writing {
            conversation.client(Role::RequestPart, 45);
        }
        conversation.says(Direction::ServerToClient, Role::Notice, (50, 50), error(b"1159"));
        let (exchanges, outcome) = conversation.finish();
        let told = exchanges.iter().find(|exchange| exchange.error.is_some());
        let told = told.expect("the error is there");
        assert_eq!(told.error.as_deref(), Some("1159"));
        assert_eq!((told.phase, told.turns), (Phase::Close, 0));
        assert_eq!((told.request_bytes, told.reply_bytes), (0, 100));
        assert_eq!(outcome.turns, 2, "the handshake, and what was asked");
    }
}

#[test]
fn a_farewell_inside_tls_is_no_request_without_a_reply() {
    let mut conversation = Conversation::new();
    let client = Direction::ClientToServer;
    conversation.says(client, Role::Opaque, (30, 30), Content::Other);
    conversation.server(Role::Opaque, 40);
    conversation.says(client, Role::Opaque, (50, 50), Content::Other);
    // Both sides' close_notify.
    for (direction, role) in [(client, Role::OneWay), (Direction::ServerToClient, Role::Notice)] {
        conversation.says_in(Phase::Close, direction, role, (60, 60), Content::Other);
    }
    let (exchanges, outcome) = conversation.finish_seen();
    assert_eq!((exchanges.len(), outcome.turns), (4, 2));
    assert!(
        exchanges.iter().all(|exchange| exchange.error.is_none()),
        "{exchanges:?}"
    );
}

/// By the extended protocol, as in PostgreSQL's JDBC driver.
#[test]
fn a_prepared_begin_or_set_is_executed_too() {
    let mut conversation = Conversation::new();
    let client = Direction::ClientToServer;
    let statement = StatementId(1);
    for text in ["BEGIN", "SET search_path TO app"] {
        let prepare = Content::Prepare {
            statement,
            text: text.as_bytes(),
        };
        conversation.says(client, Role::RequestPart, (20, 20), prepare);
        let execute = Content::Execute {
            statement: Some(statement),
            fetch_rows: None,
            fetch_bytes: None,
            sets: 1,
            values: None,
        };
        conversation.says(client, Role::RequestPart, (20, 20), execute);
        conversation.client(Role::Request, 20);
        conversation.server(Role::Reply, 30);
    }
    let (exchanges, _) = conversation.finish();
    let told: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| (exchange.fingerprint.as_deref(), exchange.executions))
        .collect();
    assert_eq!(told, [(Some("begin"), 1), (Some("set search_path to app"), 1)]);
}

fn executes(statement: u32) -> Content<'static> {
    Content::Execute {
        statement: Some(StatementId(statement)),
        fetch_rows: None,
        fetch_bytes: None,
        sets: 1,
        values: None,
    }
}

fn unseen(statement: u32, name: &[u8]) -> Content<'_> {
    Content::Unseen {
        statement: StatementId(statement),
        name,
        parameters: None,
    }
}

/// By name, in every exchange that runs it; announcing is no message. Returned rows show a read.
#[test]
fn a_statement_prepared_before_the_observation_names_its_exchanges() {
    let mut conversation = Conversation::new();
    let client = Direction::ClientToServer;
    conversation.says(client, Role::RequestPart, (20, 20), unseen(7, b"S_1"));
    for round in 0..2 {
        conversation.says(client, Role::RequestPart, (20, 20), executes(7));
        conversation.client(Role::Request, 20);
        if round == 0 {
            let row = Content::Row;
            conversation.says(Direction::ServerToClient, Role::ReplyPart, (30, 30), row);
        }
        conversation.server(Role::Reply, 30);
    }
    let (exchanges, _) = conversation.finish();
    let told: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| {
            let asked = exchange.asked;
            (
                exchange.fingerprint.as_deref(),
                exchange.executions,
                asked.returns_rows,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some("(prepared S_1)"), 1, true),
            (Some("(prepared S_1)"), 1, false)
        ]
    );
    assert!(
        exchanges[1..]
            .iter()
            .all(|exchange| exchange.request_messages == 2)
    );
}

/// A driver with a prepared BEGIN sends it before the first statement of a transaction.
#[test]
fn of_statements_prepared_before_in_one_exchange_the_last_names_it() {
    let mut conversation = Conversation::new();
    let client = Direction::ClientToServer;
    for (statement, name) in [(1, b"S_1".as_slice()), (5, b"S_5")] {
        conversation.says(client, Role::RequestPart, (20, 20), unseen(statement, name));
        conversation.says(client, Role::RequestPart, (20, 20), executes(statement));
    }
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 30);
    let (exchanges, _) = conversation.finish();
    assert_eq!(exchanges[1].fingerprint.as_deref(), Some("(prepared S_5)"));
    assert_eq!(exchanges[1].executions, 1);
}

/// BEGIN and a statement sent together: the literal belongs to the naming statement.
#[test]
fn a_literal_belongs_to_the_statement_that_names_its_exchange() {
    let client = Direction::ClientToServer;
    for texts in [["BEGIN", "SELECT 7"], ["SELECT 7", "COMMIT"]] {
        let mut conversation = Conversation::new();
        conversation.pairing.keep_literals = true;
        for (role, text) in [Role::RequestPart, Role::Request].into_iter().zip(texts) {
            let text = text.as_bytes();
            conversation.says(client, role, (20, 20), Content::Statement { text });
        }
        conversation.server(Role::Reply, 30);
        let (exchanges, _) = conversation.finish();
        assert_eq!(exchanges[1].fingerprint.as_deref(), Some("select ?"));
        assert_eq!(exchanges[1].literal.as_deref(), Some("SELECT 7"), "{texts:?}");
    }
}

#[test]
fn the_statement_that_works_names_the_exchange() {
    let mut conversation = Conversation::new();
    let (request, part) = (Role::Request, Role::RequestPart);
    for (role, text) in [(part, "BEGIN"), (part, "SELECT 1"), (request, "SELECT 2")] {
        conversation.says(
            Direction::ClientToServer,
            role,
            (20, 20),
            Content::Statement {
                text: text.as_bytes(),
            },
        );
    }
    let reply = Direction::ServerToClient;
    conversation.says(reply, Role::ReplyPart, (30, 30), Content::Row);
    conversation.says(
        reply,
        Role::ReplyPart,
        (30, 30),
        Content::Done {
            rows: Some(1),
            transaction: None,
        },
    );
    conversation.says(
        reply,
        Role::ReplyPart,
        (30, 30),
        Content::Done {
            rows: Some(7),
            transaction: None,
        },
    );
    conversation.says(
        reply,
        Role::Reply,
        (30, 30),
        Content::Ready(TransactionState::Open),
    );
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(exchanges[1].fingerprint.as_deref(), Some("select ?"));
    assert_eq!(exchanges[1].executions, 2);
    assert_eq!(exchanges[1].rows, Some(8));
    assert_eq!(exchanges[1].transaction, Some(TransactionState::Open));
    assert_eq!(outcome.statements, 3);
}

#[test]
fn before_any_round_trip_is_known_the_wait_is_not_server_time() {
    let mut conversation = Conversation::new();
    conversation.pairing.client_side = MinimumRoundTrip::default();
    conversation.pairing.server_side = MinimumRoundTrip::default();
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 90);
    let step = conversation.finish().0[1].first;
    assert_eq!(step.server_side_rtt, None);
    assert_eq!(step.server, Duration::ZERO);
}

#[test]
fn an_opaque_reply_to_pipelined_requests_answers_all_of_them() {
    let mut conversation = Conversation::new();
    for start in [20, 60] {
        conversation.client(Role::Request, start);
        conversation.client(Role::Request, start + 1);
        conversation.server(Role::Opaque, start + 20);
        conversation.server(Role::Opaque, start + 21);
    }
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(outcome.turns, 3);
    assert_eq!(exchanges.len(), 5);
}

fn sizes_and_rows(exchanges: &[Exchange]) -> Vec<(u64, u64, Option<u64>)> {
    let of = |exchange: &Exchange| (exchange.request_bytes, exchange.reply_bytes, exchange.rows);
    exchanges[1..].iter().map(of).collect()
}

const DONE: Content<'_> = Content::Done {
    rows: Some(1),
    transaction: None,
};

#[test]
fn a_lost_reply_among_several_shifts_none_of_the_others() {
    let mut conversation = Conversation::new();
    for time in 0..5 {
        conversation.client(Role::Request, 20 + time);
    }
    for time in 0..5 {
        let (role, content) = if time == 1 {
            (Role::Opaque, Content::Other)
        } else {
            (Role::Reply, DONE)
        };
        conversation.says(Direction::ServerToClient, role, (40 + time, 40 + time), content);
    }
    conversation.client(Role::Request, 60);
    conversation.says(Direction::ServerToClient, Role::Reply, (80, 80), DONE);
    let (exchanges, outcome) = conversation.finish();
    let whole = (100, 100, Some(1));
    assert_eq!(
        sizes_and_rows(&exchanges),
        [whole, (100, 100, None), whole, whole, whole, whole]
    );
    assert_eq!(outcome.turns, 3);
}

#[test]
fn a_lost_request_among_several_takes_the_reply_left_over() {
    let mut conversation = Conversation::new();
    for time in 0..5 {
        let role = if time == 2 { Role::Opaque } else { Role::Request };
        conversation.client(role, 20 + time);
    }
    for time in 0..5 {
        conversation.says(
            Direction::ServerToClient,
            Role::Reply,
            (40 + time, 40 + time),
            DONE,
        );
    }
    conversation.client(Role::Request, 60);
    conversation.says(Direction::ServerToClient, Role::Reply, (80, 80), DONE);
    let (exchanges, outcome) = conversation.finish();
    let whole = (100, 100, Some(1));
    assert_eq!(
        sizes_and_rows(&exchanges),
        [whole, whole, (100, 100, None), whole, whole, whole]
    );
    assert_eq!(outcome.turns, 3);
}

#[test]
fn what_answers_a_lost_request_is_its_reply_though_the_decoder_expects_none() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Opaque, 20);
    conversation.server(Role::Notice, 40);
    conversation.client(Role::Request, 60);
    conversation.says(Direction::ServerToClient, Role::Reply, (80, 80), DONE);
    let (exchanges, outcome) = conversation.finish();
    assert_eq!(
        sizes_and_rows(&exchanges),
        [(100, 100, None), (100, 100, Some(1))]
    );
    assert_eq!(outcome.turns, 3);
}

#[test]
fn a_client_that_asks_on_while_replies_come_settles_nothing_before_it_waits() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.client(Role::Request, 28);
    conversation.says(Direction::ServerToClient, Role::Reply, (30, 30), DONE);
    for time in 0..4 {
        conversation.client(Role::Request, 32 + time * 4);
        let (role, content) = if time == 1 {
            (Role::Opaque, Content::Other)
        } else {
            (Role::Reply, DONE)
        };
        conversation.says(
            Direction::ServerToClient,
            role,
            (34 + time * 4, 34 + time * 4),
            content,
        );
    }
    conversation.says(Direction::ServerToClient, Role::Reply, (56, 56), DONE);
    conversation.client(Role::Request, 80);
    conversation.says(Direction::ServerToClient, Role::Reply, (100, 100), DONE);
    let (exchanges, _) = conversation.finish();
    let whole = (100, 100, Some(1));
    assert_eq!(
        sizes_and_rows(&exchanges),
        [whole, whole, (100, 100, None), whole, whole, whole, whole]
    );
}

#[test]
fn a_reply_that_loses_bytes_tells_when_its_exchange_began() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.server(Role::ReplyPart, 30);
    conversation.server(Role::Opaque, 31);
    conversation.server(Role::Reply, 32);
    let begun = conversation
        .facts
        .iter()
        .filter(|fact| matches!(fact, Fact::Begun { at: began, .. } if *began == at(20)));
    assert_eq!(begun.count(), 1);
    let (exchanges, _) = conversation.finish();
    assert_eq!((exchanges[1].at, exchanges[1].reply_bytes), (at(20), 300));
}

fn started(conversation: &Conversation) -> Vec<Timestamp> {
    let started = conversation.facts.iter().filter_map(|fact| {
        if let Fact::Started { at, .. } = fact {
            Some(*at)
        } else {
            None
        }
    });
    started.collect()
}

const POST: Content<'static> = Content::HttpRequest {
    method: b"POST",
    target: b"/order",
    request: None,
    span: None,
};

#[test]
fn a_request_with_a_body_starts_when_all_of_it_has_passed() {
    let mut conversation = Conversation::new();
    conversation.says(Direction::ClientToServer, Role::RequestPart, (20, 20), POST);
    assert_eq!(started(&conversation), []);
    conversation.client(Role::Request, 24);
    assert_eq!(started(&conversation), [at(24)]);
    conversation.server(Role::Reply, 40);
    conversation.says(Direction::ClientToServer, Role::Request, (50, 50), POST);
    assert_eq!(started(&conversation), [at(24), at(50)]);
    let (exchanges, _) = conversation.finish();
    assert_eq!(exchanges.len(), 3);
}

#[test]
fn a_body_that_waited_for_a_permission_starts_no_second_request() {
    let mut conversation = Conversation::new();
    conversation.says(Direction::ClientToServer, Role::Request, (20, 20), POST);
    conversation.server(Role::ReplyPause, 30);
    conversation.client(Role::Request, 40);
    conversation.server(Role::Reply, 50);
    assert_eq!(started(&conversation), [at(20)]);
    assert_eq!(conversation.finish().0.len(), 2);
}

/// The reply to the second request began during the first: its server time is its own.
#[test]
fn the_server_time_of_a_reply_that_overlaps_is_counted_from_its_request() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.client(Role::Request, 21);
    conversation.server(Role::ReplyPart, 90);
    conversation.server(Role::Reply, 99);
    let early = (60, 70);
    conversation.says(Direction::ServerToClient, Role::Reply, early, Content::Other);
    let (exchanges, _) = conversation.finish();
    assert_eq!(
        exchanges[2].first.server,
        Duration::from_millis(60 - 21) - SERVER_RTT
    );
}

#[test]
fn a_client_that_waits_for_work_waits_neither_for_the_server_nor_the_network() {
    for (text, waits) in [
        ("waitfor (receive top(1) * from q), timeout 2000", true),
        ("select 1", false),
    ] {
        let mut conversation = Conversation::new();
        let content = Content::Statement {
            text: text.as_bytes(),
        };
        conversation.says(Direction::ClientToServer, Role::Request, (20, 20), content);
        conversation.server(Role::Reply, 1_028);
        let (exchanges, _) = conversation.finish();
        let wait = crate::waited::waited(&exchanges[1]);
        let second = Duration::from_secs(1);
        let expected = if waits {
            (Duration::ZERO, second)
        } else {
            (second, Duration::ZERO)
        };
        assert_eq!((wait.server, wait.client), expected, "{text}");
        assert_eq!(wait.network, SERVER_RTT + CLIENT_RTT, "{text}");
    }
}
