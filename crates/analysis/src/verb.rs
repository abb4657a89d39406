//! What a statement is for, by the first word of its fingerprint.

/// What a statement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// It reads: `select`, `GET`.
    Read,
    /// It changes rows: `insert`, `update`, `SET` of Redis.
    Write,
    /// It controls a transaction or the session: `begin`, `commit`, `set`; not a block of statements (`begin x := ?; end`).
    Control,
    /// It asks for more rows of a cursor that was declared: `fetch`.
    Fetch,
    /// Anything else: `create`, `call`, `copy`.
    Other,
}

impl Verb {
    /// That of a fingerprint. Words of SQL are in lower case there, those of Redis in upper case. Misleads where a `select`
    /// calls a function that writes.
    pub fn of(fingerprint: &str) -> Self {
        let mut words = fingerprint.split([' ', ';', '(']).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        if OF_TRANSACTIONS.contains(&first) && !bounds(fingerprint, words.next()) {
            return Self::Other;
        }
        WORDS
            .iter()
            .find(|(_, words)| words.contains(&first))
            .map_or(Self::Other, |(verb, _)| *verb)
    }
}

/// Whether a statement that begins with one of [`OF_TRANSACTIONS`] and has this word next is about a transaction, and not a
/// block: `begin x := ?; end` of PL/SQL, `begin select ? end` of Transact-SQL.
fn bounds(fingerprint: &str, next: Option<&str>) -> bool {
    let is_alone = fingerprint
        .trim_start()
        .split_once([' ', ';'])
        .is_none_or(|(word, _)| fingerprint.trim_start()[word.len()..].starts_with(';'));
    is_alone
        || next.is_some_and(|next| {
            BEHIND
                .iter()
                .any(|known| next.trim_end_matches(',').eq_ignore_ascii_case(known))
        })
}

/// Words that begin transactions and blocks.
const OF_TRANSACTIONS: [&str; 3] = ["begin", "start", "end"];

/// What follows them when it is a transaction (PostgreSQL, MySQL, SQLite, Transact-SQL).
const BEHIND: [&str; 13] = [
    "transaction",
    "work",
    "tran",
    "distributed",
    "isolation",
    "read",
    "not",
    "deferrable",
    "deferred",
    "immediate",
    "exclusive",
    "concurrent",
    "and",
];

const WORDS: [(Verb, &[&str]); 4] = [
    (
        Verb::Read,
        &[
            "select", "with", "show", "values", "table", "GET", "HGET", "HGETALL", "HMGET", "MGET", "EXISTS",
            "SMEMBERS", "LRANGE", "ZRANGE", "TTL",
        ],
    ),
    (
        Verb::Write,
        &[
            "insert", "update", "delete", "replace", "merge", "upsert", "SET", "HSET", "HMSET", "DEL",
            "INCR", "INCRBY", "SADD", "RPUSH", "LPUSH", "ZADD", "EXPIRE", "SETEX",
        ],
    ),
    (
        Verb::Control,
        &[
            "begin",
            "start",
            "commit",
            "end",
            "rollback",
            "set",
            "savepoint",
            "release",
        ],
    ),
    (Verb::Fetch, &["fetch"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_tells() {
        for (fingerprint, verb) in [
            ("select * from t", Verb::Read),
            ("(select ?) union (select ?)", Verb::Read),
            ("insert into t values(?)", Verb::Write),
            ("commit", Verb::Control),
            ("begin;", Verb::Control),
            ("begin; select ?", Verb::Control),
            ("begin isolation level serializable, read only", Verb::Control),
            ("start transaction with consistent snapshot", Verb::Control),
            ("end work", Verb::Control),
            ("begin x := ?; end", Verb::Other),
            ("begin pack.run(?); end", Verb::Other),
            ("begin insert into t values(?); commit; end", Verb::Other),
            ("declare x number; begin x := ?; end", Verb::Other),
            ("do ?", Verb::Other),
            ("start slave", Verb::Other),
            ("set x = ?", Verb::Control),
            ("SET ? ?", Verb::Write),
            ("fetch forward ? from c", Verb::Fetch),
            ("copy t from stdin", Verb::Other),
            ("", Verb::Other),
        ] {
            assert_eq!(Verb::of(fingerprint), verb, "{fingerprint}");
        }
    }
}
