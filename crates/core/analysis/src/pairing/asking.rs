//! Properties of requests beyond running statements, and digests of equal questions.

use crate::fingerprint::{KnownFingerprints, StatementShape};
use crate::verb::Verb;
use foldhash::HashMap;
use model::{CallSyntax, ConnectionId, Content, Fingerprint, RequestStart, RequestTraits, StatementId};
use std::hash::{BuildHasher, RandomState};

#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) fingerprint: Fingerprint,
    digest: Option<u64>,
    /// `None` without a name or announcement.
    called: Option<Box<Called>>,
}

#[derive(Debug, Clone)]
struct Called {
    name: Box<[u8]>,
    shape: StatementShape,
    is_unseen: bool,
}

impl Called {
    fn new(name: &[u8], parameters: Option<u16>, is_unseen: bool) -> Self {
        let shape = StatementShape {
            parameters,
            columns: None,
        };
        Self {
            name: name.into(),
            shape,
            is_unseen,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    known: HashMap<StatementId, Prepared>,
}

impl PreparedStatements {
    pub(super) fn find(&self, statement: Option<StatementId>) -> Option<&Prepared> {
        self.known.get(&statement?)
    }

    /// Stores a placeholder for an unseen preparation. Its questions have no digest, as it may not
    /// be a read.
    pub(super) fn unseen(
        &mut self,
        connection: ConnectionId,
        statement: StatementId,
        name: &[u8],
        parameters: Option<u16>,
        known: &KnownFingerprints,
    ) {
        if self.known.len() < super::MAXIMUM_PREPARED {
            let called = Called::new(name, parameters, true);
            let fingerprint = known.unseen(connection, name, called.shape);
            let prepared = Prepared {
                fingerprint,
                digest: None,
                called: Some(Box::new(called)),
            };
            self.known.insert(statement, prepared);
        }
    }

    pub(super) fn named(
        &mut self,
        connection: ConnectionId,
        statement: StatementId,
        name: &[u8],
        parameters: Option<u16>,
        known: &KnownFingerprints,
    ) {
        if let Some(prepared) = self.known.get_mut(&statement) {
            let called = Called::new(name, parameters, false);
            known.named(connection, name, called.shape, &prepared.fingerprint);
            prepared.called = Some(Box::new(called));
        }
    }

    /// Stores the number of result columns. Returns old and new fingerprint if another placeholder
    /// now fits.
    pub(super) fn columns(
        &mut self,
        connection: ConnectionId,
        statement: StatementId,
        count: u16,
        known: &KnownFingerprints,
    ) -> Option<(Fingerprint, Fingerprint)> {
        let prepared = self.known.get_mut(&statement)?;
        let called = prepared.called.as_deref_mut()?;
        called.shape.columns = Some(count);
        if !called.is_unseen {
            known.named(connection, &called.name, called.shape, &prepared.fingerprint);
            return None;
        }
        let after = known.unseen(connection, &called.name, called.shape);
        let before = std::mem::replace(&mut prepared.fingerprint, after.clone());
        (before != after).then_some((before, after))
    }

    pub(super) fn remember(
        &mut self,
        statement: StatementId,
        text: &[u8],
        fingerprint: &Fingerprint,
        key: Option<&RandomState>,
    ) {
        if self.known.len() < super::MAXIMUM_PREPARED {
            let prepared = Prepared {
                fingerprint: fingerprint.clone(),
                digest: key
                    .filter(|_| Verb::from_fingerprint(fingerprint) == Verb::Read)
                    .and_then(|key| digest_of(key, text)),
                called: None,
            };
            self.known.insert(statement, prepared);
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Asking {
    asked: RequestTraits,
    digest: Digest,
    reads: bool,
    rows: Digest,
}

#[derive(Debug, Default, Clone, Copy)]
enum Digest {
    #[default]
    Nothing,
    So(u64),
    /// Incomplete bytes, or not a question.
    Untold,
}

impl Asking {
    fn calls(
        &mut self,
        syntax: CallSyntax,
        identity: Option<[&[u8]; 2]>,
        fingerprint: Option<&str>,
        key: Option<&RandomState>,
    ) {
        if syntax == CallSyntax::NextPage {
            self.asked.fetches += 1;
            self.digest = Digest::Untold;
            return;
        }
        if let CallSyntax::FirstPage { rows } = syntax {
            self.limits(Some(rows), None);
        }
        self.executes(fingerprint, key, |key| {
            let [target, body] = identity?.map(|part| digest_of(key, part));
            Some(key.hash_one((target?, body?)))
        });
    }

    /// `fingerprint` belongs to the message's text, if any.
    pub(super) fn process_message(
        &mut self,
        content: Content<'_>,
        fingerprint: Option<&str>,
        statements: &PreparedStatements,
        key: Option<&RandomState>,
    ) {
        match content {
            Content::Statement { text } => {
                self.executes(fingerprint, key, |key| digest_of(key, text));
                self.writes(fingerprint, key, text);
            }
            Content::Run {
                text,
                fetch_rows,
                sets,
                values,
                ..
            } => {
                self.limits(fetch_rows, None);
                self.adds_sets(sets);
                self.executes(fingerprint, key, |key| {
                    Some(key.hash_one((digest_of(key, text)?, digest_of(key, values?)?)))
                });
            }
            Content::Prepare { .. } => self.asked.prepares += 1,
            Content::Bind { values } => {
                if let Some(key) = key {
                    self.fold(key, values.and_then(|values| digest_of(key, values)));
                }
            }
            Content::Execute {
                statement,
                fetch_rows,
                fetch_bytes,
                sets,
                values,
            } => {
                self.limits(fetch_rows, fetch_bytes);
                self.executes_prepared(statements.find(statement), sets, values, key);
            }
            Content::Fetch {
                fetch_rows,
                fetch_bytes,
                ..
            } => {
                self.asked.fetches += 1;
                self.limits(fetch_rows, fetch_bytes);
                self.digest = Digest::Untold;
            }
            Content::Call { identity, syntax, .. } => self.calls(syntax, identity, fingerprint, key),
            Content::Close => self.asked.closes += 1,
            // Bodies are not seen: of other methods two requests may differ.
            Content::HttpRequest {
                method: b"GET",
                target,
                ..
            } => {
                self.executes(fingerprint, key, |key| digest_of(key, target));
            }
            Content::Command { .. }
            | Content::HttpRequest { .. }
            | Content::Unseen { .. }
            | Content::Named { .. }
            | Content::Columns { .. }
            | Content::Row
            | Content::Done { .. }
            | Content::Ready(_)
            | Content::Error { .. }
            | Content::ServerVersion { .. }
            | Content::Client { .. }
            | Content::Parameter { .. }
            | Content::HttpResponse { .. }
            | Content::Cut
            | Content::Undecoded { .. }
            | Content::Other => {}
        }
    }

    fn executes_prepared(
        &mut self,
        prepared: Option<&Prepared>,
        sets: u32,
        values: Option<&[u8]>,
        key: Option<&RandomState>,
    ) {
        self.asked.prepared_executions += 1;
        self.adds_sets(sets);
        self.executes(prepared.map(|prepared| &*prepared.fingerprint), key, |key| {
            let text = prepared?.digest?;
            Some(key.hash_one((text, digest_of(key, values?)?)))
        });
    }

    /// Notes the first bytes of an undecoded request.
    pub(super) fn starts(&mut self, bytes: &[u8]) {
        if self.asked.start.is_none() {
            self.asked.start = RequestStart::from_bytes(bytes);
        }
    }

    pub(super) fn asked(&self) -> RequestTraits {
        RequestTraits {
            request_digest: match self.digest {
                Digest::So(digest) if self.reads => Some(digest),
                Digest::So(_) | Digest::Nothing | Digest::Untold => None,
            },
            rows_digest: match self.rows {
                Digest::So(digest) => Some(digest),
                Digest::Nothing | Digest::Untold => None,
            },
            ..self.asked
        }
    }

    fn adds_sets(&mut self, sets: u32) {
        if sets > 1 {
            self.asked.sets = self.asked.sets.saturating_add(sets);
        }
    }

    fn limits(&mut self, rows: Option<u32>, bytes: Option<u32>) {
        self.asked.fetch_rows = rows.or(self.asked.fetch_rows);
        self.asked.fetch_bytes = bytes.or(self.asked.fetch_bytes);
    }

    fn executes(
        &mut self,
        fingerprint: Option<&str>,
        key: Option<&RandomState>,
        digest: impl FnOnce(&RandomState) -> Option<u64>,
    ) {
        let Some(key) = key else { return };
        match fingerprint.map(Verb::from_fingerprint) {
            Some(Verb::Read) => {
                self.reads = true;
                self.fold(key, digest(key));
            }
            Some(Verb::Control) => {}
            Some(Verb::Write | Verb::Fetch | Verb::Other) | None => self.digest = Digest::Untold,
        }
    }

    /// Finds the rows that a statement writes, if it is the first executed.
    fn writes(&mut self, fingerprint: Option<&str>, key: Option<&RandomState>, text: &[u8]) {
        let Some(key) = key else { return };
        self.rows = match self.rows {
            Digest::Nothing => fingerprint
                .filter(|fingerprint| writes_rows_it_names(fingerprint))
                .and_then(|_| digest_of(key, condition(text)?))
                .map_or(Digest::Untold, Digest::So),
            Digest::So(_) | Digest::Untold => Digest::Untold,
        };
    }

    fn fold(&mut self, key: &RandomState, next: Option<u64>) {
        self.digest = match (self.digest, next) {
            (Digest::Untold, _) | (_, None) => Digest::Untold,
            (Digest::Nothing, Some(next)) => Digest::So(next),
            (Digest::So(before), Some(next)) => Digest::So(key.hash_one((before, next))),
        };
    }
}

/// Whether a single statement identifies the rows it changes by literals, not parameters.
fn writes_rows_it_names(fingerprint: &str) -> bool {
    let is_alone = || !fingerprint.trim_end_matches([';', ' ']).contains(';');
    (fingerprint.starts_with("update ") || fingerprint.starts_with("delete ")) && is_alone()
}

/// The text after the only WHERE. With several (a subquery, a literal with that word) the rows are
/// ambiguous.
fn condition(text: &[u8]) -> Option<&[u8]> {
    let text = text.get(..MAX_DIGESTED.min(text.len()))?;
    let mut places = text
        .windows(WHERE.len())
        .enumerate()
        .filter(|(_, word)| word.eq_ignore_ascii_case(WHERE));
    let (place, _) = places.next()?;
    (text.len() < MAX_DIGESTED && places.next().is_none()).then(|| text[place + WHERE.len()..].trim_ascii())
}

const WHERE: &[u8] = b" where ";

/// Keyed hash of a text; `None` for long texts, which may be cut and are slow to hash.
fn digest_of(key: &RandomState, text: &[u8]) -> Option<u64> {
    (text.len() <= MAX_DIGESTED).then(|| key.hash_one(text))
}

const MAX_DIGESTED: usize = 4096;
