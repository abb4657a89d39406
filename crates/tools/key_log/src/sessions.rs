//! Counts the sessions in a key log.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read};

/// Counts sessions with keys for application data (RFC 9850, section 2): up to TLS 1.2 by master
/// secret, in TLS 1.3 by the client's first traffic secret. A session logged by both ends counts
/// once.
pub(crate) fn count(log: impl Read) -> io::Result<u64> {
    let mut log = BufReader::new(log);
    let (mut line, mut seen, mut sessions) = (Vec::new(), HashSet::new(), 0);
    loop {
        line.clear();
        // A program may have written anything: lines beyond the maximum are read in pieces.
        if log.by_ref().take(MAX_LINE_LEN).read_until(b'\n', &mut line)? == 0 {
            return Ok(sessions);
        }
        let Some(random) = client_random(&line) else {
            continue;
        };
        let mut hasher = DefaultHasher::new();
        random.to_ascii_lowercase().hash(&mut hasher);
        let is_new = match seen.len() {
            ..MAX_DISTINCT_SESSIONS => seen.insert(hasher.finish()),
            _ => !seen.contains(&hasher.finish()),
        };
        sessions += u64::from(is_new);
    }
}

fn client_random(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(|byte| byte.is_ascii_whitespace());
    let label = words.next()?;
    let stands_for_one = [b"CLIENT_RANDOM".as_slice(), b"CLIENT_TRAFFIC_SECRET_0"].contains(&label);
    words.next().filter(|random| stands_for_one && !random.is_empty())
}

/// A label, 32 bytes and at most 64 bytes in hexadecimal digits are shorter.
const MAX_LINE_LEN: u64 = 512;
/// Beyond this, sessions are counted as often as they were written.
const MAX_DISTINCT_SESSIONS: usize = 1 << 20;
