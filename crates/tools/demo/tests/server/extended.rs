//! The extended protocol, message by message.

use demo::Server;

use crate::raw::Raw;

const INT4: u32 = 23;
const INT8: u32 = 20;

fn parse(sql: &str, types: &[u32]) -> Vec<u8> {
    let mut body = [b"\0", sql.as_bytes(), b"\0"].concat();
    body.extend(u16::try_from(types.len()).expect("few types").to_be_bytes());
    body.extend(types.iter().flat_map(|oid| oid.to_be_bytes()));
    body
}

/// All parameters in one format, all results in one: 0 is text, 1 is binary.
fn bind(parameter_format: u16, parameters: &[&[u8]], result_format: u16) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 1];
    body.extend(parameter_format.to_be_bytes());
    body.extend(
        u16::try_from(parameters.len())
            .expect("few parameters")
            .to_be_bytes(),
    );
    for parameter in parameters {
        body.extend(
            u32::try_from(parameter.len())
                .expect("a short parameter")
                .to_be_bytes(),
        );
        body.extend(*parameter);
    }
    body.extend([0, 1]);
    body.extend(result_format.to_be_bytes());
    body
}

fn execute(client: &mut Raw, rows: u32) {
    client.send(b'E', &[&[0], &rows.to_be_bytes()[..]].concat());
}

fn tags(messages: &[(u8, Vec<u8>)]) -> String {
    messages.iter().map(|(tag, _)| char::from(*tag)).collect()
}

#[test]
fn undeclared_text_parameters_reach_numbers_and_text() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    let sql = "SELECT count(*) FROM products WHERE category = $2 AND price_cents * 1 > $1 LIMIT $3";
    client.send(b'P', &parse(sql, &[]));
    client.send(b'D', b"S\0");
    client.send(b'B', &bind(0, &[b"0", b"travel", b"5"], 0));
    execute(&mut client, 0);
    client.send(b'S', b"");
    let messages = client.messages();
    assert_eq!(tags(&messages), "1tT2DCZ");
    assert_eq!(messages[4].1, b"\0\x01\0\0\0\x0212");
    assert_eq!(messages[5].1, b"SELECT 1\0");
}

#[test]
fn binary_parameters_and_results_are_numbers() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    client.send(
        b'P',
        &parse("SELECT id, author_id FROM products WHERE id = $1", &[INT4]),
    );
    client.send(b'B', &bind(1, &[&7_u32.to_be_bytes()], 1));
    client.send(b'D', b"P\0");
    execute(&mut client, 0);
    client.send(b'S', b"");
    let messages = client.messages();
    assert_eq!(tags(&messages), "12TDCZ");
    let described = &messages[2].1;
    assert_eq!(described[11..15], INT8.to_be_bytes(), "the type of the column id");
    let row = [&b"\0\x02"[..], &[0, 0, 0, 8], &7_u64.to_be_bytes(), &[0, 0, 0, 8]].concat();
    assert_eq!(messages[3].1[..row.len()], row);
}

#[test]
fn a_portal_gives_its_rows_in_parts() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    client.send(
        b'P',
        &parse("SELECT title FROM products ORDER BY id LIMIT 5", &[]),
    );
    client.send(b'B', &bind(0, &[], 0));
    for _ in 0..3 {
        execute(&mut client, 2);
    }
    client.send(b'S', b"");
    assert_eq!(tags(&client.messages()), "12DDsDDsDCZ");
}

#[test]
fn an_absurd_number_of_rows_wanted_is_all_rows() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    for rows in [u32::MAX, i32::MAX as u32, 1 << 20] {
        client.send(
            b'P',
            &parse("SELECT title FROM products ORDER BY id LIMIT 3", &[]),
        );
        client.send(b'B', &bind(0, &[], 0));
        execute(&mut client, rows);
        client.send(b'S', b"");
        assert_eq!(tags(&client.messages()), "12DDDCZ", "{rows}");
    }
}

#[test]
fn errors_are_told_at_once_and_the_rest_is_skipped_to_the_sync() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    let cases: [(&str, &[&[u8]], &str); 6] = [
        ("SELECT * FROM nowhere", &[], "42P01"),
        ("SELECT 1; SELECT 2", &[], "42601"),
        ("SELECT ?", &[b"1"], "42601"),
        ("SELECT $99999", &[b"1"], "42601"),
        ("SELECT $1", &[], "08P01"),
        ("SELECT $1", &[b"1", b"2"], "08P01"),
    ];
    for (sql, parameters, sqlstate) in cases {
        client.send(b'P', &parse(sql, &[]));
        client.send(b'B', &bind(0, parameters, 0));
        execute(&mut client, 0);
        client.send(b'S', b"");
        let messages = client.messages();
        let failure = messages
            .iter()
            .find(|(tag, _)| *tag == b'E')
            .map(|(_, body)| String::from_utf8_lossy(body));
        assert!(
            failure.is_some_and(|text| text.contains(sqlstate)),
            "{sql}: {}",
            tags(&messages)
        );
    }
    assert!(client.query("SELECT 42").contains("42"));
}

#[test]
fn missing_format_codes_and_wrong_sizes_are_errors() {
    let server = Server::start(crate::listener()).expect("a server");
    let mut client = Raw::log_in(server.address());
    let two_codes_for_three_values = [
        &[0, 0, 0, 2, 0, 0, 0, 0, 0, 3][..],
        &[0, 0, 0, 1, b'1'].repeat(3),
        &[0, 0],
    ]
    .concat();
    let three_codes_for_one_column = [&[0, 0, 0, 0, 0, 0][..], &[0, 3, 0, 1, 0, 1, 0, 1]].concat();
    let short_number = bind(1, &[&[1]], 0);
    let cases = [
        (
            "SELECT $1, $2, $3",
            vec![],
            two_codes_for_three_values,
            Some("08P01"),
        ),
        (
            "SELECT id FROM authors LIMIT 1",
            vec![],
            three_codes_for_one_column,
            None,
        ),
        ("SELECT $1", vec![INT4], short_number, Some("22P03")),
    ];
    for (sql, types, bind, sqlstate) in cases {
        client.send(b'P', &parse(sql, &types));
        client.send(b'B', &bind);
        execute(&mut client, 0);
        client.send(b'S', b"");
        let text = client.reply();
        assert_eq!(sqlstate.is_none(), text.contains("SELECT 1\0"), "{sql}: {text:?}");
        assert!(sqlstate.is_none_or(|code| text.contains(code)), "{sql}: {text:?}");
    }
}
