//! Failures of opening a session, and their messages.

use super::{WITHIN, open, open_within, refused};
use client::session::{Session, SessionError, SessionOptions};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::spawn;
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::{LiveError, Target};
use testbed::script::postgres::{authentication_ok, encryption, ready_for_query};
use testbed::{MariaDb, Postgres, PostgresAuth, Script, ScriptedServer};

fn code(error: &SessionError) -> &str {
    match error {
        SessionError::Login { code, .. } => code,
        other => panic!("{other}"),
    }
}

#[test]
fn postgres_says_why() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).start();
    let url = server.url();
    let wrong = refused(&url.replace(Postgres::PASSWORD, "wrong-secret"));
    assert_eq!(code(&wrong), "28P01");
    assert_eq!(wrong.hint().unwrap(), "check the user's name and password");
    assert!(!format!("{wrong} {wrong:?}").contains("wrong-secret"));
    let missing = refused(&format!("{}/missing", url.trim_end_matches("/postgres")));
    assert_eq!(code(&missing), "3D000");
    assert_eq!(
        missing.to_string(),
        "server: login refused: 3D000 database \"missing\" does not exist"
    );
    assert!(missing.hint().unwrap().contains("database"));
    let plain = refused(&format!("{url}?sslmode=require"));
    assert!(
        matches!(plain, SessionError::Connect(LiveError::ServerWithoutTls { .. })),
        "{plain}"
    );
    // Before version 17 it rejects TLS that was not requested.
    let direct = refused(&format!("{url}?sslmode=require&sslnegotiation=direct"));
    assert!(
        matches!(direct, SessionError::Connect(LiveError::ServerLeft { .. })),
        "{direct}"
    );
    // Server and client both wait for the other to speak first: with other protocols probed, the
    // server is identified.
    let stop = StopToken::never();
    let target = Target::parse(&url.replace("postgres://", "mysql://")).unwrap();
    let options = SessionOptions {
        asks_otherwise: true,
        ..SessionOptions::new(&stop)
    };
    let found = Session::open(&target, options).map(drop).unwrap_err();
    assert_eq!(found.to_string(), "server: it speaks postgres, not mysql");
    assert!(found.hint().unwrap().contains("use postgres://"));
    let mariadb = open_within(
        &url.replace("postgres://", "mysql://"),
        Duration::from_millis(300),
    );
    let mariadb = mariadb.map(drop).unwrap_err();
    assert!(
        matches!(mariadb, SessionError::TimedOut { .. } | SessionError::Closed),
        "{mariadb}"
    );
}

#[test]
fn mariadb_says_why() {
    let server = MariaDb::start();
    let url = server.url();
    let wrong = refused(&url.replace(MariaDb::PASSWORD, "wrong-secret"));
    assert_eq!(code(&wrong), "1045");
    assert!(!format!("{wrong} {wrong:?}").contains("wrong-secret"));
    assert_eq!(code(&refused(&url.replace("/test", "/missing"))), "1049");
    let plain = refused(&format!("{url}?ssl-mode=REQUIRED"));
    assert!(
        matches!(plain, SessionError::Connect(LiveError::ServerWithoutTls { .. })),
        "{plain}"
    );
    let postgres = refused(&url.replace("mysql://", "postgres://"));
    assert!(
        matches!(
            postgres,
            SessionError::OtherProtocol {
                found: model::Protocol::Mysql,
                ..
            }
        ),
        "{postgres}"
    );
    assert!(postgres.hint().unwrap().contains("use mysql://"));
}

#[test]
fn a_name_and_a_port_that_lead_nowhere_are_told() {
    let nowhere = refused("postgres://anna@no-such-host.invalid/shop");
    assert!(
        matches!(nowhere, SessionError::Connect(LiveError::NoSuchHost { .. })),
        "{nowhere}"
    );
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = open_within(&format!("mysql://127.0.0.1:{port}/"), Duration::from_millis(300));
    assert!(matches!(silent.map(|_| ()), Err(SessionError::TimedOut { .. })));
    drop(listener);
    let closed = refused(&format!("mysql://127.0.0.1:{port}/"));
    assert!(
        matches!(closed, SessionError::Connect(LiveError::Refused { .. })),
        "{closed}"
    );
    let socket = refused("postgres:///shop?host=/no/such/directory");
    assert!(
        matches!(socket, SessionError::Connect(LiveError::SocketFailed { .. })),
        "{socket}"
    );
    assert!(socket.hint().is_some());
}

#[test]
fn waiting_ends_when_it_is_told_to() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = StopToken::new().unwrap();
    let ringing = stop.clone();
    spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        ringing.stop();
    });
    let started = Instant::now();
    let target = Target::parse(&format!("postgres://127.0.0.1:{port}/")).unwrap();
    let opened = Session::open(&target, SessionOptions::new(&stop)).map(|_| ());
    assert_eq!(opened, Err(SessionError::Stopped));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_server_that_is_killed_is_told() {
    let mut server = Postgres::start();
    let mut session = open(&server.url()).unwrap();
    session.query("select 1", WITHIN).unwrap();
    server.kill();
    std::thread::sleep(Duration::from_millis(200));
    match session.query("select 1", WITHIN) {
        Err(SessionError::Closed) => {}
        Ok(rows) => assert!(rows.reply.error.is_some(), "{rows:?}"),
        Err(other) => panic!("{other}"),
    }
    let again = refused(&server.url());
    assert!(
        matches!(again, SessionError::Connect(LiveError::Refused { .. })),
        "{again}"
    );
}

fn identity(expired: bool) -> (ServerConfig, tempfile::NamedTempFile) {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    if expired {
        parameters.not_before = date_time_ymd(2000, 1, 1);
        parameters.not_after = date_time_ymd(2001, 1, 1);
    }
    let certificate = parameters.self_signed(&key).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(certificate.pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (config, file)
}

fn encrypted_server(config: ServerConfig) -> ScriptedServer {
    let config = Arc::new(config);
    Script::postgres()
        .expect("SSLRequest")
        .send(encryption(b'S'))
        .encrypt(move |stream| {
            let session = ServerConnection::new(config.clone()).unwrap();
            Box::new(StreamOwned::new(session, stream))
        })
        .start()
}

#[test]
fn an_expired_certificate_is_told() {
    let (config, authority) = identity(true);
    let server = encrypted_server(config);
    let (port, authority) = (server.port(), authority.path().display());
    let url = format!("postgres://anna@localhost:{port}/?sslmode=verify-full&sslrootcert={authority}");
    let expired = refused(&url);
    assert!(
        matches!(
            expired,
            SessionError::Connect(LiveError::CertificateExpired { .. })
        ),
        "{expired}"
    );
}

#[test]
fn an_unknown_authority_is_told() {
    let ((config, _), (_, other)) = (identity(false), identity(false));
    let server = encrypted_server(config);
    let (port, authority) = (server.port(), other.path().display());
    let url = format!("postgres://anna@localhost:{port}/?sslmode=verify-ca&sslrootcert={authority}");
    let unknown = refused(&url);
    assert!(matches!(unknown, SessionError::Connect(_)), "{unknown}");
}

/// Behaves like PostgreSQL 17: accepts TLS without a request, by ALPN, and every login.
fn direct_server() -> (ScriptedServer, tempfile::NamedTempFile) {
    let (mut config, file) = identity(false);
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    let config = Arc::new(config);
    let script = Script::postgres()
        .encrypt(move |mut stream| {
            let mut session = ServerConnection::new(config.clone()).unwrap();
            session.complete_io(&mut stream).unwrap();
            assert_eq!(session.alpn_protocol(), Some(&b"postgresql"[..]));
            Box::new(StreamOwned::new(session, stream))
        })
        .expect("StartupMessage")
        .send(authentication_ok())
        .send(ready_for_query(b'I'));
    (script.start(), file)
}

#[test]
fn tls_that_is_not_asked_for_saves_a_turn() {
    let (server, authority) = direct_server();
    let (port, authority) = (server.port(), authority.path().display());
    let url = format!(
        "postgres://anna@localhost:{port}/?sslmode=verify-full&sslrootcert={authority}&sslnegotiation=direct"
    );
    let session = open(&url).unwrap();
    let legs: Vec<_> = session
        .legs()
        .iter()
        .map(|leg| (leg.name.to_string(), leg.turns))
        .filter(|(name, turns)| *turns > 0 && !name.contains("in vain"))
        .collect();
    let expected = [("tcp", 1), ("tls handshake", 1), ("startup", 1)];
    assert_eq!(legs, expected.map(|(name, turns)| (name.to_owned(), turns)));
}
