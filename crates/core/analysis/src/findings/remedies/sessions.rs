//! Remedies of control statements, connections and the network.

use super::super::control::Control;
use super::super::software::Software as For;
use super::statements::SQL_OVER_HTTP;
use super::{Case, Row, case_row, row};
use model::{EndedBy, FindingKind as Kind, Protocol};

pub(super) const ROWS: &[Row] = &[
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Begin),
        &[For::Speaks(Protocol::Drda)],
        "In autocommit the driver commits each statement with a turn of its own: setAutoCommit(false), and one commit for several statements.",
    ),
    case_row(
        Kind::ControlTurns,
        Case::Control(Control::Begin),
        &[For::Speaks(Protocol::Mongodb)],
        "A write to one document is atomic without a transaction: leave with_transaction away for it, and save commitTransaction.",
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
    case_row(
        Kind::Reconnect,
        Case::EndedBy(EndedBy::ServerHeader),
        &[For::Web, For::HttpStore],
        "The server's replies end the connection (Connection: close, HTTP/1.0, or a body without a length), so the client cannot keep it. \
         Switch keep-alive on in the server, or in the proxy before it: keepalive_timeout of nginx, KeepAlive of Apache, HTTP/1.1 in a \
         program's own server.",
    ),
    case_row(
        Kind::Reconnect,
        Case::EndedBy(EndedBy::ClientHeader),
        &[For::Web, For::HttpStore],
        "The client's requests end the connection (Connection: close, or HTTP/1.0). Send HTTP/1.1 without that header, and keep one client \
         object. nginx as the client: keepalive in the upstream, proxy_http_version 1.1, proxy_set_header Connection \"\".",
    ),
    case_row(
        Kind::Reconnect,
        Case::EndedBy(EndedBy::ServerFin),
        &[For::Web, For::HttpStore],
        "The server closes the connection first. Raise its idle timeout and its limit of requests for each connection, or those of the \
         proxy before it. nginx: keepalive_timeout, keepalive_requests. Apache: KeepAliveTimeout, MaxKeepAliveRequests.",
    ),
    row(
        Kind::Reconnect,
        &[For::Web],
        "Keep connections: one HTTP client for the whole program (an agent with keep-alive, a session, a pool), and read each response to its end.",
    ),
    row(
        Kind::Reconnect,
        &[For::Speaks(Protocol::Mongodb)],
        "Make one MongoClient for each process and keep it: it has a pool.",
    ),
    row(
        Kind::Reconnect,
        &[For::HttpStore],
        "Keep connections: one client object for the program instead of one per request, with keep-alive (an agent or session in its settings).",
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
    case_row(Kind::Sequential, Case::Dependent, SQL_OVER_HTTP, DIFFERENT),
    case_row(
        Kind::Sequential,
        Case::Dependent,
        &[For::Web, For::HttpStore, For::Speaks(Protocol::Mongodb), For::Speaks(Protocol::Redis)],
        "Different requests, one after another, each a round trip: their dependencies are not visible, so no saving is claimed. Send those \
         that do not need each other's results at the same time, or together if the store has a request for several. Cache the answers \
         that rarely change.",
    ),
    case_row(
        Kind::Sequential,
        Case::Dependent,
        &[],
        DIFFERENT,
    ),
    row(
        Kind::Sequential,
        &[For::Speaks(Protocol::Postgres)],
        "Send them together: pipeline mode of libpq and psycopg, or several statements in one text.",
    ),
    row(
        Kind::Sequential,
        &[For::Speaks(Protocol::Mongodb)],
        "None contains a value from another's reply: join them in one aggregate ($lookup, $facet, $unionWith), or send them at the same \
         time (asyncio.gather, Promise.all).",
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
        &[For::Web],
        "None contains a value from another's reply: send them at the same time.",
    ),
    row(
        Kind::Sequential,
        &[For::HttpStore],
        "None contains a value from another's reply: send them at the same time, on connections that are kept, or with the store's request for several.",
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
        &[For::Web],
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
        Kind::FlowControl,
        &[],
        "The receiver's window of HTTP/2 is used up, and each WINDOW_UPDATE is waited for. Raise the initial window of stream and \
         connection on the side that receives. In Go these are WithInitialWindowSize and WithInitialConnWindowSize, in Java \
         flowControlWindow, in gRPC's C core grpc.http2.lookahead_bytes or grpc.http2.bdp_probe, in nginx http2_body_preread_size.",
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

const DIFFERENT: &str = "Different statements, one after another, each a round trip: their dependencies are not visible, so no saving is claimed. Send \
         those that do not together: a pipeline, several statements in one text, or several connections. Read related rows with a join, \
         or cache the answers that rarely change.";
