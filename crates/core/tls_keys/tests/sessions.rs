//! Sessions of rustls, client and server in memory: resumption, early data, another greeting, key
//! updates.

use model::Direction;
use rustls::crypto::ring::{cipher_suite, default_provider, kx_group};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, HandshakeKind, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite,
};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use tls_keys::{KeyLog, OpenedRecord, RecordOpener};

#[derive(Debug, Default)]
struct Lines(Mutex<Vec<String>>);

impl rustls::KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}", digits(client_random), digits(secret));
        self.0.lock().expect("no thread panicked").push(line);
    }
}

struct Ends {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    lines: Arc<Lines>,
}

impl Ends {
    fn new(suite: SupportedCipherSuite) -> Self {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        let certificate = own.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).expect("a certificate");
        let mut provider = default_provider();
        provider.cipher_suites = vec![suite];
        let mut of_server = provider.clone();
        // The client guesses the first group: the server requests another greeting with its own
        // group.
        provider.kx_groups = vec![kx_group::X25519, kx_group::SECP256R1];
        of_server.kx_groups = vec![kx_group::SECP256R1];
        let lines = Arc::new(Lines::default());
        let mut client = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .expect("a version for the suite")
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.key_log = Arc::<Lines>::clone(&lines);
        client.enable_early_data = true;
        let mut server = ServerConfig::builder_with_provider(Arc::new(of_server))
            .with_safe_default_protocol_versions()
            .expect("a version for the suite")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .expect("a key for the certificate");
        server.max_early_data_size = 1000;
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
            lines,
        }
    }

    fn talk(&self) -> Talk {
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::clone(&self.client), name).expect("a client");
        let server = ServerConnection::new(Arc::clone(&self.server)).expect("a server");
        Talk {
            client: client.into(),
            server: server.into(),
            passed: Vec::new(),
        }
    }

    fn opened(&self, passed: &[(Direction, Vec<u8>)]) -> ([String; 2], usize) {
        let mut log = KeyLog::default();
        for line in self.lines.0.lock().expect("no thread panicked").iter() {
            log.line(line.as_bytes()).expect("a line of a key log");
        }
        let mut opener = RecordOpener::new(Arc::new(log));
        let (mut text, mut closed) = (<[String; 2]>::default(), 0);
        for (direction, bytes) in passed {
            let mut rest = bytes.as_slice();
            while let Some((header, behind)) = rest.split_first_chunk::<5>() {
                let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
                let (body, others) = behind.split_at(length);
                match opener.open(*direction, header, body) {
                    OpenedRecord::Data(plain) => text[direction.index()] += &String::from_utf8_lossy(plain),
                    OpenedRecord::Closed(_) => closed += 1,
                    OpenedRecord::Clear | OpenedRecord::Handshake | OpenedRecord::Alert => {}
                }
                rest = others;
            }
        }
        (text, closed)
    }
}

struct Talk {
    client: Connection,
    server: Connection,
    passed: Vec<(Direction, Vec<u8>)>,
}

impl Talk {
    fn settle(&mut self) {
        loop {
            let before = self.passed.len();
            for direction in [Direction::ClientToServer, Direction::ServerToClient] {
                let (from, to) = match direction {
                    Direction::ClientToServer => (&mut self.client, &mut self.server),
                    Direction::ServerToClient => (&mut self.server, &mut self.client),
                };
                let mut bytes = Vec::new();
                while from.wants_write() {
                    from.write_tls(&mut bytes).expect("a buffer");
                }
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    to.read_tls(&mut rest).expect("a buffer");
                    to.process_new_packets().expect("what the other end sends");
                    let mut plain = [0; 256];
                    while to.reader().read(&mut plain).is_ok_and(|count| count > 0) {}
                }
                if !bytes.is_empty() {
                    self.passed.push((direction, bytes));
                }
            }
            if self.passed.len() == before {
                return;
            }
        }
    }

    fn say(&mut self, words: [&str; 2]) {
        for (end, words) in [&mut self.client, &mut self.server].into_iter().zip(words) {
            end.writer().write_all(words.as_bytes()).expect("a buffer");
        }
        self.settle();
    }
}

#[test]
fn all_suites_are_opened_over_another_greeting_and_in_resumed_sessions() {
    for suite in rustls::crypto::ring::ALL_CIPHER_SUITES {
        if is_of_rsa(suite.suite()) {
            continue;
        }
        let ends = Ends::new(*suite);
        for resumed in [false, true] {
            let mut talk = ends.talk();
            talk.settle();
            talk.say(["question ", "answer "]);
            talk.say(["another", "of it"]);
            let is_resumed = talk.client.handshake_kind() == Some(HandshakeKind::Resumed);
            assert_eq!(is_resumed, resumed, "{suite:?}");
            let (text, closed) = ends.opened(&talk.passed);
            assert_eq!(text, ["question another", "answer of it"], "{suite:?}");
            assert_eq!(closed, 0, "{suite:?}");
        }
    }
}

fn is_of_rsa(suite: CipherSuite) -> bool {
    format!("{suite:?}").contains("ECDHE_RSA")
}

#[test]
fn keys_are_followed_through_updates() {
    let ends = Ends::new(cipher_suite::TLS13_AES_128_GCM_SHA256);
    let mut talk = ends.talk();
    talk.settle();
    for number in ["1 ", "2 ", "3 "] {
        talk.say([number, number]);
        talk.client.refresh_traffic_keys().expect("a session");
        talk.settle();
    }
    talk.say(["4", "4"]);
    assert_eq!(
        ends.opened(&talk.passed),
        (["1 2 3 4".to_owned(), "1 2 3 4".to_owned()], 0)
    );
}

#[test]
fn early_data_are_opened() {
    let ends = Ends::new(cipher_suite::TLS13_AES_256_GCM_SHA384);
    let mut first = ends.talk();
    first.settle();
    let mut talk = ends.talk();
    if let Connection::Client(client) = &mut talk.client {
        let mut early = client.early_data().expect("a session that can be resumed");
        early.write_all(b"early ").expect("a buffer");
    }
    talk.settle();
    talk.say(["late", "answer"]);
    let (text, closed) = ends.opened(&talk.passed);
    assert_eq!(
        (text, closed),
        (["early late".to_owned(), "answer".to_owned()], 0)
    );
}

#[test]
fn what_follows_a_damaged_record_is_opened() {
    for suite in [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ] {
        let ends = Ends::new(suite);
        let mut talk = ends.talk();
        talk.settle();
        let first = talk.passed.len();
        let words = ["1 ", "2 ", "3 "];
        words.iter().for_each(|word| talk.say([word, word]));
        assert_eq!(talk.passed.len(), first + 6);
        for damaged in 0..6 {
            let mut passed = talk.passed.clone();
            let (direction, record) = &mut passed[first + damaged];
            *record.last_mut().expect("a record") ^= 1;
            let mut expected = [words.concat(), words.concat()];
            let text = &mut expected[direction.index()];
            *text = text.replace(words[damaged / 2], "");
            assert_eq!(ends.opened(&passed), (expected, 1), "{suite:?}");
        }
    }
}
