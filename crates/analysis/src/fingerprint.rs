//! Fingerprints: statements without their literals, so that equal work has one name and no value leaves
//! memory.

mod endings;
mod http;
mod interface_versions;
mod keywords;
mod letters;
mod outline;
mod prepared_names;
mod redis;
mod secrets;
mod sql;

use model::{ConnectionId, Fingerprint, RecognisedStatement};
use prepared_names::PreparedNames;
pub use prepared_names::StatementShape;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a statement's text is written: mainly, what a double-quoted text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// A name (the SQL standard, PostgreSQL).
    Standard,
    /// A literal, and a backslash escapes inside literals (MySQL's default).
    Mysql,
    /// A literal, and braces hold comments (Informix, unless its `DELIMIDENT` is set: then names become `?`,
    /// too).
    Informix,
    /// A name; `q'[...]'` is a literal and `:name` a parameter (Oracle).
    Oracle,
    /// A name, as `[...]` is; `@P1` is a parameter (SQL Server).
    SqlServer,
    /// An argument of a Redis command, always a literal.
    Redis,
}

/// Fingerprints that are distinguished in a run; clones are of the same run.
///
/// Memory is bounded: past [`MAXIMUM_FINGERPRINTS`] different fingerprints in use further ones all get the
/// name [`OTHER_STATEMENTS`].
#[derive(Debug, Clone, Default)]
pub struct KnownFingerprints(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    all: HashSet<Fingerprint>,
    /// What prepared statements are called.
    names: PreparedNames,
    /// New ones to come before it is worth a look again which are out of use.
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
        // A recording may hold texts that no fingerprint of ours is as long as.
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

    /// Lets go of those that nobody uses any more, as when a run that goes on for months no longer meets
    /// them. Not at every new one when all are in use.
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
    /// One shared allocation for equal texts.
    pub fn intern(&self, text: &str) -> Fingerprint {
        self.lock().intern(text)
    }

    /// The fingerprint of a statement whose preparation was not seen, by its name on `connection` and its
    /// shape as far as it has shown: the same as on other connections where neither contradicts.
    pub fn unseen(&self, connection: ConnectionId, name: &[u8], shape: StatementShape) -> Fingerprint {
        let known = &mut *self.lock();
        let label = known.names.unseen(connection, name, shape);
        known.intern(&label)
    }

    /// A statement whose preparation was seen is called `name` on `connection`.
    pub fn named(
        &self,
        connection: ConnectionId,
        name: &[u8],
        shape: StatementShape,
        fingerprint: &Fingerprint,
    ) {
        self.lock().names.seen(connection, name, shape, fingerprint);
    }

    /// Statements whose preparation was not seen, and whose text a later preparation of the same name has
    /// shown.
    pub fn recognised(&self) -> Vec<RecognisedStatement> {
        self.lock().names.recognised()
    }

    /// A recording says which text a statement has whose preparation was not seen.
    pub fn recognise(&self, found: RecognisedStatement) {
        let known = &mut *self.lock();
        let (unseen, text) = (known.intern(&found.unseen), known.intern(&found.text));
        known.names.recognise(RecognisedStatement {
            unseen,
            text,
            ..found
        });
    }

    /// What a thread that panicked has left is as good as it was.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes fingerprints and shares one allocation between equal ones.
#[derive(Debug)]
pub struct Fingerprints {
    known: KnownFingerprints,
    recent: Vec<Option<Recent>>,
    outlined: Vec<Option<Outlined>>,
    outline: Vec<u8>,
    scratch: Vec<u8>,
}

/// A text seen recently and its fingerprint: saves normalising the same text again.
#[derive(Debug, Clone)]
struct Recent {
    hash: u64,
    length: usize,
    fingerprint: Fingerprint,
}

/// The outline of texts seen recently and their fingerprint: saves normalising a text that differs in its
/// literals.
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
    /// Makes those of a run of which others make some too.
    pub fn among(known: KnownFingerprints) -> Self {
        Self {
            known,
            recent: vec![None; RECENT_TEXTS],
            outlined: vec![None; RECENT_TEXTS],
            outline: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The fingerprint of a statement's text.
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
            // It will hardly come again with these literals.
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

    /// That of a text whose outline is in `outline`.
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

    /// The fingerprint, and whether it is that of all texts with the same outline.
    fn normalised(&mut self, text: &[u8], dialect: Dialect) -> (Fingerprint, bool) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let is_of_outline = match dialect {
            Dialect::Redis => {
                redis::normalise(text, &mut scratch);
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

    /// The fingerprint of an HTTP request: the method and the path, numbers in the path and all values of the
    /// query string replaced by `?`.
    pub fn http(&mut self, method: &[u8], target: &[u8]) -> Fingerprint {
        let text = http::normalise(&String::from_utf8_lossy(method), &String::from_utf8_lossy(target));
        self.intern(&text)
    }

    /// That of a command of the protocol: its name in brackets, which no statement begins with.
    pub fn command(&mut self, name: &str, number: Option<u32>) -> Fingerprint {
        match number {
            Some(number) => self.intern(&format!("({name} {number})")),
            None => self.intern(&format!("({name})")),
        }
    }

    /// One shared allocation for equal texts.
    pub fn intern(&mut self, text: &str) -> Fingerprint {
        self.known.intern(text)
    }

    /// Those of the run, of which these are some.
    pub fn known(&self) -> &KnownFingerprints {
        &self.known
    }
}

/// The pattern of a route as a program wrote it into a comment: its parts that look like values are replaced
/// by `?` ([`Fingerprints::http`]'s rule), placeholders stay.
pub(crate) fn route(text: &str) -> String {
    http::route(text)
}

/// A controller's or an action's name in a comment: like a route, but it may have dots.
pub(crate) fn program_name(text: &str) -> String {
    http::program_name(text)
}

/// Most different fingerprints kept in one run.
pub const MAXIMUM_FINGERPRINTS: usize = 20_000;

/// The name of all statements beyond [`MAXIMUM_FINGERPRINTS`].
pub const OTHER_STATEMENTS: &str = "(other statements)";

/// Longest fingerprint in bytes; longer ones end in `...`.
const MAXIMUM_LENGTH: usize = 2048;

const RECENT_TEXTS: usize = 256;

/// FNV-1a over 8 bytes at a time: only to find the same text again, never for security.
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
