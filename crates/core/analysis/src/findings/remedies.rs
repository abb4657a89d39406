//! Remedies in the terms of the client's driver.
//!
//! The first matching row of [`REMEDIES`] wins: rows for one software precede general ones.
//! Spellings of settings are from the drivers' manuals; case matters.

use super::control::Control;
use super::frameworks;
use super::pages::{Paging, paging};
use super::software::Software;
use model::{FindingKind, Protocol};

/// `dependent` selects the words for loops.
pub(super) fn find_remedy(
    kind: FindingKind,
    software: Software,
    fingerprint: Option<&str>,
    dependent: Option<bool>,
) -> String {
    let case = case(kind, fingerprint, dependent);
    row_of(kind, software, case).map_or_else(String::new, |row| row.words.to_owned())
}

/// Turns that the remedy leaves each time: counted as waste, but not saved.
pub(super) fn turns_left(kind: FindingKind, software: Software) -> u64 {
    row_of(kind, software, None).map_or(0, |row| row.turns_left)
}

/// Specific cases precede general ones; so do rows for one software.
fn row_of(kind: FindingKind, software: Software, case: Option<Case>) -> Option<&'static Row> {
    let of_case = |row: &&Row| row.kind == kind && row.case.is_some() && row.case == case;
    let of_kind = |row: &&Row| row.kind == kind && row.case.is_none();
    let of_software = |row: &&Row| row.software.contains(&software);
    let of_all = |row: &&Row| row.software.is_empty();
    let find = |one: &dyn Fn(&&'static Row) -> bool, other: &dyn Fn(&&'static Row) -> bool| {
        REMEDIES.iter().find(|row| one(row) && other(row))
    };
    find(&of_case, &of_software)
        .or_else(|| find(&of_case, &of_all))
        .or_else(|| find(&of_kind, &of_software))
        .or_else(|| find(&of_kind, &of_all))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Independent,
    Dependent,
    Sequence,
    Control(Control),
    Paging(Paging),
}

fn case(kind: FindingKind, fingerprint: Option<&str>, dependent: Option<bool>) -> Option<Case> {
    match (kind, fingerprint) {
        (FindingKind::ControlTurns, None) => Some(Case::Control(Control::Begin)),
        (FindingKind::ControlTurns, Some(text)) => Some(Case::Control(
            Control::from_fingerprint(text).unwrap_or(Control::Probe),
        )),
        (FindingKind::SmallFetch, Some(text)) => paging(text).map(Case::Paging),
        (FindingKind::NPlusOne, Some(text)) if frameworks::is_next_value(text) => Some(Case::Sequence),
        _ => dependent.map(|dependent| match dependent {
            true => Case::Dependent,
            false => Case::Independent,
        }),
    }
}

pub(super) const PROGRAMS_PERHAPS: &str = "Statements after the login (settings, reads of settings) may be the program's own, and be sent \
                                           on a kept connection too. Then the smaller number is saved.";

pub(super) fn of_unseen(software: Software) -> &'static str {
    match software {
        Software::Speaks(Protocol::Mysql)
        | Software::Mysqlnd
        | Software::PythonMysql
        | Software::ConnectorJ
        | Software::MariadbJdbc => {
            "Its text was not seen, because it was prepared before the capture: performance_schema.prepared_statements_instances has it."
        }
        Software::Pgjdbc
        | Software::Kingbase
        | Software::LoadGenerator
        | Software::Web
        | Software::Speaks(_) => {
            "Its text was not seen, because it was prepared before the capture. Begin the capture before the pool opens its connections, \
             or let the pool renew them."
        }
    }
}

struct Row {
    kind: FindingKind,
    /// Empty for all software.
    software: &'static [Software],
    /// `None` for all cases.
    case: Option<Case>,
    words: &'static str,
    turns_left: u64,
}

impl Row {
    const fn leaving(self, turns_left: u64) -> Self {
        Self { turns_left, ..self }
    }
}

const fn row(kind: FindingKind, software: &'static [Software], words: &'static str) -> Row {
    Row {
        kind,
        software,
        case: None,
        words,
        turns_left: 0,
    }
}

const fn case_row(kind: FindingKind, case: Case, software: &'static [Software], words: &'static str) -> Row {
    Row {
        kind,
        software,
        case: Some(case),
        words,
        turns_left: 0,
    }
}

use FindingKind as Kind;
use Software as For;

const REMEDIES: &[Row] = &[
    case_row(
        Kind::NPlusOne,
        Case::Sequence,
        &[],
        "Take many values of the sequence at once: raise its INCREMENT BY and number the rows in the program. Or let the INSERT take the \
         value itself and return it.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Pgjdbc, For::Kingbase, For::Speaks(Protocol::Postgres)],
        "Ask once for all of them: a join with the statement before, or WHERE key = ANY (?) with an array of the keys.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Redis)],
        "Ask once for all of them: MGET, HMGET, or a pipeline that sends all commands before it reads a reply.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[],
        "Ask once for all of them: a join with the statement before, or WHERE key IN (...) with all keys. In an ORM: eager or batch \
         fetching.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[],
        "It alternates with other statements and may need their results: join it to them, or collect the keys first and ask once for all.",
    ),
    row(
        Kind::UnrewrittenBatch,
        &[For::ConnectorJ],
        "MySQL Connector/J sends each row of a batch as a statement of its own: add rewriteBatchedStatements=true to the URL. Where the rows are written \
         by executeUpdate in a loop, use addBatch and executeBatch too.",
    ),
    row(
        Kind::UnrewrittenBatch,
        &[For::Speaks(Protocol::Informix)],
        "Informix's JDBC driver sends each row of a batch by itself unless IFX_USEPUT=1 makes it an insert cursor: add it to the URL.",
    ),
    row(
        Kind::UnrewrittenBatch,
        &[],
        "The driver sends each row of a batch by itself: look for its setting that makes one statement of them.",
    ),
    row(
        Kind::RowByRow,
        &[For::Pgjdbc],
        "Use addBatch and executeBatch, which pgjdbc sends without waiting for each row (reWriteBatchedInserts=true makes one statement of many rows); \
         for many rows CopyManager.",
    ),
    row(
        Kind::RowByRow,
        &[For::Kingbase],
        "Use addBatch and executeBatch, which the driver sends without waiting for each row; for many rows its CopyManager.",
    ),
    row(
        Kind::RowByRow,
        &[For::MariadbJdbc],
        "Use addBatch and executeBatch: the driver sends a batch in bulk (useBulkStmts=true), or without waiting for each row.",
    ),
    row(
        Kind::RowByRow,
        &[For::ConnectorJ],
        "Use addBatch and executeBatch with rewriteBatchedStatements=true in the URL.",
    ),
    row(
        Kind::RowByRow,
        &[For::PythonMysql],
        "Use executemany with INSERT ... VALUES (%s, ...), which makes one statement of many rows; for many rows LOAD DATA.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Postgres)],
        "Insert many rows with one statement (INSERT ... VALUES (...), (...), or SELECT from unnest of arrays), send them in pipeline mode, or use COPY.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Mysql), For::Mysqlnd],
        "Insert many rows with one statement: INSERT ... VALUES (...), (...); for many rows LOAD DATA.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Oracle)],
        "Send the rows as an array: addBatch and executeBatch of JDBC, executemany of Python.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Informix)],
        "Use an insert cursor (PUT), which fills FET_BUF_SIZE bytes before it sends; in JDBC a batch with IFX_USEPUT=1.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Redis)],
        "Send the commands in a pipeline, or several keys with one command (MSET, HSET with several fields).",
    ),
    row(
        Kind::RowByRow,
        &[],
        "Write many rows with one statement, or give the driver a batch of them (addBatch, executemany).",
    ),
    row(
        Kind::SmallFetch,
        &[For::Pgjdbc, For::Kingbase],
        "Raise the fetch size: setFetchSize on the statement, or defaultRowFetchSize in the URL; 0 fetches all rows at once. The rows of a fetch are held in \
         memory together.",
    ),
    row(
        Kind::SmallFetch,
        &[For::ConnectorJ],
        "Leave useCursorFetch=true away, so that all rows come with the first reply, or raise setFetchSize (defaultFetchSize in the URL). The rows of a fetch \
         are held in memory together.",
    ),
    row(
        Kind::SmallFetch,
        &[For::MariadbJdbc],
        "Raise setFetchSize (defaultFetchSize in the URL), or leave it 0: all rows come with the first reply.",
    ),
    row(
        Kind::SmallFetch,
        &[For::Speaks(Protocol::Informix)],
        "Raise FET_BUF_SIZE in the URL or the environment (32767; servers since 12.10 take more).",
    ),
    row(
        Kind::SmallFetch,
        &[For::Speaks(Protocol::Oracle)],
        "Raise the prefetch: setFetchSize or defaultRowPrefetch of JDBC, arraysize and prefetchrows of Python.",
    ),
    row(
        Kind::SmallFetch,
        &[For::Speaks(Protocol::Drda)],
        "Raise setFetchSize, or the block size of queries (queryDataSize), up to what the client can hold.",
    ),
    row(
        Kind::SmallFetch,
        &[For::Speaks(Protocol::Postgres)],
        "Fetch more rows at a time (FETCH with a larger count; itersize of a named cursor in Python). Use no cursor if the client can \
         hold all rows.",
    ),
    row(
        Kind::SmallFetch,
        &[],
        "Raise the driver's fetch size as far as the client can hold the rows.",
    ),
    row(
        Kind::OneShotPrepare,
        &[For::ConnectorJ],
        "Keep prepared statements: cachePrepStmts=true together with useServerPrepStmts=true; or omit useServerPrepStmts, and they take one round trip.",
    ),
    row(
        Kind::OneShotPrepare,
        &[For::MariadbJdbc],
        "Keep prepared statements (cachePrepStmts=true, prepStmtCacheSize), or omit useServerPrepStmts, and they take one round trip.",
    ),
    row(
        Kind::OneShotPrepare,
        &[For::Mysqlnd],
        "Let PDO put the values in itself (PDO::ATTR_EMULATE_PREPARES => true), or prepare once and execute often.",
    ),
    row(
        Kind::OneShotPrepare,
        &[For::Speaks(Protocol::Postgres)],
        "Send statement and parameters together (PQexecParams, unnamed statements), or prepare once and execute often.",
    ),
    row(
        Kind::OneShotPrepare,
        &[],
        "Run statements that are used once without preparing them, or keep them prepared and execute them often.",
    ),
    row(
        Kind::CommentDefeatsCache,
        &[For::ConnectorJ, For::MariadbJdbc],
        "A comment with a trace or request identifier makes each text a new one, so a cache of prepared statements never hits. Keep only \
         constant parts in comments (route, controller), or omit useServerPrepStmts.",
    ),
    row(
        Kind::CommentDefeatsCache,
        &[For::Pgjdbc, For::Kingbase],
        "A comment with a trace or request identifier makes each text a new one, so the driver's cache (prepareThreshold) never hits. \
         Keep only constant parts in comments (route, controller). Where no round trip is saved, preparing went along with running: then \
         the cost is the server's parsing and planning.",
    ),
    row(
        Kind::CommentDefeatsCache,
        &[],
        "A comment with a trace or request identifier makes each text a new one, so a cache of prepared statements never hits. Keep only \
         constant parts in comments (route, controller), and pass the identifier as a setting of the session. Or send such statements \
         unprepared (the simple protocol). Where no round trip is saved, preparing went along with running: then the cost is the server's \
         parsing and memory.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Begin),
        &[For::Speaks(Protocol::Drda)],
        "In autocommit the driver commits each statement with a turn of its own: setAutoCommit(false), and one commit for several statements.",
    ),
    // Seen with SQLAlchemy 2.1 and PyMySQL: with AUTOCOMMIT alone the pool still sends ROLLBACK;
    // psycopg then sends none.
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Begin),
        &[For::Speaks(Protocol::Mysql), For::PythonMysql],
        "A transaction of one statement needs no BEGIN and COMMIT: autocommit does it in one round trip. GORM: SkipDefaultTransaction: \
         true. SQLAlchemy: isolation_level AUTOCOMMIT, with skip_autocommit_rollback=True, or its pool still sends ROLLBACK. Before \
         several statements BEGIN can be sent together with the first of them.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Begin),
        &[],
        "A transaction of one statement needs no BEGIN and COMMIT: autocommit does it in one round trip (SkipDefaultTransaction: true in GORM, isolation_level AUTOCOMMIT in SQLAlchemy). Before several statements BEGIN can be sent together with the first of them.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Savepoint),
        &[For::Pgjdbc, For::Kingbase],
        "A savepoint around a statement costs two round trips. The driver sets it with autosave=always or conservative in the URL; \
         autosave=never, the default, does not. Where the program or its framework nests transactions, do without the inner one.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Savepoint),
        &[],
        "A savepoint around a statement costs two round trips. Avoid it: atomic(savepoint=False) in Django, no requires_new in \
         ActiveRecord, no begin_nested in SQLAlchemy. ODBC: rollback of single statements off. Or send it together with the statement.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Setting),
        &[For::ConnectorJ],
        "The same setting is set repeatedly: with useLocalSessionState=true the driver omits those that change nothing.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Setting),
        &[],
        "The same setting is set repeatedly: set it once for each connection, or as a default of the user or the database. Settings that a pool's reset undoes have to be made again after each: keep the reset away and they stay.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Reset),
        &[For::Pgjdbc, For::Kingbase, For::Speaks(Protocol::Postgres)],
        "The session is reset whenever a connection returns to the pool. PgBouncer: server_reset_query is for pool_mode=session, and can \
         be empty if programs leave no state. Npgsql: No Reset On Close=true. asyncpg: another reset for its pool. Prisma: pgbouncer=true \
         sends DEALLOCATE ALL, which PgBouncer 1.21 and later (max_prepared_statements) does not need.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Reset),
        &[],
        "The session is reset whenever a connection returns to the pool. If programs leave no state, switch that off: \
         pool_reset_session=False in mysql-connector-python, ConnectionReset=false in MySqlConnector.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Probe),
        &[For::Pgjdbc, For::Kingbase, For::ConnectorJ, For::MariadbJdbc],
        "Connections are tested before each use, by isValid or connectionTestQuery. HikariCP tests only those that were idle for longer \
         than com.zaxxer.hikari.aliveBypassWindowMs (500 ms). Other pools: a validationInterval, or testOnBorrow=false with \
         testWhileIdle=true.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Probe),
        &[],
        "Connections are tested before each use (pool_pre_ping in SQLAlchemy, CONN_HEALTH_CHECKS in Django, Ping in Go, \
         connectionTestQuery, test_before_acquire in sqlx). Let the pool test only those that were idle for long, and retry on failure.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::SessionRead),
        &[For::ConnectorJ],
        "The driver asks the server for settings of its own session: with useLocalSessionState=true (and cacheServerConfiguration=true) it knows them.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::SessionRead),
        &[],
        "Settings of the session are read again and again: read them once for each connection, or take them from the driver, which has set them.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::AfterWrite),
        &[For::ConnectorJ, For::MariadbJdbc, For::Speaks(Protocol::Mysql), For::Mysqlnd, For::PythonMysql],
        "The reply to the INSERT has the identifier and the number of warnings. The driver's getGeneratedKeys, lastrowid, insert_id or \
         LastInsertId return it without a round trip. Send SHOW WARNINGS only if that number is not 0.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::AfterWrite),
        &[],
        "The value read after the write can come with its reply: RETURNING (OUTPUT in SQL Server), or the driver's generated keys.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Database),
        &[],
        "The current database is changed before the statement. Name it in the statement (database.table) or in the URL, and keep a pool \
         for each database.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Queue),
        &[],
        "Nobody needs the replies between MULTI and EXEC: send them together. redis-py: a pipeline with transaction=True; ioredis: \
         multi().exec(); go-redis: TxPipeline; Jedis: a transaction.",
    ),
    case_row(
        Kind::SmallFetch,
        Case::Paging(Paging::Offset),
        &[],
        "A result is read page by page: ask for larger pages, or for all of it with a cursor or a stream of the driver. With OFFSET the server reads all that is before the page each time; WHERE key > last key does not.",
    ),
    case_row(
        Kind::SmallFetch,
        Case::Paging(Paging::Scan),
        &[],
        "The keys are walked in small steps: raise COUNT (1000 or more; the default is 10).",
    ),
    case_row(
        Kind::SmallFetch,
        Case::Paging(Paging::LargeObject),
        &[],
        "A large object is read in small pieces. Use a larger buffer (LargeObject.getInputStream in pgjdbc, lo_read in libpq), or read \
         all of it with SELECT lo_get(...). Columns of type bytea need no such round trips.",
    ),
    row(
        Kind::Redirected,
        &[],
        "The node does not hold the key and names another one. Use the client's cluster mode (RedisCluster, JedisCluster, \
         RedisClusterClient, NewClusterClient), which keeps a map of the slots and asks the right node at once.",
    ),
    row(
        Kind::Reconnect,
        &[For::Mysqlnd],
        "Keep connections: with PDO::ATTR_PERSISTENT, which tests the connection at each use (one round trip). A pooler next to the \
         application saves that too. With p: before the host, mysqli logs in again at each use (two round trips).",
    )
    // Measured with PHP 8 and MariaDB: PDO sends COM_PING; mysqli sends COM_CHANGE_USER and
    // authenticates again.
    .leaving(1),
    row(
        Kind::Reconnect,
        &[For::Speaks(Protocol::Postgres), For::Pgjdbc, For::Kingbase],
        "Keep connections in a pool: the application's own, or pgbouncer next to the application (not next to the database: the distance would remain).",
    ),
    row(
        Kind::Reconnect,
        &[],
        "Keep connections in a pool: in the application, or next to it.",
    ),
    row(
        Kind::RepeatedRead,
        &[],
        "Keep the answer for as long as the operation lasts: the same question was asked again with the same answer.",
    ),
    case_row(
        Kind::Sequential,
        Case::Dependent,
        &[],
        "Different statements, one after another, each a round trip: their dependencies are not visible, so no saving is claimed. Send \
         those that do not together: a pipeline, several statements in one text, or several connections. Read related rows with a join, \
         or cache the answers that rarely change.",
    ),
    row(
        Kind::Sequential,
        &[For::Speaks(Protocol::Postgres)],
        "Send them together: pipeline mode of libpq and psycopg, or several statements in one text.",
    ),
    row(
        Kind::Sequential,
        &[For::Speaks(Protocol::Redis)],
        "Send them together in a pipeline.",
    ),
    row(
        Kind::Sequential,
        &[For::ConnectorJ, For::MariadbJdbc],
        "Send them together (allowMultiQueries=true and several statements in one text), or on connections of their own at the same time.",
    ),
    row(
        Kind::Sequential,
        &[],
        "None contains a value from another's reply: send them together, as one statement, or on connections of their own at the same time.",
    ),
    row(
        Kind::NoCompression,
        &[For::ConnectorJ, For::MariadbJdbc],
        "Compress: useCompression=true (MySQL) or useCompression (MariaDB) in the URL, or a tunnel that does.",
    ),
    row(
        Kind::NoCompression,
        &[For::Kingbase],
        "Compress: zipLevel=6 in the URL, with exactly this capitalisation, where server and licence have it; or a tunnel.",
    ),
    row(
        Kind::NoCompression,
        &[For::Speaks(Protocol::Mysql), For::Mysqlnd, For::PythonMysql],
        "Compress: --compression-algorithms, MYSQL_CLIENT_COMPRESS or compress=True, or a tunnel that does.",
    ),
    row(
        Kind::NoCompression,
        &[],
        "Compress on the way: longwire tunnel, or the database's own compression.",
    ),
    row(
        Kind::AckStall,
        &[Software::Web],
        "The web server (or the proxy in front of it) writes head and body of its response separately. It sends the body only after the \
         client's delayed acknowledgement of the head. Set TCP_NODELAY on the server's connections, or write head and body at once.",
    ),
    row(
        Kind::AckStall,
        &[],
        "A request or reply is sent in two parts, and the second waits for the acknowledgement of the first. Set TCP_NODELAY on the side \
         that sends it, or write it at once.",
    ),
    row(
        Kind::WindowLimited,
        &[],
        "The receiver allows only 64 KiB in flight: remove a fixed receive buffer (SO_RCVBUF, tcpRcvBuf), or the middlebox that drops window scaling.",
    ),
    row(
        Kind::ListenerTurn,
        &[],
        "The listener answers the first CONNECT with RESEND or REDIRECT. Keep connections, or connect directly to the node that it names \
         (the SCAN's node, a dedicated handler).",
    ),
    row(
        Kind::HeldTransaction,
        &[],
        "Its rows are locked until it ends, and others wait. Read and compute before the first write, and write last in few round trips \
         (one statement, a batch, a procedure). Commit at once. The time is that for which rows are held.",
    ),
    row(
        Kind::CompressionNotAsked,
        &[],
        "The driver can compress and did not ask for it. The property is zipLevel, with exactly this capitalisation: ziplevel is silently ignored.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_words_for_everybody() {
        for &kind in FindingKind::ALL {
            let fingerprints = [
                None,
                Some("set x = ?"),
                Some("select ?"),
                Some("discard all"),
                Some("savepoint a"),
                Some("select @@session.autocommit"),
                Some("show warnings"),
                Some("(COM_INIT_DB)"),
                Some("MULTI"),
                Some("select a from t limit ? offset ?"),
                Some("(ping)"),
            ];
            for fingerprint in fingerprints {
                for dependent in [Some(true), Some(false)] {
                    assert!(
                        !find_remedy(kind, Software::Speaks(Protocol::Unknown), fingerprint, dependent)
                            .is_empty(),
                        "{kind}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_driver_hears_its_own_words() {
        let words = find_remedy(
            FindingKind::UnrewrittenBatch,
            Software::ConnectorJ,
            None,
            Some(false),
        );
        assert!(words.contains("rewriteBatchedStatements=true"), "{words}");
        let words = find_remedy(FindingKind::SmallFetch, Software::Pgjdbc, None, None);
        assert!(words.contains("defaultRowFetchSize"), "{words}");
    }
}
