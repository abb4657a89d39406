//! Sessions with real servers, compared with captures of the same connection: legs and round trips
//! match.

use client::session::{Session, SessionOptions};
use model::{Leg, Phase};
use serde_json::Value;
use std::time::Duration;
use sys::StopToken;
use sys::{Clock, Target};
use testbed::binary::{longwire, records};
use testbed::{Capture, MariaDb, Postgres, PostgresAuth, Redis};

static NEVER: StopToken = StopToken::never();
const WITHIN: Duration = Duration::from_secs(20);

struct Compared {
    legs: Vec<Leg>,
    records: Vec<Value>,
}

fn compared(url: &str, port: u16, question: &[u8]) -> Compared {
    let target = Target::parse(url).expect("a target");
    let capture = Capture::start(port);
    let clock = Clock::anchored_now();
    let before = clock.now();
    let options = SessionOptions {
        clock,
        timeout: WITHIN,
        ..SessionOptions::new(&NEVER)
    };
    let mut session = Session::open(&target, options).unwrap_or_else(|error| panic!("{target}: {error}"));
    let after = clock.now();
    let legs = session.legs().to_vec();

    let sum: Duration = legs.iter().map(|leg| leg.duration).sum();
    assert_eq!(sum, session.opening_time(), "legs have no gaps");
    let (began, ended) = session.opened();
    assert_eq!(ended.since(began), sum);
    assert!(began >= before && ended <= after, "they lie within the call");
    let aside = after.since(before).saturating_sub(sum);
    assert!(
        aside < Duration::from_millis(200),
        "{aside:?} of the call is in no leg"
    );

    let reply = session.exchange(question, WITHIN).expect("a reply");
    assert_eq!((reply.turns, &reply.error), (1, &None));
    let kernel = session.kernel().expect("TCP");
    assert!(
        kernel.rtt.is_some() && kernel.data_packets_in > Some(0),
        "{kernel:?}"
    );
    session.close();

    // The final message may still be in transit when the socket is closed.
    std::thread::sleep(Duration::from_millis(50));
    let file = capture.stop();
    let mut command = longwire(&["read", "--json", "--exchanges"]);
    let output = command.arg(file.path()).output().expect("the binary starts");
    let records = records(&output);
    let connections = records
        .iter()
        .filter(|record| record["type"] == "connection")
        .count();
    assert_eq!(connections, 1, "one connection was made");
    let compared = Compared { legs, records };
    let turns: u64 = compared.legs.iter().map(|leg| leg.turns).sum();
    assert_eq!(
        turns + 1,
        compared.captured_connection("turns"),
        "{:#?}",
        compared.legs
    );
    compared
}

impl Compared {
    fn captured_connection(&self, key: &str) -> u64 {
        let found = self.records.iter().find(|record| record["type"] == "connection");
        found.expect("a connection")[key].as_u64().expect("a number")
    }

    fn captured(&self, phase: Phase) -> u64 {
        self.records
            .iter()
            .filter(|record| record["type"] == "exchange" && record["phase"] == phase.name())
            .map(|record| record["turns"].as_u64().expect("a number"))
            .sum()
    }

    fn turns(&self, phase: Phase) -> u64 {
        let of_phase = self.legs.iter().filter(|leg| leg.phase == phase);
        of_phase.map(|leg| leg.turns).sum()
    }

    fn assert_phases(&self) {
        for phase in [Phase::Connect, Phase::Tls, Phase::Login] {
            let legs = &self.legs;
            assert_eq!(
                self.turns(phase),
                self.captured(phase),
                "{} {legs:#?}",
                phase.name()
            );
        }
        assert_eq!(self.captured(Phase::Work), 1);
    }

    /// In an encrypted capture, everything after the handshake is one phase.
    fn assert_encrypted_phases(&self) {
        assert_eq!(self.turns(Phase::Connect), self.captured(Phase::Connect));
        assert_eq!(
            self.turns(Phase::Tls),
            self.captured(Phase::Tls),
            "{:#?}",
            self.legs
        );
        assert_eq!(
            self.turns(Phase::Login) + 1,
            self.captured(Phase::Login) + self.captured(Phase::Work)
        );
    }

    fn names(&self) -> Vec<(&str, u64)> {
        self.legs.iter().map(|leg| (&*leg.name, leg.turns)).collect()
    }
}

const POSTGRES_QUESTION: &[u8] = b"Q\0\0\0\x0dselect 1\0";
const MYSQL_QUESTION: &[u8] = b"\x09\0\0\0\x03select 1";

#[test]
fn postgres_by_each_method() {
    for (auth, login) in [
        (PostgresAuth::Trust, &[("startup", 1)][..]),
        (PostgresAuth::Md5, &[("startup", 1), ("md5", 1)]),
        (
            PostgresAuth::ScramSha256,
            &[
                ("startup", 1),
                ("scram-sha-256 first", 1),
                ("scram-sha-256 computing", 0),
                ("scram-sha-256 final", 1),
            ],
        ),
    ] {
        let server = Postgres::options().auth(auth).start();
        let compared = compared(&server.url(), server.port(), POSTGRES_QUESTION);
        compared.assert_phases();
        // Requests TLS like libpq; the server has none.
        assert_eq!(
            compared.names(),
            [&[("tcp", 1), ("tls request", 1)], login].concat()
        );
    }
}

#[test]
fn postgres_encrypted() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).tls().start();
    let authority = server.certificate().expect("TLS").authority().display();
    let url = format!("{}?sslmode=verify-full&sslrootcert={authority}", server.url());
    let compared = compared(&url, server.port(), POSTGRES_QUESTION);
    compared.assert_encrypted_phases();
    assert_eq!(
        compared.names(),
        [
            ("tcp", 1),
            ("tls request", 1),
            // Versions before 18 reject the client's initial key share.
            ("tls handshake", 2),
            ("tls computing", 0),
            ("startup", 1),
            ("scram-sha-256 first", 1),
            ("scram-sha-256 computing", 0),
            ("scram-sha-256 final", 1)
        ]
    );
    let remedies = compared.legs.iter().map(|leg| leg.saves_turns);
    assert_eq!(remedies.collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 0, 1]);
}

#[test]
fn postgres_with_an_older_tls() {
    let server = Postgres::options()
        .tls()
        .setting("ssl_max_protocol_version", "TLSv1.2")
        .start();
    let url = format!("{}?sslmode=require", server.url());
    let compared = compared(&url, server.port(), POSTGRES_QUESTION);
    compared.assert_encrypted_phases();
    let handshake = &compared.legs[2];
    assert_eq!(
        (&*handshake.name, handshake.turns, handshake.saves_turns),
        ("tls handshake", 2, 1)
    );
}

#[test]
fn mariadb_by_each_method() {
    let server = MariaDb::options().tls().start();
    server.sql(
        "install soname 'auth_ed25519'; \
         create user eddie identified via ed25519 using password('signed-secret'); \
         grant all on test.* to eddie",
    );
    let plain = format!("{}?ssl-mode=DISABLED", server.url());
    let native = compared(&plain, server.port(), MYSQL_QUESTION);
    native.assert_phases();
    let login = ("login by mysql_native_password", 1);
    assert_eq!(native.names(), [("tcp", 1), ("greeting", 1), login]);

    let url = format!("mysql://eddie:signed-secret@127.0.0.1:{}/test", server.port());
    let signed = compared(&format!("{url}?ssl-mode=DISABLED"), server.port(), MYSQL_QUESTION);
    signed.assert_phases();
    assert_eq!(
        signed.names(),
        [
            ("tcp", 1),
            ("greeting", 1),
            login,
            ("client_ed25519 computing", 0),
            ("switch to client_ed25519", 1)
        ]
    );

    let authority = server.certificate().expect("TLS").authority().display();
    let url = format!("{url}?ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}");
    let encrypted = compared(&url, server.port(), MYSQL_QUESTION);
    encrypted.assert_encrypted_phases();
    assert_eq!(
        encrypted.names(),
        [
            ("tcp", 1),
            ("greeting", 1),
            ("tls handshake", 1),
            ("tls computing", 0),
            login,
            ("client_ed25519 computing", 0),
            ("switch to client_ed25519", 1)
        ]
    );
}

#[test]
fn redis_with_a_database() {
    let server = Redis::start();
    let url = format!("{}/3", server.url().trim_end_matches('/'));
    let compared = compared(&url, server.port(), wire::redis::PING);
    let turns: u64 = compared.legs.iter().map(|leg| leg.turns).sum();
    assert!(turns >= 2, "{:?}", compared.names());
}
