//! Requests as their clients write them.

use super::*;

/// `select 1 from dual` of python-oracledb's thin mode, encoded for a server of field version 24 (a
/// token after the sequence number) and 12 (none).
fn selected(token: &[u8]) -> Vec<u8> {
    let mut out = vec![3, 94, 5];
    out.extend_from_slice(token);
    out.extend_from_slice(
        b"\x02\x80\x61\0\x01\x01\x12\x01\x01\x0d\0\0\0\x01\x02\x04\x7f\xff\xff\xff\0\0\0\0\0\0\0\0\0",
    );
    out.extend_from_slice(
        b"\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x12select 1 from dual\x01\x01\0\0\0\0\0\0",
    );
    out
}

fn expected() -> Execution {
    Execution {
        text: Some(b"select 1 from dual".to_vec()),
        cursor: 0,
        rows: Some(2),
        sets: 1,
        values: 8,
    }
}

#[test]
fn a_text_is_found_with_and_without_a_token() {
    for token in [&b""[..], b"\0", b"\x01\x07"] {
        assert_eq!(
            Calls::default().parse_call(&selected(token)),
            Call::Execute(expected()),
            "{token:?}"
        );
    }
}

#[test]
fn piggybacks_stand_before_a_call() {
    let piggyback = [&b"\x11\x69\x04\x01\x01\x02\x01\x03\x01\x07"[..], &selected(b"")].concat();
    assert_eq!(Calls::default().parse_call(&piggyback), Call::Execute(expected()));
    let commit = b"\x11\x69\x08\x01\x01\x01\x01\x03\x03\x0e\x09";
    assert_eq!(Calls::default().parse_call(commit), Call::Commit);
}

/// A procedure's cursor with 100 requested rows: the numbers after it mark a query, and their
/// count is the rows.
#[test]
fn executions_of_a_cursor_are_not_the_rows_asked_for() {
    let request = |count: u8, is_query: u8| {
        let mut out = b"\x03\x5e\x07\x02\x80\x40\x01\x05\0\0\x01\x01\x0d\0\0\0\x01\x64".to_vec();
        out.extend_from_slice(&[0; 21]);
        out.extend_from_slice(&[0, 1, count, 0, 0, 0, 0, 0]);
        out.extend_from_slice(if is_query == 1 { &[1, 1] } else { &[0] });
        out.extend_from_slice(&[0; 5]);
        out
    };
    for (count, is_query, sets) in [(100, 1, 1), (50, 1, 1), (100, 0, 1), (50, 0, 50)] {
        let Call::Execute(execution) = Calls::default().parse_call(&request(count, is_query)) else {
            panic!("an execution");
        };
        assert_eq!((execution.cursor, execution.rows), (5, Some(100)));
        assert_eq!(execution.sets, sets, "{count} {is_query}");
    }
}

#[test]
fn a_fetch_tells_cursor_and_rows() {
    let fetch = Call::Fetch { cursor: 7, rows: 100 };
    assert_eq!(
        Calls::default().parse_call(b"\x03\x05\x06\x01\x07\x01\x64"),
        fetch
    );
    assert_eq!(
        Calls::default().parse_call(b"\x03\x05\x06\0\x01\x07\x01\x64"),
        fetch
    );
}

#[test]
fn a_long_text_comes_in_chunks() {
    let text = [b"select '".as_slice(), &[b'x'; 400], b"' from dual"].concat();
    let (first, second) = text.split_at(300);
    let bytes = [
        b"\0\0\xfe\x02\x01\x2c",
        first,
        b"\x01\x77",
        second,
        b"\0\x01\x01\x01\x03",
    ]
    .concat();
    let (found, behind) = find_text(&bytes, text.len()).expect("it is there");
    assert_eq!(found, text);
    assert_eq!(behind, b"\x01\x01\x01\x03");
}

#[test]
fn a_thick_clients_text_is_its_longest_statement() {
    let body = b"\x03\x5e\x07\x29\x04\x04\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\x1cSELECT ename FROM emp WHERE 1\x01\0\0\0";
    let Call::Execute(execution) = Calls::default().parse_call(body) else {
        panic!("an execution");
    };
    assert_eq!(
        execution.text.as_deref(),
        Some(&b"SELECT ename FROM emp WHERE 1"[..])
    );
    assert_eq!(
        Calls::default().parse_call(b"\x03\x5e\x07\xfe\xff\xff"),
        Call::Other
    );
}
