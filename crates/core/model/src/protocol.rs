//! The protocols, one row each: what is known of one besides its messages.

mod facts;

pub use facts::{Dialect, ProtocolFacts, ProtocolKind, UrlScheme};

use facts::{over_http, scheme};
use std::fmt;

macro_rules! protocols {
    ($($(#[$doc:meta])* $name:ident: $facts:expr;)*) => {
        /// The protocol of a connection.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Protocol {
            $($(#[$doc])* $name,)*
        }

        impl Protocol {
            /// All protocols in this order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The row of the protocol.
            pub const fn facts(self) -> &'static ProtocolFacts {
                match self {
                    $(Self::$name => {
                        const FACTS: ProtocolFacts = $facts;
                        &FACTS
                    })*
                }
            }
        }
    };
}

protocols! {
    /// PostgreSQL protocol 3 (also KingbaseES, openGauss, Redshift, CockroachDB).
    Postgres: ProtocolFacts {
        name: "postgres",
        aliases: &["postgresql", "kingbase", "opengauss", "redshift", "cockroachdb"],
        ports: &[5432, 5433, 6432, 26257, 5439, 54321],
        schemes: &[
            UrlScheme {
                jdbc: Some("postgresql"),
                // Django and its packages, Rails, SQLAlchemy, Laravel, Doctrine.
                words: &[
                    "postgresql", "postgis", "pgsql", "psql", "pg", "pdo-pgsql", "pdo_pgsql",
                    "postgresql-psycopg2", "postgresql_psycopg2", "timescale", "timescaledb", "timescalegis",
                ],
                ..scheme("postgres", 5432)
            },
            UrlScheme { words: &["cockroach", "cockroachdb", "crdb"], ..scheme("postgres", 26_257) },
            UrlScheme { words: &["redshift"], ..scheme("postgres", 5439) },
            UrlScheme { jdbc: Some("kingbase8"), ..scheme("kingbase", 54_321) },
        ],
        otel_name: Some("postgresql"),
        dialect: Dialect::Standard,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// MySQL and MariaDB client/server protocol.
    Mysql: ProtocolFacts {
        name: "mysql",
        aliases: &["mariadb", "tidb"],
        ports: &[3306, 3307, 4000, 6033],
        schemes: &[
            UrlScheme {
                jdbc: Some("mysql"),
                words: &[
                    "mysql2", "trilogy", "mysqlgis", "mysqli", "mysql-connector", "mysqlconnector", "pdo-mysql",
                    "pdo_mysql", "tidb",
                ],
                ..scheme("mysql", 3306)
            },
            UrlScheme { jdbc: Some("mariadb"), ..scheme("mariadb", 3306) },
        ],
        otel_name: Some("mysql"),
        dialect: Dialect::Mysql,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// RESP2 and RESP3 of Redis, Valkey and KeyDB.
    Redis: ProtocolFacts {
        name: "redis",
        aliases: &["valkey", "keydb"],
        ports: &[6379, 6380, 7000, 26379],
        schemes: &[scheme("redis", 6379)],
        otel_name: Some("redis"),
        dialect: Dialect::Redis,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// Oracle Net (TNS) with TTC inside.
    Oracle: ProtocolFacts {
        name: "oracle",
        aliases: &["tns"],
        ports: &[1521, 1522],
        schemes: &[scheme("oracle", 1521)],
        otel_name: Some("oracle.db"),
        dialect: Dialect::Oracle,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// Informix SQLI, also called onsoctcp.
    Informix: ProtocolFacts {
        name: "informix",
        aliases: &["sqli"],
        ports: &[9088, 9089, 1526, 1525],
        schemes: &[scheme("informix", 9088)],
        otel_name: Some("ibm.informix"),
        dialect: Dialect::Informix,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// DRDA of Db2, Derby and Informix's drsoctcp.
    Drda: ProtocolFacts {
        name: "drda",
        aliases: &["db2", "derby"],
        ports: &[50000, 1527, 446, 448],
        schemes: &[
            scheme("drda", 50_000),
            UrlScheme { words: &["derby"], ..scheme("drda", 1527) },
        ],
        otel_name: Some("ibm.db2"),
        dialect: Dialect::Standard,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// Tabular Data Stream of SQL Server.
    Tds: ProtocolFacts {
        name: "tds",
        aliases: &["sqlserver", "mssql"],
        ports: &[1433],
        schemes: &[scheme("sqlserver", 1433)],
        otel_name: Some("microsoft.sql_server"),
        dialect: Dialect::SqlServer,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// MongoDB's wire protocol (also DocumentDB, FerretDB).
    Mongodb: ProtocolFacts {
        name: "mongodb",
        aliases: &["documentdb", "ferretdb"],
        ports: &[27017, 27018, 27019],
        schemes: &[scheme("mongodb", 27_017)],
        otel_name: Some("mongodb"),
        dialect: Dialect::Mongodb,
        kind: ProtocolKind::Store,
        is_over_http: false,
    };
    /// Hypertext Transfer Protocol 1.0 and 1.1.
    Http: ProtocolFacts {
        name: "http",
        aliases: &[],
        ports: &[80, 8000, 8008, 8080],
        schemes: &[scheme("http", 80)],
        otel_name: None,
        dialect: Dialect::Standard,
        kind: ProtocolKind::Requests,
        is_over_http: true,
    };
    /// DynamoDB's JSON over HTTP.
    Dynamodb: ProtocolFacts {
        schemes: &[scheme("dynamodb", 8000)],
        otel_name: Some("aws.dynamodb"),
        ..over_http("dynamodb", ProtocolKind::Store)
    };
    /// S3 and compatible stores of objects.
    S3: ProtocolFacts {
        aliases: &["minio"],
        schemes: &[scheme("s3", 9000)],
        ..over_http("s3", ProtocolKind::Store)
    };
    /// Other services of AWS, as SQS.
    Aws: ProtocolFacts {
        aliases: &["sqs"],
        schemes: &[scheme("aws", 4566)],
        ..over_http("aws", ProtocolKind::Store)
    };
    /// ClickHouse by its HTTP interface.
    Clickhouse: ProtocolFacts {
        ports: &[8123],
        schemes: &[UrlScheme { jdbc: Some("clickhouse"), words: &["ch"], ..scheme("clickhouse", 8123) }],
        otel_name: Some("clickhouse"),
        ..over_http("clickhouse", ProtocolKind::Store)
    };
    /// Elasticsearch and OpenSearch over HTTP.
    Elasticsearch: ProtocolFacts {
        aliases: &["opensearch"],
        ports: &[9200],
        schemes: &[UrlScheme { words: &["opensearch", "elastic"], ..scheme("elasticsearch", 9200) }],
        otel_name: Some("elasticsearch"),
        ..over_http("elasticsearch", ProtocolKind::Store)
    };
    /// InfluxDB by its HTTP interface.
    Influxdb: ProtocolFacts {
        ports: &[8086],
        schemes: &[scheme("influxdb", 8086)],
        otel_name: Some("influxdb"),
        ..over_http("influxdb", ProtocolKind::Store)
    };
    /// Prometheus by its query interface.
    Prometheus: ProtocolFacts {
        ports: &[9090],
        schemes: &[scheme("prometheus", 9090)],
        ..over_http("prometheus", ProtocolKind::Store)
    };
    /// etcd by its JSON gateway.
    Etcd: ProtocolFacts {
        ports: &[2379],
        schemes: &[scheme("etcd", 2379)],
        ..over_http("etcd", ProtocolKind::Store)
    };
    /// CouchDB, also called Apache CouchDB.
    Couchdb: ProtocolFacts {
        ports: &[5984],
        schemes: &[scheme("couchdb", 5984)],
        otel_name: Some("couchdb"),
        ..over_http("couchdb", ProtocolKind::Store)
    };
    /// Neon's SQL over HTTP.
    Neon: ProtocolFacts {
        schemes: &[scheme("neon", 80)],
        otel_name: Some("postgresql"),
        ..over_http("neon", ProtocolKind::Store)
    };
    /// SQL over HTTP of libSQL and Turso.
    Libsql: ProtocolFacts {
        aliases: &["turso"],
        schemes: &[scheme("libsql", 8080)],
        ..over_http("libsql", ProtocolKind::Store)
    };
    /// Upstash's Redis over HTTP.
    Upstash: ProtocolFacts {
        schemes: &[scheme("upstash", 80)],
        otel_name: Some("redis"),
        dialect: Dialect::Redis,
        ..over_http("upstash", ProtocolKind::Store)
    };
    /// BigQuery by its REST interface.
    Bigquery: ProtocolFacts {
        schemes: &[scheme("bigquery", 9050)],
        dialect: Dialect::Mysql,
        ..over_http("bigquery", ProtocolKind::Store)
    };
    /// Snowflake by its REST interfaces.
    Snowflake: ProtocolFacts {
        schemes: &[scheme("snowflake", 80)],
        ..over_http("snowflake", ProtocolKind::Store)
    };
    /// Firestore by its REST interface.
    Firestore: ProtocolFacts {
        schemes: &[scheme("firestore", 8080)],
        ..over_http("firestore", ProtocolKind::Store)
    };
    /// GraphQL requests over HTTP.
    Graphql: ProtocolFacts {
        schemes: &[scheme("graphql", 80)],
        ..over_http("graphql", ProtocolKind::Requests)
    };
    /// PostgREST, also in Supabase.
    Postgrest: ProtocolFacts {
        aliases: &["supabase"],
        schemes: &[scheme("postgrest", 3000)],
        ..over_http("postgrest", ProtocolKind::Requests)
    };
    /// Hypertext Transfer Protocol 2, also with gRPC inside.
    Http2: ProtocolFacts {
        name: "http2",
        aliases: &["h2", "h2c", "grpc"],
        ports: &[2379, 50051],
        schemes: &[scheme("http2", 80), scheme("grpc", 80)],
        otel_name: None,
        dialect: Dialect::Standard,
        kind: ProtocolKind::Requests,
        is_over_http: true,
    };
    /// FastCGI between web server and application.
    Fastcgi: ProtocolFacts {
        name: "fastcgi",
        aliases: &["fcgi"],
        ports: &[9000],
        schemes: &[scheme("fastcgi", 9000)],
        otel_name: None,
        dialect: Dialect::Standard,
        kind: ProtocolKind::Requests,
        is_over_http: false,
    };
    /// TLS with an unknown inner protocol.
    Tls: ProtocolFacts {
        name: "tls",
        aliases: &[],
        ports: &[443, 8443],
        schemes: &[],
        otel_name: None,
        dialect: Dialect::Standard,
        kind: ProtocolKind::Other,
        is_over_http: false,
    };
    /// Another protocol, or no data seen yet.
    Unknown: ProtocolFacts {
        name: "unknown",
        aliases: &[],
        ports: &[],
        // The content decides.
        schemes: &[UrlScheme { name: "tcp", jdbc: None, port: None, words: &[] }],
        otel_name: None,
        dialect: Dialect::Standard,
        kind: ProtocolKind::Other,
        is_over_http: false,
    };
}

impl Protocol {
    /// Name in commands, records and reports.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Those that a user can name.
    pub fn all_known() -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|protocol| *protocol != Self::Unknown)
    }

    /// The protocol with this name or alias.
    pub fn from_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let is_alias = |protocol: &Self| protocol.facts().aliases.contains(&word.as_str());
        let named = Self::from_name(&word).filter(|protocol| *protocol != Self::Unknown);
        named.or_else(|| Self::all_known().find(is_alias))
    }

    /// The usual port of servers with this scheme, name or alias.
    pub fn default_port(word: &str) -> Option<u16> {
        let schemes = Self::ALL.iter().flat_map(|protocol| protocol.facts().schemes);
        let mut named = schemes.filter(|scheme| scheme.name == word || scheme.words.contains(&word));
        let of_protocol = || Self::from_word(word)?.facts().schemes.first();
        named.next().or_else(of_protocol)?.port
    }

    /// Whether its servers may call other servers for a request.
    pub const fn carries_requests(self) -> bool {
        matches!(self.facts().kind, ProtocolKind::Requests)
    }

    /// Whether its requests are those of HTTP.
    pub const fn is_over_http(self) -> bool {
        self.facts().is_over_http
    }

    /// Whether exchanges share a connection as streams, answered in any order.
    pub const fn has_streams(self) -> bool {
        matches!(self, Self::Http2)
    }

    /// Whether it is a database's protocol.
    pub const fn is_database(self) -> bool {
        matches!(self.facts().kind, ProtocolKind::Store)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
