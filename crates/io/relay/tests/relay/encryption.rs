//! TLS towards the server while the client stays plain.

use crate::recorder::Story;
use crate::stand::{Stand, TIMEOUT, accept, listen, noise, relay_to_target};
use model::{Direction, PerDirection};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};
use sys::{LiveError, Target};
use testbed::Script;
use testbed::script::mysql;
use testbed::script::postgres::encryption;

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const STARTUP: [u8; 12] = [0, 0, 0, 12, 0, 3, 0, 0, b'u', 0, b'x', 0];

/// A certificate for `localhost`, and the file of its authority.
struct Identity {
    config: Arc<ServerConfig>,
    authority: tempfile::NamedTempFile,
}

fn identity(authority_name: &str, expired: bool) -> Identity {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority
        .distinguished_name
        .push(DnType::CommonName, authority_name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).expect("signs itself");
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(authority_certificate.pem().as_bytes())
        .expect("written");

    let key = KeyPair::generate().expect("a key");
    let mut server = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    if expired {
        server.not_before = date_time_ymd(2000, 1, 1);
        server.not_after = date_time_ymd(2001, 1, 1);
    }
    let certificate = server
        .signed_by(&key, &Issuer::new(authority, authority_key))
        .expect("signed");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate and its key");
    Identity {
        config: Arc::new(config),
        authority: file,
    }
}

fn encrypted<S: Read + Write>(config: Arc<ServerConfig>, stream: S) -> StreamOwned<ServerConnection, S> {
    StreamOwned::new(ServerConnection::new(config).expect("a session"), stream)
}

fn self_signed_identity() -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut server = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    server.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = server.self_signed(&key).expect("signs itself");
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(certificate.pem().as_bytes()).expect("written");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Identity {
        config: Arc::new(
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)
                .expect("a certificate and its key"),
        ),
        authority: file,
    }
}

/// Accepts only clients with a certificate of its authority.
fn identity_that_asks() -> (Identity, [tempfile::NamedTempFile; 2]) {
    let mut identity = self_signed_identity();
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("signs itself");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.der().clone()).expect("an authority");
    let client_key = KeyPair::generate().expect("a key");
    let client = CertificateParams::new(Vec::new())
        .expect("no names")
        .signed_by(&client_key, &Issuer::new(params, key))
        .expect("signed");
    let files = [client.pem(), client_key.serialize_pem()].map(|text| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file
    });
    let own_key = KeyPair::generate().expect("a key");
    let own = CertificateParams::new(vec!["localhost".to_owned()])
        .expect("a name")
        .self_signed(&own_key)
        .expect("signs itself");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(
            vec![own.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own_key.serialize_der())),
        )
        .expect("a certificate and its key");
    identity.config = Arc::new(config);
    (identity, files)
}

#[test]
fn a_self_signed_certificate_is_named_as_such_and_believed_when_it_is_named_itself() {
    let (own, other) = (self_signed_identity(), identity("A", false));
    let told = refusal(
        "localhost",
        &format!("sslmode=verify-full&{}", trusting(&other)),
        &own,
    );
    assert!(matches!(told, LiveError::SelfSigned { .. }), "{told}");
    assert!(told.to_string().contains("signed by itself"), "{told}");
    exchange(
        "localhost",
        &format!("sslmode=verify-full&{}", trusting(&own)),
        &own,
    );
    let told = refusal(
        "127.0.0.1",
        &format!("sslmode=verify-full&{}", trusting(&own)),
        &own,
    );
    assert!(matches!(told, LiveError::NameMismatch { .. }), "{told}");
}

#[test]
fn a_client_s_own_certificate_is_shown_to_a_server_that_asks() {
    let (identity, [certificate, key]) = identity_that_asks();
    let shown = format!(
        "sslmode=require&sslcert={}&sslkey={}",
        certificate.path().display(),
        key.path().display()
    );
    exchange("localhost", &shown, &identity);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(key.path(), open).expect("ours");
    let target = Target::parse(&format!("postgres://localhost:1/?{shown}")).expect("valid");
    let told = relay::probe(&target, TIMEOUT).expect_err("others may read the key");
    assert!(told.to_string().contains("others may read it"), "{told}");
}

const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0";

/// Echoes `length` bytes over TLS.
fn postgres_server(listener: TcpListener, config: Arc<ServerConfig>, length: usize) -> JoinHandle<()> {
    spawn(move || {
        let mut stream = accept(&listener);
        let mut request = [0; 8];
        stream.read_exact(&mut request).expect("a request for TLS");
        assert_eq!(request, SSL_REQUEST);
        stream.write_all(b"S").expect("taken");
        let mut stream = encrypted(config, stream);
        let mut startup = [0; 12];
        if stream.read_exact(&mut startup).is_err() {
            return; // The relay does not trust this certificate.
        }
        assert_eq!(startup, STARTUP);
        stream.write_all(LET_IN).expect("taken");
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes).expect("the client's bytes");
        stream.write_all(&bytes).expect("taken");
        stream.conn.send_close_notify();
        stream.flush().expect("flushed");
        stream.sock.shutdown(Shutdown::Write).expect("open");
        assert_eq!(stream.read(&mut [0; 1]).expect("the client's end"), 0);
    })
}

fn exchange(host: &str, parameters: &str, identity: &Identity) -> Story {
    let (listener, address) = listen();
    let bytes = noise(9, 3_000_000);
    let server = postgres_server(listener, identity.config.clone(), bytes.len());
    let stand = relay_to_target(&format!("postgres://{host}:{}/?{parameters}", address.port()));
    let client = stand.connect();
    (&client).write_all(&SSL_REQUEST).expect("write");
    let mut answer = [0];
    (&client).read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"N", "the client stays plain");
    let mut reply = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (&client)
                .write_all(&[&STARTUP[..], bytes.as_slice()].concat())
                .expect("write");
        });
        (&client).read_to_end(&mut reply).expect("an orderly end");
    });
    assert!(reply == [LET_IN, &bytes].concat(), "other bytes came back");
    client.shutdown(Shutdown::Write).expect("open");
    server.join().expect("served");
    stand.until(|counters| counters.open == 0);
    let (counters, mut stories) = stand.stop();
    assert_eq!((counters.failed, counters.last_error), (0, None));
    let story = stories.remove(0);
    // The client's own request was declined and is not shown; the relay's is.
    assert!(story.bytes[Direction::ClientToServer] == [&STARTUP[..], bytes.as_slice()].concat());
    assert!(story.bytes[Direction::ServerToClient] == reply);
    assert_eq!(
        story.in_stead[0].payload_bytes,
        PerDirection::new(8, 1),
        "the request for TLS"
    );
    assert_eq!(story.in_stead.len(), 2, "and a handshake of TLS 1.3");
    let asked = |direction: Direction| {
        story
            .in_stead
            .iter()
            .map(|trip| trip.payload_bytes[direction])
            .sum::<u64>()
    };
    assert_eq!(
        story.closed.expect("closed").2.payload_bytes,
        PerDirection::from_fn(|direction| story.bytes[direction].len() as u64 + asked(direction))
    );
    for trips in story.in_stead.windows(2) {
        assert!(trips[0].ended <= trips[1].asked, "one after another");
    }
    story
}

fn refusal(host: &str, parameters: &str, identity: &Identity) -> LiveError {
    let (listener, address) = listen();
    let server = postgres_server(listener, identity.config.clone(), 0);
    let stand = relay_to_target(&format!("postgres://{host}:{}/?{parameters}", address.port()));
    let mut client = stand.connect();
    assert!(!matches!(client.read(&mut [0; 1]), Ok(1)), "no byte passes");
    let error = stand
        .until(|counters| counters.failed == 1)
        .last_error
        .expect("kept");
    server.join().expect("served");
    error
}

fn trusting(identity: &Identity) -> String {
    format!("sslrootcert={}", identity.authority.path().display())
}

#[test]
fn bytes_pass_over_tls_as_carefully_as_asked() {
    let identity = identity("A", false);
    exchange("localhost", "sslmode=require", &identity);
    exchange(
        "127.0.0.1",
        &format!("sslmode=verify-ca&{}", trusting(&identity)),
        &identity,
    );
    exchange(
        "localhost",
        &format!("sslmode=verify-full&{}", trusting(&identity)),
        &identity,
    );
}

#[test]
fn certificates_that_are_not_good_enough_are_refused_with_the_reason() {
    let (good, other, expired) = (identity("A", false), identity("B", false), identity("A", true));
    let mismatch = refusal(
        "127.0.0.1",
        &format!("sslmode=verify-full&{}", trusting(&good)),
        &good,
    );
    assert!(matches!(mismatch, LiveError::NameMismatch { .. }), "{mismatch}");
    let unknown = refusal(
        "localhost",
        &format!("sslmode=verify-ca&{}", trusting(&other)),
        &good,
    );
    assert!(matches!(unknown, LiveError::UnknownAuthority { .. }), "{unknown}");
    let namesake = identity("A", false);
    let unknown = refusal(
        "localhost",
        &format!("sslmode=verify-ca&{}", trusting(&namesake)),
        &good,
    );
    assert!(matches!(unknown, LiveError::UnknownAuthority { .. }), "{unknown}");
    let late = refusal(
        "localhost",
        &format!("sslmode=verify-full&{}", trusting(&expired)),
        &expired,
    );
    assert!(matches!(late, LiveError::CertificateExpired { .. }), "{late}");
}

#[test]
fn a_probe_tells_a_bad_certificate_before_anything_starts() {
    let identity = identity("A", false);
    for (host, good) in [("localhost", true), ("127.0.0.1", false)] {
        let (listener, address) = listen();
        let server = postgres_server(listener, identity.config.clone(), 0);
        let parameters = format!("sslmode=verify-full&{}", trusting(&identity));
        let target =
            Target::parse(&format!("postgres://{host}:{}/?{parameters}", address.port())).expect("valid");
        let told = relay::probe(&target, TIMEOUT);
        assert_eq!(told.is_ok(), good, "{told:?}");
        assert!(
            good || matches!(told, Err(LiveError::NameMismatch { .. })),
            "{told:?}"
        );
        server.join().expect("served");
    }
}

#[test]
fn a_server_without_tls_is_told_from_one_that_breaks_off() {
    let asked = || Script::postgres().expect("SSLRequest");
    for (script, without_tls) in [(asked().send(encryption(b'N')), true), (asked(), false)] {
        let server = script.close().start();
        let port = server.port();
        let stand = relay_to_target(&format!("postgres://127.0.0.1:{port}/?sslmode=require"));
        let _client = stand.connect();
        let error = stand
            .until(|counters| counters.failed == 1)
            .last_error
            .expect("kept");
        assert_eq!(
            matches!(error, LiveError::ServerWithoutTls { .. }),
            without_tls,
            "{error}"
        );
        server.finish();
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&[payload.len() as u8, 0, 0, sequence], payload].concat()
}

fn expect_bytes(stream: &mut impl Read, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    stream.read_exact(&mut bytes).expect("a packet");
    assert_eq!(bytes, expected);
}

fn response(flags: [u8; 2]) -> Vec<u8> {
    [&flags[..], &[0, 0], &[0, 0, 0, 1], &[45], &[0; 23], b"ann\0"].concat()
}

#[test]
fn a_mysql_login_is_encrypted_behind_the_clients_back() {
    let identity = identity("A", false);
    let config = identity.config.clone();
    let greeting = |capabilities: u16| mysql::handshake_v10([capabilities, 0xdfff], "plugin");
    let server = Script::mysql()
        .send(greeting(0xffff))
        .expect("SSLRequest")
        .encrypt(move |stream| Box::new(encrypted(config.clone(), stream)))
        .expect("HandshakeResponse41")
        .send(mysql::auth_switch_request(3, "plugin", b"salt"))
        .expect("AuthSwitchResponse")
        .send(mysql::ok_packet(5))
        .expect("COM_QUERY")
        .send_bytes(&packet(1, b"\x01"))
        .start();
    let port = server.port();
    let stand: Stand = relay_to_target(&format!("mysql://127.0.0.1:{port}/?sslMode=REQUIRED"));
    let mut client = stand.connect();
    expect_bytes(&mut client, &greeting(0xf7ff).bytes);
    client
        .write_all(&packet(1, &response([0x05, 0x02])))
        .expect("write");
    expect_bytes(&mut client, &packet(2, b"\xfeplugin\0salt"));
    client.write_all(&packet(3, b"\0scrambled")).expect("write");
    expect_bytes(&mut client, &mysql::ok_packet(4).bytes);
    client.write_all(&packet(0, b"\x03select 1")).expect("write");
    expect_bytes(&mut client, &packet(1, b"\x01"));
    drop(client);
    let received = server.finish();
    let received: Vec<&[u8]> = received.iter().map(|message| message.bytes.as_slice()).collect();
    let expected = [
        packet(1, &response([0x05, 0x0a])[..32]),
        packet(2, &response([0x05, 0x0a])),
        packet(4, b"\0scrambled"),
        packet(0, b"\x03select 1"),
    ];
    assert_eq!(received, expected);
    let (_, stories) = stand.stop();
    let sent = [
        packet(1, &response([0x05, 0x02])),
        packet(3, b"\0scrambled"),
        packet(0, b"\x03select 1"),
    ];
    assert_eq!(
        stories[0].bytes[Direction::ClientToServer],
        sent.concat(),
        "the observer sees what the client sent"
    );
}

#[test]
fn a_client_that_asks_for_tls_itself_is_passed_through() {
    let identity = identity("A", false);
    let (listener, address) = listen();
    let config = identity.config.clone();
    let server = postgres_server(listener, config, 0);
    let stand = relay_to_target(&format!("postgres://{address}/"));
    let mut client = stand.connect();
    client.write_all(&SSL_REQUEST).expect("write");
    let mut answer = [0];
    client.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"S", "the server's own answer");
    drop(client);
    server.join().expect("served");
}
