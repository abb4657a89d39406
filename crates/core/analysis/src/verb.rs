//! Purpose of a statement, by the first word of its fingerprint.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Read,
    Write,
    /// Transaction or session: `begin`, `commit`, `set`; not a block of statements (`begin x := ?;
    /// end`).
    Control,
    /// `fetch` of a declared cursor.
    Fetch,
    Other,
}

impl Verb {
    /// SQL is in lower case in fingerprints, Redis in upper case. Misleads if a `select` calls a
    /// function that writes.
    pub fn from_fingerprint(fingerprint: &str) -> Self {
        // The most frequent ones, without a list search.
        for (beginning, verb) in COMMONEST {
            if fingerprint.starts_with(beginning) {
                return verb;
            }
        }
        if let Some(verb) = of_command(fingerprint) {
            return verb;
        }
        let mut words = fingerprint.split([' ', ';', '(']).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        if OF_TRANSACTIONS.contains(&first) && !bounds(fingerprint, words.next()) {
            return Self::Other;
        }
        WORDS
            .iter()
            .find(|(_, words)| words.contains(&first))
            .map_or_else(|| of_service(first), |(verb, _)| *verb)
    }
}

/// Operations of services have their verb behind the service, as `AmazonSQS.SendMessage` and gRPC's
/// `/etcdserverpb.KV/Range`.
fn of_service(word: &str) -> Verb {
    let operation = word
        .rsplit_once(['.', '/'])
        .map_or("", |(_, operation)| operation);
    let begins = |verbs: &[&str]| verbs.iter().any(|verb| operation.starts_with(verb));
    match () {
        () if begins(&READING_OPERATIONS) => Verb::Read,
        () if begins(&WRITING_OPERATIONS) => Verb::Write,
        () => Verb::Other,
    }
}

const READING_OPERATIONS: [&str; 14] = [
    "Get", "List", "Describe", "Receive", "BatchGet", "Range", "Read", "Query", "Search", "Find", "Fetch",
    "Lookup", "Count", "Check",
];

const WRITING_OPERATIONS: [&str; 12] = [
    "Put",
    "Send",
    "Publish",
    "Create",
    "Update",
    "Delete",
    "BatchWrite",
    "Insert",
    "Set",
    "Add",
    "Write",
    "Save",
];

/// Commands of the protocol stand in brackets. Of functions called by number, those that write
/// large objects are known; all others count as reads.
fn of_command(fingerprint: &str) -> Option<Verb> {
    let name = fingerprint.strip_prefix('(')?.strip_suffix(')')?;
    if name.starts_with("COM_") {
        return Some(Verb::Control);
    }
    let function = name.strip_prefix("function call")?.trim_start();
    let writes = ["lowrite", "lo_creat", "lo_unlink", "lo_truncate"];
    let steers = ["lo_open", "lo_close", "lo_lseek", "lo_tell"];
    let is_one_of = |names: &[&str]| names.iter().any(|known| function.starts_with(known));
    Some(match () {
        () if is_one_of(&writes) => Verb::Write,
        () if is_one_of(&steers) => Verb::Other,
        () => Verb::Read,
    })
}

/// Whether a text does the work of a transaction: it reads, writes, calls or defines. Controlling
/// the transaction or session (`begin`, `set`, `show`, `discard`) and testing the connection
/// ([`is_trial`]) are no work. One working statement in a text suffices.
pub fn is_work(fingerprint: &str) -> bool {
    let works = |statement: &str| {
        let statement = statement.trim();
        if COMMONEST
            .iter()
            .any(|(beginning, _)| statement.starts_with(beginning))
        {
            return !is_trial(statement);
        }
        let first = statement.split([' ', '(']).next().unwrap_or_default();
        !is_trial(statement)
            && !is_one_of(first, &OF_SESSIONS)
            && Verb::from_fingerprint(statement) != Verb::Control
    };
    works(fingerprint) || (fingerprint.contains(';') && fingerprint.split(';').any(works))
}

/// Whether it only tests the connection: `select 1`, an empty text, `PING`.
pub fn is_trial(fingerprint: &str) -> bool {
    matches!(
        fingerprint,
        "" | ";" | "select ?" | "select ?;" | "select ? from dual" | "PING" | "(COM_PING)" | "ping"
    )
}

/// Whether it may block others until its transaction ends: it writes, locks rows or defines.
/// Misleads if a function or procedure writes.
pub fn holds_rows(fingerprint: &str) -> bool {
    let contains = |words: &[&str]| words.iter().any(|word| fingerprint.contains(word));
    match Verb::from_fingerprint(fingerprint) {
        Verb::Write => true,
        Verb::Read => contains(&LOCKING) || (fingerprint.starts_with("with ") && contains(&WRITING_INSIDE)),
        Verb::Other => {
            let first = fingerprint.split([' ', '(', ';']).find(|word| !word.is_empty());
            first.is_some_and(|first| is_one_of(first, &DEFINING))
                || (first == Some("copy") && fingerprint.contains(" from "))
        }
        // A text of several statements may begin with BEGIN.
        Verb::Control => fingerprint
            .split_once(';')
            .is_some_and(|(_, rest)| !rest.trim().is_empty() && holds_rows(rest.trim())),
        Verb::Fetch => false,
    }
}

/// Words that are not keywords everywhere keep their case.
fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

const OF_SESSIONS: [&str; 9] = [
    "show",
    "discard",
    "reset",
    "deallocate",
    "unlisten",
    "listen",
    "use",
    "abort",
    "close",
];

const LOCKING: [&str; 5] = [
    " for update",
    " for no key update",
    " for share",
    " for key share",
    " lock in share mode",
];

/// Writing parts of a query that begins with `with`.
const WRITING_INSIDE: [&str; 4] = ["insert into ", "update ", "delete from ", "merge into "];

/// First words of statements that lock the objects they name.
const DEFINING: [&str; 6] = ["create", "alter", "drop", "truncate", "lock", "load"];

/// Whether this word after one of [`OF_TRANSACTIONS`] makes it a transaction instead of a block:
/// `begin x := ?; end` of PL/SQL, `begin select ? end` of Transact-SQL.
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

const OF_TRANSACTIONS: [&str; 3] = ["begin", "start", "end"];

/// Next words in transactions (PostgreSQL, MySQL, SQLite, Transact-SQL).
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

const COMMONEST: [(&str, Verb); 4] = [
    ("select ", Verb::Read),
    ("update ", Verb::Write),
    ("insert ", Verb::Write),
    ("delete ", Verb::Write),
];

const WORDS: [(Verb, &[&str]); 4] = [
    (
        Verb::Read,
        &[
            "select",
            "with",
            "show",
            "values",
            "table",
            "GET",
            "HGET",
            "HGETALL",
            "HMGET",
            "MGET",
            "EXISTS",
            "SMEMBERS",
            "LRANGE",
            "ZRANGE",
            "TTL",
            "find",
            "aggregate",
            "count",
            "distinct",
            "listCollections",
            "listIndexes",
            "listDatabases",
            "HEAD",
            "GetItem",
            "BatchGetItem",
            "Query",
            "Scan",
            "TransactGetItems",
            "get",
            "mget",
            "search",
            "msearch",
            "exists",
            "list",
            "view",
            "all_docs",
            "bulk_get",
            "query",
            "query_range",
            "series",
            "labels",
            "label_values",
            "range",
            "runQuery",
            "batchGet",
            "runAggregationQuery",
            "getQueryResults",
        ],
    ),
    (
        Verb::Write,
        &[
            "insert",
            "update",
            "delete",
            "replace",
            "merge",
            "upsert",
            "SET",
            "HSET",
            "HMSET",
            "DEL",
            "INCR",
            "INCRBY",
            "SADD",
            "RPUSH",
            "LPUSH",
            "ZADD",
            "EXPIRE",
            "SETEX",
            "findAndModify",
            "findandmodify",
            "bulkWrite",
            "PUT",
            "PATCH",
            "DELETE",
            "PutItem",
            "UpdateItem",
            "DeleteItem",
            "BatchWriteItem",
            "TransactWriteItems",
            "index",
            "bulk",
            "bulk_docs",
            "put",
            "deleterange",
            "patch",
            "createDocument",
            "insertAll",
            "write",
            "mutation",
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
            "commitTransaction",
            "abortTransaction",
        ],
    ),
    (Verb::Fetch, &["fetch", "getMore", "scroll"]),
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
            ("find users {age $gt}", Verb::Read),
            ("findAndModify users {_id}", Verb::Write),
            ("getMore users", Verb::Fetch),
            ("commitTransaction", Verb::Control),
            ("copy t from stdin", Verb::Other),
            ("(COM_INIT_DB)", Verb::Control),
            ("(function call loread)", Verb::Read),
            ("(function call lowrite)", Verb::Write),
            ("(function call lo_open)", Verb::Other),
            ("(function call 1234)", Verb::Read),
            ("(prepared S_1)", Verb::Other),
            ("GetItem Orders", Verb::Read),
            ("BatchWriteItem Orders", Verb::Write),
            ("PUT /photos/?", Verb::Write),
            ("search orders", Verb::Read),
            ("bulk", Verb::Write),
            ("scroll", Verb::Fetch),
            ("AmazonSQS.ReceiveMessage", Verb::Read),
            ("AmazonSQS.SendMessageBatch", Verb::Write),
            ("mutation Save", Verb::Write),
            ("/etcdserverpb.KV/Range", Verb::Read),
            ("/shop.v1.Carts/AddItem", Verb::Write),
            ("/shop.v1.Carts/Pay", Verb::Other),
            ("pipeline GET", Verb::Other),
            ("", Verb::Other),
        ] {
            assert_eq!(Verb::from_fingerprint(fingerprint), verb, "{fingerprint}");
        }
    }

    #[test]
    fn work_is_what_a_transaction_is_made_for() {
        for (fingerprint, works) in [
            ("select name from t where id = ?", true),
            ("begin; update t set a = ?", true),
            ("begin x := ?; end", true),
            ("create table t(a int)", true),
            ("call p(?)", true),
            ("copy t from stdin", true),
            ("GET ?", true),
            ("(prepared S_1)", true),
            ("(COM_PING)", false),
            ("begin", false),
            ("start transaction read only;", false),
            ("commit; begin", false),
            ("set timezone to ?", false),
            ("show transaction_isolation", false),
            ("discard all", false),
            ("DEALLOCATE all", false),
            ("savepoint a", false),
            ("select ?", false),
            ("", false),
            (";", false),
        ] {
            assert_eq!(is_work(fingerprint), works, "{fingerprint}");
        }
    }

    #[test]
    fn rows_are_held_by_what_writes_or_locks() {
        for (fingerprint, holds) in [
            ("insert into t values(?)", true),
            ("select a from t where b = ? for update", true),
            ("select a from t lock in share mode", true),
            (
                "with n as(insert into t values(?)returning a)select a from n",
                true,
            ),
            ("copy t from stdin", true),
            ("truncate t", true),
            ("begin; update t set a = ?", true),
            ("begin; select ?", false),
            ("select a from t where b = ?", false),
            ("with n as(select a from t)select a from n", false),
            ("copy t to stdout", false),
            ("call p(?)", false),
            ("commit", false),
            ("", false),
        ] {
            assert_eq!(holds_rows(fingerprint), holds, "{fingerprint}");
        }
    }
}
