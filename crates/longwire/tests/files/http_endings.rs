//! Ends of HTTP connections: after a protocol upgrade, in the middle of a reply, with an
//! unsolicited reply.

use crate::conversation::Conversation;
use serde_json::Value;
use testbed::binary::of_type;

const GET: &[u8] = b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";

/// Round trips, reply bytes, server time in ms and error of each exchange with payload, plus
/// warnings.
fn read_exchanges(conversation: &Conversation) -> (Vec<(u64, u64, u64, String)>, String) {
    let records = conversation.read_records();
    let number = |record: &Value, key: &str| record[key].as_u64().expect("a number");
    let exchanges = of_type(&records, "exchange").into_iter();
    let exchanges = exchanges
        .filter(|record| record["phase"] != "connect")
        .map(|record| {
            let error = record["error"].as_str().unwrap_or_default().to_owned();
            let server = number(record, "server_ns") / 1_000_000;
            (
                number(record, "turns"),
                number(record, "reply_bytes"),
                server,
                error,
            )
        });
    let said = of_type(&records, "warning").into_iter();
    let said = said.filter_map(|record| record["text"].as_str());
    (exchanges.collect(), said.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_last_exchange_after_an_upgrade_or_a_tunnel_counts() {
    let upgrade: [&[u8]; 2] = [
        b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    ];
    let connect: [&[u8]; 2] = [b"CONNECT db:5432 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"];
    for [ask, answer] in [upgrade, connect] {
        let talk = Conversation::with(80)
            .client(300, ask)
            .server(20_300, answer)
            .client(21_000, b"\x81\x85\x01\x02\x03\x04hello")
            .server(41_000, b"\x81\x05hello")
            .client(42_000, b"\x81\x85\x01\x02\x03\x04again")
            .server(62_000, b"\x81\x05again");
        for talk in [talk.clone().close(63_000), talk.clone().reset(63_000), talk] {
            let (exchanges, _) = read_exchanges(&talk);
            let turns: Vec<(u64, u64)> = exchanges
                .iter()
                .map(|(turns, bytes, ..)| (*turns, *bytes))
                .collect();
            assert_eq!(turns, [(1, answer.len() as u64), (1, 7), (1, 7)], "{exchanges:?}");
        }
    }
}

#[test]
fn a_reply_that_is_cut_is_said_to_be_and_its_wait_counts() {
    let cut: [&[u8]; 6] = [
        b"H",
        b"HTTP/1.1 200 OK\r\nContent-Ty",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    ];
    for reply in cut {
        let talk = Conversation::with(80).client(300, GET).server(2_000_500, reply);
        for talk in [talk.clone().close(2_001_000), talk.reset(2_001_000)] {
            let (exchanges, said) = read_exchanges(&talk);
            let expected = [(1, reply.len() as u64, 2_000, "reply cut".to_owned())];
            assert_eq!(exchanges, expected, "{}", String::from_utf8_lossy(reply));
            assert!(said.contains("1 reply was cut off"), "{said}");
        }
    }
}

#[test]
fn a_reply_that_is_whole_or_lasts_until_the_close_is_not_cut() {
    let whole: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ];
    for reply in whole {
        let talk = Conversation::with(80)
            .client(300, GET)
            .server(2_000_500, reply)
            .close(2_001_000);
        let (exchanges, said) = read_exchanges(&talk);
        assert_eq!(exchanges, [(1, reply.len() as u64, 2_000, String::new())]);
        assert!(!said.contains("cut"), "{said}");
    }
}

#[test]
fn behind_a_cut_reply_no_reply_came() {
    let talk = Conversation::with(80)
        .client(300, &[GET, GET].concat())
        .server(2_000_500, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        .close(2_001_000);
    let (exchanges, _) = read_exchanges(&talk);
    let errors: Vec<&str> = exchanges.iter().map(|(.., error)| error.as_str()).collect();
    assert_eq!(errors, ["reply cut", "no reply"]);
}

fn tagged(tag: &[u8], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(4 + body.len()).expect("short").to_be_bytes();
    [tag, &length, body].concat()
}

/// Also true for a database server that disconnects in the middle of a result.
#[test]
fn a_databases_reply_that_is_cut_is_said_to_be() {
    let ready = [tagged(b"R", &[0; 4]), tagged(b"Z", b"I")].concat();
    let columns = tagged(b"T", b"\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0");
    let row = tagged(b"D", b"\0\x01\0\0\0\x01x");
    let done = tagged(b"C", b"SELECT 1\0");
    let whole = [columns.clone(), row.clone(), done.clone(), tagged(b"Z", b"I")].concat();
    let cut = [
        columns.clone(),
        [columns.clone(), row.clone()].concat(),
        [columns, row, done].concat(),
    ];
    for (reply, error) in cut.into_iter().map(|cut| (cut, "reply cut")).chain([(whole, "")]) {
        let talk = Conversation::with(5432)
            .client(300, &tagged(b"", b"\0\x03\0\0user\0anna\0\0"))
            .server(600, &ready)
            .client(1_000, &tagged(b"Q", b"select 1\0"))
            .server(3_000, &reply)
            .reset(4_000);
        let (exchanges, said) = read_exchanges(&talk);
        assert_eq!(exchanges[1].3, error, "{exchanges:?}");
        assert_eq!(said.contains("1 reply was cut off"), !error.is_empty(), "{said}");
    }
}

/// The server closes with an unsolicited reply, or one that ends its wait for the client (timeout):
/// no server time, and no client waited.
#[test]
fn a_reply_that_nobody_waited_for_is_no_server_time() {
    let timeout = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let with_body = b"HTTP/1.0 408 Request Time-out\r\nContent-Length: 5\r\n\r\nlate\n";
    let bad = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nno request";
    let busy = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    for closing in [&timeout[..], with_body, bad, busy] {
        let talk = Conversation::with(80)
            .server(60_000_000, closing)
            .close(60_001_000);
        let (exchanges, _) = read_exchanges(&talk);
        let [(turns, bytes, server, error)] = &exchanges[..] else {
            panic!("{exchanges:?}")
        };
        assert_eq!((*turns, *bytes, *server), (0, closing.len() as u64, 0));
        assert_eq!(error.as_bytes(), &closing[9..12]);
    }
    let kept = Conversation::with(80)
        .client(300, GET)
        .server(20_500, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .server(60_000_000, timeout)
        .close(60_001_000);
    let (exchanges, _) = read_exchanges(&kept);
    let figures: Vec<(u64, u64)> = exchanges
        .iter()
        .map(|(turns, _, server, _)| (*turns, *server))
        .collect();
    assert_eq!(figures, [(1, 20), (0, 0)], "{exchanges:?}");
}

#[test]
fn a_server_that_waits_for_the_rest_of_a_request_does_not_work() {
    let timeout = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let begun: [&[u8]; 3] = [
        b"GE",
        b"GET /slow HTTP/1.1\r\nHos",
        b"POST /slow HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
    ];
    for begun in begun {
        let talk = Conversation::with(80)
            .client(300, begun)
            .server(60_000_000, timeout)
            .close(60_001_000);
        let records = talk.read_records();
        let (exchanges, said) = read_exchanges(&talk);
        let expected = [(0, timeout.len() as u64, 0, "408".to_owned())];
        assert_eq!(exchanges, expected, "{}", String::from_utf8_lossy(begun));
        assert!(!said.contains("without a reply"), "{said}");
        let waited: u64 = of_type(&records, "operation")
            .iter()
            .map(|operation| operation["client_ns"].as_u64().expect("a number"))
            .sum();
        assert!(waited > 59_000_000_000, "the client's time: {waited}");
    }
}
