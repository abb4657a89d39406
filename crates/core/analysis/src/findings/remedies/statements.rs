//! Remedies of statements and their results.

use super::super::pages::Paging;
use super::super::software::Software as For;
use super::{Case, Row, case_row, row};
use model::{FindingKind as Kind, Protocol};

pub(super) const ROWS: &[Row] = &[
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
        &[For::Speaks(Protocol::Redis), For::Speaks(Protocol::Upstash)],
        "Ask once for all of them: MGET, HMGET, or a pipeline that sends all commands before it reads a reply.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Dynamodb)],
        "Ask once for all of them: BatchGetItem takes 100 keys, or Query reads all items of one partition key.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Mongodb)],
        "Ask once for all of them: find with $in and all keys, or $lookup in the aggregate before. Mongoose: populate.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[For::Speaks(Protocol::Mongodb)],
        "It alternates with other commands and may need their results. Join it to them with $lookup, or collect the keys and ask once \
         for all with $in.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Elasticsearch)],
        "Ask once for all of them: _mget for documents by their identifiers, _msearch for searches, or one search with a terms query.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::S3)],
        "Objects are read one by one: send the requests at the same time, on several connections that are kept.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Firestore)],
        "Ask once for all of them: batchGet, or one query with an IN filter.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Couchdb)],
        "Ask once for all of them: _all_docs with keys, or _bulk_get.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Speaks(Protocol::Etcd)],
        "Ask once for all of them: one range over their common prefix, or a txn of several ranges.",
    ),
    case_row(Kind::NPlusOne, Case::Independent, SQL_OVER_HTTP, JOIN),
    case_row(
        Kind::NPlusOne,
        Case::Independent,
        &[For::Web, For::HttpStore],
        "Ask once for all of them: a request that takes a list of keys, or a batch request of the service. If it has none, send the requests \
         at the same time.",
    ),
    case_row(Kind::NPlusOne, Case::Independent, &[], JOIN),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[For::Speaks(Protocol::Redis), For::Speaks(Protocol::Upstash)],
        "It alternates with other commands and may need their results. Collect the keys first and ask once for all (MGET, a pipeline), or \
         read both in a script on the server (EVAL).",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[For::Speaks(Protocol::Dynamodb)],
        "It alternates with other requests and may need their results. One Query reads all items that share a partition key, of the table \
         or of a secondary index. Otherwise collect the keys first and ask once with BatchGetItem (100 keys).",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[For::Speaks(Protocol::Elasticsearch)],
        "It alternates with other requests and may need their results. Collect the identifiers first and ask once: _mget, _msearch, or \
         one search with a terms query.",
    ),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[For::Speaks(Protocol::Couchdb)],
        "It alternates with other requests and may need their results. Collect the identifiers first and ask once: _all_docs with keys. \
         Or let a view emit the _id of the other document, and read it with include_docs=true.",
    ),
    case_row(Kind::NPlusOne, Case::Dependent, SQL_OVER_HTTP, JOIN_OTHERS),
    case_row(
        Kind::NPlusOne,
        Case::Dependent,
        &[For::Web, For::HttpStore],
        "It alternates with other requests and may need their results. Collect the keys first and ask once for all: a request with a list of \
         keys, or a batch. Or send the requests of all keys at the same time.",
    ),
    case_row(Kind::NPlusOne, Case::Dependent, &[], JOIN_OTHERS),
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
        &[For::Speaks(Protocol::Redis), For::Speaks(Protocol::Upstash)],
        "Send the commands in a pipeline, or several keys with one command (MSET, HSET with several fields).",
    ),
    row(
        Kind::SimilarRequests,
        &[],
        "The protocol is not decoded: these may be one request for each key of a list. If so, ask for all keys at once (a multi-get, a batch), \
         or send the requests without waiting for each reply.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Mongodb)],
        "Write many documents with one command: insert_many (insertMany), or bulk_write (bulkWrite) for updates and deletes.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Dynamodb)],
        "Write many items with one request: BatchWriteItem takes 25, TransactWriteItems 100.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Elasticsearch)],
        "Write many documents with one request: _bulk, or the client's bulk helper.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Clickhouse)],
        "Insert many rows with one INSERT (thousands, not one), or let the server collect them: async_insert=1.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Influxdb)],
        "Write many points with one request: a line each, 5,000 lines are usual.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Aws)],
        "Send many at once: SendMessageBatch and PublishBatch take 10, PutRecords 500.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::S3)],
        "Send the requests at the same time, on several connections that are kept; delete many objects with one DeleteObjects.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Couchdb)],
        "Write many documents with one request: _bulk_docs.",
    ),
    row(
        Kind::RowByRow,
        &[For::Speaks(Protocol::Firestore)],
        "Write many documents with one request: commit with several writes, or batchWrite.",
    ),
    row(Kind::RowByRow, SQL_OVER_HTTP, INSERT_MANY),
    row(
        Kind::RowByRow,
        &[For::Web, For::HttpStore],
        "Write many with one request: the service's bulk or batch request. If it has none, send the requests at the same time.",
    ),
    row(Kind::RowByRow, &[], INSERT_MANY),
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
        &[For::Speaks(Protocol::Mongodb)],
        "Raise batch_size (batchSize) as far as the client can hold the documents. Without one, the first reply has 101 documents and \
         each further one up to 16 MiB.",
    ),
    row(
        Kind::SmallFetch,
        &[For::HttpStore],
        "Ask for larger pages. DynamoDB sends 1 MB without a Limit, S3 up to 1000 MaxKeys, a search up to a size of 10,000, BigQuery 10 MB without \
         maxResults.",
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
];

/// Stores behind HTTP that take SQL.
pub(super) const SQL_OVER_HTTP: &[For] = &[
    For::Speaks(Protocol::Clickhouse),
    For::Speaks(Protocol::Neon),
    For::Speaks(Protocol::Libsql),
    For::Speaks(Protocol::Bigquery),
    For::Speaks(Protocol::Snowflake),
];

const JOIN: &str = "Ask once for all of them: a join with the statement before, or WHERE key IN (...) with all keys. In an ORM: eager or batch \
     fetching.";

const JOIN_OTHERS: &str = "It alternates with other statements and may need their results: join it to them, or collect the keys first and ask once for all.";

const INSERT_MANY: &str =
    "Write many rows with one statement, or give the driver a batch of them (addBatch, executemany).";
