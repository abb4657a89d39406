//! Fingerprints: statements without literals. Equal work has one name, and no value leaves memory.

mod endings;
mod http;
mod interface_versions;
mod keywords;
mod letters;
mod mongodb;
mod outline;
mod prepared_names;
mod redis;
mod secrets;
mod sql;

pub use model::Dialect;
use model::{ConnectionId, Fingerprint, RecognisedStatement};
use prepared_names::PreparedNames;
pub use prepared_names::StatementShape;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The fingerprints of a run; clones share them.
///
/// Memory is bounded: beyond [`MAXIMUM_FINGERPRINTS`] in use, all further ones become
/// [`OTHER_STATEMENTS`].
#[derive(Debug, Clone, Default)]
pub struct KnownFingerprints(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    all: HashSet<Fingerprint>,
    names: PreparedNames,
    /// New fingerprints until the next search for unused ones.
    patience: usize,
}

impl Known {
    fn intern(&mut self, text: &str) -> Fingerprint {
        if let Some(known) = self.all.get(text) {
            return known.clone();
        }
        if self.all.len() >= MAXIMUM_FINGERPRINTS {
            self.make_room();
        }
        // A recording may hold longer texts than our fingerprints.
        let text = match self.all.len() {
            ..MAXIMUM_FINGERPRINTS if text.len() <= 2 * MAXIMUM_LENGTH => text,
            _ => OTHER_STATEMENTS,
        };
        if let Some(known) = self.all.get(text) {
            return known.clone();
        }
        let fingerprint: Fingerprint = Arc::from(text);
        self.all.insert(fingerprint.clone());
        fingerprint
    }

    /// Drops unused fingerprints, as a run of months needs. If all are in use, it does not search
    /// at every new one.
    fn make_room(&mut self) {
        if self.patience > 0 {
            self.patience -= 1;
            return;
        }
        self.all.retain(|known| Arc::strong_count(known) > 1);
        if self.all.len() > MAXIMUM_FINGERPRINTS / 2 {
            self.patience = MAXIMUM_FINGERPRINTS / 4;
        }
    }
}

impl KnownFingerprints {
    pub fn intern(&self, text: &str) -> Fingerprint {
        self.lock().intern(text)
    }

    /// Fingerprint of a statement prepared before the capture, by its name on `connection` and its
    /// known shape. Other connections share it unless name or shape contradicts.
    pub fn unseen(&self, connection: ConnectionId, name: &[u8], shape: StatementShape) -> Fingerprint {
        let known = &mut *self.lock();
        let label = known.names.unseen(connection, name, shape);
        known.intern(&label)
    }

    pub fn named(
        &self,
        connection: ConnectionId,
        name: &[u8],
        shape: StatementShape,
        fingerprint: &Fingerprint,
    ) {
        self.lock().names.seen(connection, name, shape, fingerprint);
    }

    /// Statements prepared before the capture, with the text that a later preparation of the same
    /// name showed.
    pub fn recognised(&self) -> Vec<RecognisedStatement> {
        self.lock().names.recognised()
    }

    pub fn recognise(&self, found: RecognisedStatement) {
        let known = &mut *self.lock();
        let (unseen, text) = (known.intern(&found.unseen), known.intern(&found.text));
        known.names.recognise(RecognisedStatement {
            unseen,
            text,
            ..found
        });
    }

    /// A panicked thread leaves the data intact.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub struct Fingerprints {
    known: KnownFingerprints,
    recent: Vec<Option<Recent>>,
    outlined: Vec<Option<Outlined>>,
    outline: Vec<u8>,
    scratch: Vec<u8>,
}

/// Saves normalising the same text again.
#[derive(Debug, Clone)]
struct Recent {
    hash: u64,
    length: usize,
    fingerprint: Fingerprint,
}

/// Saves normalising a text that differs only in literals.
#[derive(Debug, Clone)]
struct Outlined {
    dialect: Dialect,
    outline: Box<[u8]>,
    fingerprint: Fingerprint,
}

impl Default for Fingerprints {
    fn default() -> Self {
        Self::among(KnownFingerprints::default())
    }
}

impl Fingerprints {
    pub fn among(known: KnownFingerprints) -> Self {
        Self {
            known,
            recent: vec![None; RECENT_TEXTS],
            outlined: vec![None; RECENT_TEXTS],
            outline: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub fn statement(&mut self, text: &[u8], dialect: Dialect) -> Fingerprint {
        let hash = hash(text) ^ (dialect as u64);
        let slot = hash as usize % RECENT_TEXTS;
        if let Some(recent) = &self.recent[slot]
            && recent.hash == hash
            && recent.length == text.len()
        {
            return recent.fingerprint.clone();
        }
        let fingerprint = match outline::write(text, dialect, &mut self.outline) {
            // The same literals are unlikely to come again.
            true if self.outline != text => return self.of_outline(text, dialect),
            true => self.of_outline(text, dialect),
            false => self.normalised(text, dialect).0,
        };
        self.recent[slot] = Some(Recent {
            hash,
            length: text.len(),
            fingerprint: fingerprint.clone(),
        });
        fingerprint
    }

    fn of_outline(&mut self, text: &[u8], dialect: Dialect) -> Fingerprint {
        let slot = hash(&self.outline) as usize % RECENT_TEXTS;
        if let Some(known) = &self.outlined[slot]
            && known.dialect == dialect
            && *known.outline == *self.outline
        {
            return known.fingerprint.clone();
        }
        let (fingerprint, is_of_outline) = self.normalised(text, dialect);
        if is_of_outline && *fingerprint != *OTHER_STATEMENTS && outline::holds_for_all(&self.outline) {
            self.outlined[slot] = Some(Outlined {
                dialect,
                outline: self.outline.as_slice().into(),
                fingerprint: fingerprint.clone(),
            });
        }
        fingerprint
    }

    /// Returns the fingerprint, and whether all texts with this outline have it.
    fn normalised(&mut self, text: &[u8], dialect: Dialect) -> (Fingerprint, bool) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let is_of_outline = match dialect {
            Dialect::Redis => {
                redis::normalise(text, &mut scratch);
                true
            }
            Dialect::Mongodb => {
                mongodb::normalise(text, &mut scratch);
                true
            }
            Dialect::Standard | Dialect::Mysql | Dialect::Informix | Dialect::Oracle | Dialect::SqlServer => {
                sql::normalise(text, dialect, &mut scratch)
            }
        };
        let fingerprint = match std::str::from_utf8(&scratch) {
            Ok(text) => self.intern(text),
            Err(_) => self.intern(&String::from_utf8_lossy(&scratch)),
        };
        self.scratch = scratch;
        (fingerprint, is_of_outline)
    }

    /// Fingerprint of an HTTP request: method and path, with `?` for numbers in the path and values
    /// of the query string.
    pub fn http(&mut self, method: &[u8], target: &[u8]) -> Fingerprint {
        let text = http::normalise(&String::from_utf8_lossy(method), &String::from_utf8_lossy(target));
        self.intern(&text)
    }

    /// Fingerprint of an operation and its names: parts that look like keys become `?`.
    pub fn words(&mut self, text: &[u8]) -> Fingerprint {
        let text = http::words(&String::from_utf8_lossy(text));
        self.intern(&text)
    }

    /// [`Self::http`] of a method, a space and a target.
    pub fn target(&mut self, text: &[u8]) -> Fingerprint {
        let space = text.iter().position(|&byte| byte == b' ');
        let (method, target) = text.split_at(space.unwrap_or(text.len()));
        self.http(method, target.trim_ascii_start())
    }

    /// Fingerprint of a protocol command: its name in brackets, which no statement begins with.
    pub fn command(&mut self, name: &str, number: Option<u32>) -> Fingerprint {
        match number {
            Some(number) => self.intern(&format!("({name} {number})")),
            None => self.intern(&format!("({name})")),
        }
    }

    pub fn intern(&mut self, text: &str) -> Fingerprint {
        self.known.intern(text)
    }

    pub fn known(&self) -> &KnownFingerprints {
        &self.known
    }
}

/// Pattern of a route in a program's comment: parts that look like values become `?`
/// ([`Fingerprints::http`]'s rule), placeholders stay.
pub(crate) fn route(text: &str) -> String {
    http::route(text)
}

/// A controller's or action's name in a comment: like a route, but dots are allowed.
pub(crate) fn program_name(text: &str) -> String {
    http::program_name(text)
}

pub const MAXIMUM_FINGERPRINTS: usize = 20_000;

pub const OTHER_STATEMENTS: &str = "(other statements)";

/// In bytes. Longer fingerprints end in `...`.
const MAXIMUM_LENGTH: usize = 2048;

const RECENT_TEXTS: usize = 256;

/// FNV-1a over 8 bytes at a time: finds equal texts, not for security.
fn hash(text: &[u8]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = (state ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    }
    for &byte in chunks.remainder() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    state ^ (state >> 32)
}

#[cfg(test)]
mod tests;
