//! TLS opened with keys: those of the recorded connections for these, and for any other connection one of them.

use crate::check_stream_with;
use std::sync::{Arc, LazyLock};
use tls_keys::{KeyLog, Secrets, SessionSecrets};

/// The property of the whole stream, where it holds keys.
pub fn check_opened(input: &[u8]) {
    static LOG: LazyLock<Arc<RecordedLog>> = LazyLock::new(|| Arc::new(RecordedLog::load()));
    check_stream_with(input, Some(LOG.clone()));
}

struct RecordedLog {
    log: KeyLog,
    other: Option<Arc<SessionSecrets>>,
}

impl RecordedLog {
    fn load() -> Self {
        let mut log = KeyLog::default();
        for line in LOGS.iter().flat_map(|text| text.lines()) {
            log.line(line.as_bytes()).expect("a line of a key log");
        }
        let random = LOGS[0].split(' ').nth(1).expect("a random value");
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(random.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).expect("digits");
            *byte = u8::from_str_radix(pair, 16).expect("digits");
        }
        let other = log.find_secrets(&bytes);
        Self { log, other }
    }
}

impl Secrets for RecordedLog {
    fn find_secrets(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>> {
        self.log.find_secrets(client_random).or_else(|| self.other.clone())
    }
}

const LOGS: [&str; 3] = [
    include_str!("../crates/core/wire/tests/data/tls/keys-postgres-tls13.keys"),
    include_str!("../crates/core/wire/tests/data/tls/keys-postgres-tls12.keys"),
    include_str!("../crates/core/wire/tests/data/tls/keys-mariadb-tls13.keys"),
];
