//! Hostile servers: a session ends in time, without harm, and without revealing its password.

use super::open_within;
use client::session::SessionError;
use proptest::prelude::*;
use std::time::Duration;
use testbed::script::postgres::{
    authentication_md5_password, authentication_sasl, authentication_sasl_continue,
};
use testbed::script::{Message, Script, mysql};

/// Opens a session to a scripted server; returns the bytes of the client.
fn spoken_to(scheme: &str, script: Script) -> (Option<SessionError>, Vec<u8>) {
    let server = script.start();
    let port = server.port();
    let url = format!("{scheme}://anna:the-password@127.0.0.1:{port}/3?sslmode=disable");
    let opened = open_within(&url, Duration::from_secs(5));
    let error = opened.map(drop).err();
    let heard = server.finish().into_iter().flat_map(|message| message.bytes);
    (error, heard.collect())
}

fn greeting(plugin: &str) -> Message {
    mysql::handshake_v10([0xf7ff, 0xdfff], plugin)
}

#[test]
fn the_password_itself_is_not_told_over_a_connection_that_others_can_read() {
    let clear = || mysql::auth_switch_request(2, "mysql_clear_password", b"");
    for (plugin, wants_it) in [
        ("mysql_native_password", clear()),
        ("mysql_clear_password", clear()),
        ("caching_sha2_password", mysql::auth_more_data(2, &[4])),
    ] {
        let script = Script::mysql().send(greeting(plugin));
        let script = script.expect("HandshakeResponse41").send(wants_it);
        let (error, heard) = spoken_to("mysql", script);
        assert!(
            matches!(error, Some(SessionError::PasswordUnprotected { .. })),
            "{error:?}"
        );
        assert!(error.unwrap().hint().unwrap().contains("sslmode=require"));
        assert!(!heard.windows(12).any(|window| window == b"the-password"));
    }
}

#[test]
fn a_server_cannot_make_the_client_work_without_end() {
    let script = Script::postgres()
        .expect("StartupMessage")
        .send(authentication_sasl("SCRAM-SHA-256"))
        .expect("PasswordMessage")
        .send(authentication_sasl_continue(
            "r=xxxxxxxxxxxxxxxxxxxxxxxx,s=QSXCR+Q6sek8bf92,i=2000000000",
        ));
    let (error, _) = spoken_to("postgres", script);
    assert!(
        matches!(error, Some(SessionError::NotTheProtocol { .. })),
        "{error:?}"
    );
}

#[test]
fn a_fast_success_of_caching_sha2_is_a_login() {
    let script = Script::mysql()
        .send(greeting("caching_sha2_password"))
        .expect("HandshakeResponse41")
        .send(mysql::auth_more_data(2, &[3]))
        .send(mysql::ok_packet(3));
    let (error, heard) = spoken_to("mysql", script);
    assert_eq!(error, None);
    assert!(heard.windows(21).any(|window| window == b"caching_sha2_password"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_end_the_login(
        scheme in prop::sample::select(vec!["postgres", "mysql", "redis"]),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        begins in any::<bool>(),
    ) {
        let script = match (begins, scheme) {
            (true, "mysql") => Script::mysql().send(greeting("mysql_native_password")),
            (true, "postgres") => Script::postgres().send(authentication_md5_password(*b"salt")),
            _ => Script::any_protocol(),
        };
        spoken_to(scheme, script.send_bytes(&bytes).close());
    }
}
