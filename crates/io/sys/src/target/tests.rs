use super::*;

fn parsed(text: &str) -> Target {
    Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn relay() -> Endpoint {
    Endpoint {
        address: "127.0.0.1".parse().expect("valid"),
        port: 6000,
    }
}

#[test]
fn a_url_is_read_with_percent_sequences_decoded() {
    let target =
        parsed("postgres://an%40na:p%3Aw%2f@db1:6543/sh%20op?application_name=x&sslmode=verify-full");
    assert_eq!(target.scheme.name(), "postgres");
    assert_eq!((target.host.as_str(), target.port), ("db1", 6543));
    assert_eq!(target.user.as_deref(), Some("an@na"));
    assert_eq!(target.password.as_ref().map(Secret::reveal), Some("p:w/"));
    assert_eq!(target.database.as_deref(), Some("sh op"));
    assert_eq!(target.security.mode, Some(TlsMode::VerifyFull));
}

#[test]
fn each_scheme_has_its_port_or_asks_for_one() {
    let ports = [
        ("postgresql://h", 5432),
        ("kingbase://h", 54321),
        ("mysql://h", 3306),
        ("mariadb://h/", 3306),
        ("http://h/path", 80),
        ("oracle://h", 1521),
        ("sqlserver://h", 1433),
        ("redis://h", 6379),
        ("informix://h", 9088),
        ("drda://h", 50_000),
        ("db2://h", 50_000),
        ("tcp://h:9", 9),
        ("POSTGRES://h:", 5432),
        ("jdbc:mysql://h/db", 3306),
        ("jdbc:mariadb://h:7/db", 7),
        ("jdbc:kingbase8://h/db", 54321),
        ("jdbc:postgresql://h/db", 5432),
    ];
    for (text, port) in ports {
        assert_eq!(
            (parsed(text).host.as_str(), parsed(text).port),
            ("h", port),
            "{text}"
        );
    }
    assert_eq!(
        Target::parse("tcp://h"),
        Err(TargetError::NoPort { scheme: "tcp" })
    );
}

#[test]
fn a_database_without_host_is_on_this_machine() {
    assert_eq!(parsed("postgres:///db").host, "localhost");
    assert_eq!(parsed("jdbc:postgresql:db").database.as_deref(), Some("db"));
    assert_eq!(parsed("dbname=x").server(), "localhost:5432");
    assert_eq!(
        Target::parse("http:///x"),
        Err(TargetError::NoHost { scheme: "http" })
    );
}

#[test]
fn ipv6_addresses_keep_their_brackets_outside() {
    let target = parsed("postgres://u@[fe80::1]:99/db");
    assert_eq!((target.host.as_str(), target.port), ("fe80::1", 99));
    assert_eq!(target.server(), "[fe80::1]:99");
    let relay = Endpoint {
        address: "::1".parse().expect("valid"),
        port: 7,
    };
    assert_eq!(
        target.url_through(relay, ClientTls::LeftOut),
        "postgres://u@[::1]:7/db"
    );
}

#[test]
fn jdbc_parameters_carry_the_credentials() {
    let target = parsed("jdbc:postgresql://h/db?user=anna&password=pw&ssl=true");
    assert_eq!(target.user.as_deref(), Some("anna"));
    assert_eq!(target.security.mode, Some(TlsMode::VerifyFull));
    assert_eq!(
        parsed("jdbc:mysql://h/db?useSSL=true").security.mode,
        Some(TlsMode::Require)
    );
    assert_eq!(
        parsed("jdbc:mysql://h/db?sslMode=VERIFY_IDENTITY").security.mode,
        Some(TlsMode::VerifyFull)
    );
    assert_eq!(
        parsed("mysql://h/db?ssl-mode=REQUIRED").security.mode,
        Some(TlsMode::Require)
    );
    assert_eq!(
        parsed("postgres://h/db?ssl=true").security.mode,
        Some(TlsMode::Require)
    );
}

#[test]
fn conninfo_strings_are_read_as_libpq_reads_them() {
    let target =
        parsed(r"host = db1 port=6000 user=anna password='it\'s \\ here' dbname=shop sslmode=require");
    assert_eq!(target.server(), "db1:6000");
    assert_eq!(target.password.as_ref().map(Secret::reveal), Some(r"it's \ here"));
    assert_eq!(target.security.mode, Some(TlsMode::Require));
    assert_eq!(parsed("host=name hostaddr=10.0.0.1").host, "10.0.0.1");
    assert!(matches!(
        Target::parse("host='open"),
        Err(TargetError::BadConninfo { .. })
    ));
    assert!(matches!(
        Target::parse("host=a b"),
        Err(TargetError::BadConninfo { .. })
    ));
}

#[test]
fn unix_sockets_are_found_where_their_clients_look() {
    let socket = |text: &str| {
        let target = parsed(text);
        (target.server(), target.to_string())
    };
    let here = |server: &str, shown: &str| (server.to_owned(), shown.to_owned());
    let postgres = here(
        "/run/postgresql/.s.PGSQL.5432",
        "postgres://anna@/shop?host=/run/postgresql",
    );
    assert_eq!(socket("postgres://anna@/shop?host=/run/postgresql"), postgres);
    assert_eq!(socket("postgres://anna@%2Frun%2Fpostgresql/shop"), postgres);
    assert_eq!(socket("host=/run/postgresql user=anna dbname=shop"), postgres);
    assert_eq!(
        socket("host=/tmp port=6000").0,
        "/tmp/.s.PGSQL.6000",
        "the port is part of the name"
    );
    assert_eq!(
        socket("mysql://anna@/shop?socket=/run/mysqld.sock"),
        here("/run/mysqld.sock", "mysql://anna@/shop?socket=/run/mysqld.sock")
    );
}

#[test]
fn url_through_changes_only_the_way() {
    let through = |text| parsed(text).url_through(relay(), ClientTls::LeftOut);
    assert_eq!(
        through("postgres://anna:p%3Aw@db1:6543/shop?application_name=x&sslmode=require&sslrootcert=/ca.pem"),
        "postgres://anna:p%3Aw@127.0.0.1:6000/shop?application_name=x&sslmode=disable"
    );
    assert_eq!(
        through("mysql://anna@db1/shop?charset=utf8"),
        "mysql://anna@127.0.0.1:6000/shop?charset=utf8"
    );
    assert_eq!(
        through("jdbc:mysql://db1/shop?useSSL=true"),
        "jdbc:mysql://127.0.0.1:6000/shop?sslMode=DISABLED"
    );
    assert_eq!(
        through("host=db1 password='a b' dbname=shop sslmode=verify-full"),
        "host=127.0.0.1 port=6000 password='a b' dbname=shop sslmode=disable"
    );
}

#[test]
fn a_program_is_told_nothing_of_tls_that_its_own_url_does_not_say() {
    let own = |text: &str| parsed(text).url_through(relay(), ClientTls::Own);
    let without = |text: &str| parsed(text).url_through(relay(), ClientTls::LeftOut);
    for text in [
        "postgres://u@127.0.0.1:6000/shop?application_name=x",
        "postgresql+asyncpg://u@127.0.0.1:6000/shop",
        "mysql+pymysql://u@127.0.0.1:6000/shop?charset=utf8",
        "host=127.0.0.1 port=6000 user=u",
    ] {
        assert_eq!((own(text).as_str(), without(text).as_str()), (text, text));
    }
    let said = "postgres://u@127.0.0.1:6000/shop?sslmode=prefer&channel_binding=disable";
    assert_eq!(own(said), said);
    assert_eq!(without(said), "postgres://u@127.0.0.1:6000/shop?sslmode=disable");
    assert_eq!(
        without("mysql://u@127.0.0.1:6000/shop?ssl-mode=VERIFY_CA&ssl-ca=/x"),
        "mysql://u@127.0.0.1:6000/shop?ssl-mode=DISABLED"
    );
    assert_eq!(
        without("jdbc:postgresql://127.0.0.1:6000/shop?user=u"),
        "jdbc:postgresql://127.0.0.1:6000/shop?user=u&sslmode=disable",
        "its driver reads nothing else"
    );
}

#[test]
fn what_frameworks_write_is_a_target_and_comes_back_in_the_same_scheme() {
    for (scheme, meant, port) in [
        ("postgresql+asyncpg", "postgres", 5432),
        ("postgresql+psycopg", "postgres", 5432),
        ("postgresql+psycopg2", "postgres", 5432),
        ("postgresql+pg8000", "postgres", 5432),
        ("postgis", "postgres", 5432),
        ("pgsql", "postgres", 5432),
        ("psql", "postgres", 5432),
        ("pdo-pgsql", "postgres", 5432),
        ("timescalegis", "postgres", 5432),
        ("cockroachdb", "postgres", 26_257),
        ("cockroachdb+asyncpg", "postgres", 26_257),
        ("redshift", "postgres", 5439),
        ("r2dbc:postgresql", "postgres", 5432),
        ("r2dbc:pool:mysql", "mysql", 3306),
        ("mysql2", "mysql", 3306),
        ("trilogy", "mysql", 3306),
        ("mysqlgis", "mysql", 3306),
        ("mysql+pymysql", "mysql", 3306),
        ("mysql+aiomysql", "mysql", 3306),
        ("mysql-connector", "mysql", 3306),
        ("mariadb+mariadbconnector", "mariadb", 3306),
    ] {
        let text = format!("{scheme}://anna:p%40w@db1/shop");
        let target = parsed(&text);
        assert_eq!((target.scheme.name(), target.port), (meant, port), "{text}");
        for tls in [ClientTls::Own, ClientTls::LeftOut] {
            assert_eq!(
                target.url_through(relay(), tls),
                format!("{scheme}://anna:p%40w@127.0.0.1:6000/shop")
            );
        }
    }
    let mode = |text: &str| parsed(text).security.mode;
    let prisma = "postgresql://u:p@h/d?schema=public&sslmode=require&sslaccept=strict";
    assert_eq!(mode(prisma), Some(TlsMode::VerifyFull));
    assert_eq!(
        mode("postgresql+asyncpg://h/d?ssl=verify-full"),
        Some(TlsMode::VerifyFull)
    );
    assert_eq!(
        mode("postgres://h/d?sslmode=no-verify"),
        Some(TlsMode::Require),
        "node's"
    );
    assert_eq!(
        mode(r#"mysql://h/d?ssl={"rejectUnauthorized":true}"#),
        Some(TlsMode::VerifyFull)
    );
    assert_eq!(
        mode("mysql+pymysql://h/d?ssl_ca=/x&ssl_verify_identity=true"),
        Some(TlsMode::VerifyFull)
    );
    assert_eq!(
        mode("mysql://h/d?tls=skip-verify"),
        Some(TlsMode::Require),
        "Go's"
    );
    assert_eq!(mode("jdbc:mysql://h/d?useSSL=false"), Some(TlsMode::Disable));
}

#[test]
fn no_text_form_shows_the_password() {
    for text in [
        "postgres://anna:hunter2@db1/shop",
        "jdbc:mysql://db1/x?user=anna&password=hunter2",
        "password=hunter2",
    ] {
        let target = parsed(text);
        assert!(
            !format!("{target} {target:?} {target:#?}").contains("hunter2"),
            "{text}"
        );
    }
    for text in [
        "postgres:/anna:hunter2@db1",
        "postgres://anna:hunter2",
        "tcp://anna:hunter2/x@db1:1",
        "foo://anna:hunter2@db1",
        "tcp://anna:hunter2@db1",
        "password='hunter2",
    ] {
        let error = Target::parse(text).expect_err(text);
        assert!(
            !format!("{error} {error:?} {:?}", error.hint()).contains("hunter2"),
            "{text}"
        );
    }
    assert_eq!(
        parsed("postgres://anna:hunter2@db1/shop").to_string(),
        "postgres://anna@db1:5432/shop"
    );
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |text: &str| Target::parse(text).expect_err(text);
    assert_eq!(error("db1:5432"), TargetError::NotATarget);
    assert_eq!(
        error("cassandra://h"),
        TargetError::UnknownScheme {
            scheme: "cassandra".to_owned()
        }
    );
    assert!(matches!(
        error("jdbc:oracle:thin:@h:1521/x"),
        TargetError::UnknownJdbcScheme { .. }
    ));
    assert_eq!(error("postgres://h:65536/"), TargetError::BadPort);
    assert_eq!(error("postgres://h:0/"), TargetError::BadPort);
    assert_eq!(error("postgres://a:1,b:2/"), TargetError::SeveralHosts);
    assert_eq!(error("postgres://a,b/"), TargetError::SeveralHosts);
    assert_eq!(error("host=@abstract"), TargetError::AbstractSocket);
    assert_eq!(
        error("mysql://%2Ftmp/x"),
        TargetError::NoSocket { scheme: "mysql" }
    );
    assert_eq!(
        error("postgres://h/%zz"),
        TargetError::BadPercent { part: "database" }
    );
    assert!(matches!(
        error("postgres://h/?sslmode=maybe"),
        TargetError::BadParameter { .. }
    ));
    assert!(matches!(
        error("postgres://[::1/db"),
        TargetError::BadPort | TargetError::BadHost
    ));
    for text in [
        "",
        "   ",
        "://",
        "jdbc:",
        "jdbc::",
        "postgres://",
        "=",
        "a=",
        "%",
        "postgres://@",
        "postgres://h:x",
    ] {
        if let Err(error) = Target::parse(text) {
            assert!(!error.to_string().is_empty() && error.hint().is_some(), "{text}");
        }
    }
}

#[test]
fn a_parameter_is_set_for_the_application_alone() {
    let relay = Endpoint {
        address: std::net::IpAddr::from([127, 0, 0, 1]),
        port: 4000,
    };
    let through = |text: &str, name: &str, value: Option<&str>| {
        let target = Target::parse(text).expect("a target");
        let target = target.with_parameter(name, value).expect("it may be set");
        target.url_through(relay, ClientTls::LeftOut)
    };
    let jdbc = "jdbc:postgresql://db1/shop?user=app&defaultRowFetchSize=7&ApplicationName=x";
    assert_eq!(
        through(jdbc, "defaultRowFetchSize", Some("100")),
        "jdbc:postgresql://127.0.0.1:4000/shop?user=app&defaultRowFetchSize=100&ApplicationName=x&sslmode=disable"
    );
    assert_eq!(
        through(jdbc, "defaultrowfetchsize", Some("a b&c")),
        "jdbc:postgresql://127.0.0.1:4000/shop?user=app&defaultRowFetchSize=7&ApplicationName=x&defaultrowfetchsize=a%20b%26c&sslmode=disable",
        "upper and lower case are distinguished"
    );
    assert_eq!(
        through("mysql://app:secret@db1/shop?compress=true", "compress", None),
        "mysql://app:secret@127.0.0.1:4000/shop"
    );
    assert_eq!(
        through("host=db1 user=app", "options", Some("-c work_mem=1MB")),
        "host=127.0.0.1 port=4000 user=app options='-c work_mem=1MB'"
    );
    let target = Target::parse("postgres://db1/shop").expect("a target");
    assert!(target.with_parameter("sslmode", Some("require")).is_err());
    assert_eq!(
        target
            .with_parameter("x", Some("1"))
            .expect("it may")
            .security
            .mode,
        None
    );
}

#[test]
fn a_port_is_added_where_none_is_named() {
    for (given, full) in [
        ("db1", "db1:7717"),
        ("db1:99", "db1:99"),
        ("10.0.0.1", "10.0.0.1:7717"),
        ("::1", "[::1]:7717"),
        ("[::1]", "[::1]:7717"),
        ("[::1]:99", "[::1]:99"),
    ] {
        assert_eq!(super::with_port(given, 7717), full);
    }
}

#[test]
fn a_server_by_its_address_is_as_its_url() {
    for text in ["tcp://db1:7717", "tcp://[::1]:99", "tcp://10.0.0.1:1"] {
        let read = Target::parse(text).expect("a target");
        assert_eq!(Target::tcp(&read.host, read.port), read);
        assert_eq!(Target::tcp_at(&read.server(), 5), Ok(read));
    }
}

#[test]
fn every_decoded_protocol_has_a_scheme() {
    for protocol in model::Protocol::all_known().filter(|protocol| *protocol != model::Protocol::Tls) {
        for word in std::iter::once(&protocol.name()).chain(protocol.facts().aliases) {
            let target = parsed(&format!("{word}://db1"));
            assert_eq!(target.scheme.protocol(), protocol, "{word}");
        }
    }
    assert_eq!(parsed("mssql://db1").port, 1433);
    assert_eq!(parsed("derby://db1").port, 1527);
    assert_eq!(parsed("fastcgi://app1").port, 9000);
}

#[test]
fn an_unknown_scheme_lists_the_known_ones() {
    let hint = Target::parse("cassandra://h")
        .unwrap_err()
        .hint()
        .unwrap_or_default();
    for scheme in Scheme::all() {
        assert!(hint.contains(&format!("{}://", scheme.name())), "{hint}");
    }
}
