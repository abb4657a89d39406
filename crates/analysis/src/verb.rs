//! What a statement is for, by the first word of its fingerprint.

/// What a statement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// It asks: `select`, `GET`.
    Read,
    /// It changes rows: `insert`, `update`, `SET` of Redis.
    Write,
    /// It rules a transaction or the session: `begin`, `commit`, `set`.
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
        let first = fingerprint
            .split([' ', ';', '('])
            .find(|word| !word.is_empty())
            .unwrap_or_default();
        WORDS
            .iter()
            .find(|(_, words)| words.contains(&first))
            .map_or(Self::Other, |(verb, _)| *verb)
    }
}

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
