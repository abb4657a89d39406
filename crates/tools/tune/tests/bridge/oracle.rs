//! Oracle's driver with a listener that rejects the service, which is all a script can do. Never
//! tested with a real database.

use super::{connect, start};
use client::bridge::BridgeError;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Rejects each CONNECT for an unknown service, until the process ends.
fn listener() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            refuse(stream);
        }
    });
    port
}

/// Reasons of user and system, length of text, text, after Wireshark's dissector of TNS. Checked
/// with real drivers.
fn refuse(mut stream: TcpStream) {
    let mut head = [0; 8];
    if stream.read_exact(&mut head).is_err() {
        return;
    }
    let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let mut rest = vec![0; length.saturating_sub(head.len())];
    if stream.read_exact(&mut rest).is_err() {
        return;
    }
    let text = b"(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR=12514)(ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
    let mut packet = u16::try_from(12 + text.len()).unwrap().to_be_bytes().to_vec();
    packet.extend([0, 0, 4, 0, 0, 0, 0x22, 0]);
    packet.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
    packet.extend(text);
    stream.write_all(&packet).ok();
}

#[test]
fn a_service_that_the_listener_does_not_know_is_told_with_oracles_number() {
    let bridge = start(&["com.oracle.database.jdbc:ojdbc11:23.5.0.24.07"]);
    let url = format!("jdbc:oracle:thin:app/s3cret@//127.0.0.1:{}/sales", listener());
    let refused = connect(&bridge, &url).unwrap_err();
    assert!(
        matches!(&refused, BridgeError::Sql { code, .. } if code == "ORA-12514"),
        "{refused}"
    );
    assert!(!refused.to_string().contains("s3cret"), "{refused}");
    assert!(refused.hint().unwrap().contains("service"));
}
