use super::*;

/// Feeds `bytes` in pieces of this length.
fn read_pieces(bytes: &[u8], piece: usize) -> Result<Arrival, Refusal> {
    let mut reader = RequestReader::new(100);
    for piece in bytes.chunks(piece) {
        match reader.feed(piece)? {
            Arrival::Partly | Arrival::AsksLeave => {}
            whole => return Ok(whole),
        }
    }
    Ok(Arrival::Partly)
}

#[test]
fn however_it_is_cut_a_request_is_the_same() {
    let exact = b"POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello".as_slice();
    let chunked = b"POST /a/b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n";
    for bytes in [exact, chunked] {
        for piece in 1..=bytes.len() {
            let Ok(Arrival::Whole(request)) = read_pieces(bytes, piece) else {
                panic!("no request in pieces of {piece}");
            };
            assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a/b"));
            assert_eq!(request.field("host"), Some("x"));
            assert_eq!(request.body, b"hello");
        }
    }
}

#[test]
fn leave_is_asked_for_once() {
    let mut reader = RequestReader::new(100);
    let head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(reader.feed(head), Ok(Arrival::AsksLeave));
    assert_eq!(reader.feed(b"["), Ok(Arrival::Partly));
    assert!(matches!(reader.feed(b"]"), Ok(Arrival::Whole(_))));
}

#[test]
fn what_is_too_large_is_refused_before_it_is_kept() {
    let mut reader = RequestReader::new(100);
    let mut fed = 0;
    let refusal = loop {
        fed += 1000;
        assert!(fed < 2 * MAX_HEAD_BYTES, "a head without an end is kept");
        if let Err(refusal) = reader.feed(&[b'x'; 1000]) {
            break refusal;
        }
    };
    assert_eq!(refusal.0, 431);
    assert!(reader.held_bytes() < 4 * MAX_HEAD_BYTES);
    let length = b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n";
    assert_eq!(read_pieces(length, 1), Err(TOO_LARGE));
    let chunk = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n";
    assert_eq!(read_pieces(chunk, 7), Err(TOO_LARGE));
    let endless = [
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(),
        &[b'1'; 2000],
    ]
    .concat();
    assert_eq!(read_pieces(&endless, 10).map_err(|refusal| refusal.0), Err(400));
}
