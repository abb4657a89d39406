use super::keywords::{KEYWORDS, is_keyword};
use super::*;
use proptest::prelude::*;

fn standard(text: &str) -> String {
    Fingerprints::default()
        .statement(text.as_bytes(), Dialect::Standard)
        .to_string()
}

fn mysql(text: &str) -> String {
    Fingerprints::default()
        .statement(text.as_bytes(), Dialect::Mysql)
        .to_string()
}

#[test]
fn informix_quotes_literals_twice_and_comments_in_braces() {
    let informix = |text: &str| {
        Fingerprints::default()
            .statement(text.as_bytes(), Dialect::Informix)
            .to_string()
    };
    assert_eq!(
        informix(r#"select * from t where a="it""s" and b='x' {secret} and c=1"#),
        "select * from t where a=? and b=? and c=?"
    );
    assert_eq!(informix(r#"select "" from t"#), "select ? from t");
    assert_eq!(informix("select 1 {open"), "select ?");
}

#[test]
fn redis_commands_keep_their_words_and_nothing_else() {
    let redis = |text: &str| {
        Fingerprints::default()
            .statement(text.as_bytes(), Dialect::Redis)
            .to_string()
    };
    assert_eq!(redis("PING"), "PING");
    assert_eq!(redis(r#"SET "k\" EX" "v""#), "SET ? ?");
    assert_eq!(redis(r#"CONFIG GET "max*""#), "CONFIG GET ?");
    assert_eq!(redis(r#"MGET "a" "b" "c" "d""#), "MGET ? ? ...");
    assert_eq!(redis(r#"MGET "a" "b" "..." ..."#), "MGET ? ? ...");
    assert_eq!(redis(r#"SET "k" "cut off"#), "SET ? ?");
}

#[test]
fn every_keyword_is_found_in_either_case() {
    for keyword in KEYWORDS {
        assert!(
            is_keyword(keyword.as_bytes()) && is_keyword(keyword.to_uppercase().as_bytes()),
            "{keyword}"
        );
    }
    for name in ["t", "orders", "selects", "averyveryverylongname"] {
        assert!(!is_keyword(name.as_bytes()), "{name}");
    }
}

#[test]
fn literals_become_question_marks() {
    assert_eq!(
        standard("SELECT  *\n FROM t1 WHERE a='x''y' AND b = 12.5e-3;"),
        "select * from t1 where a=? and b = ?"
    );
    assert_eq!(
        standard("select $1, $$it's$$, $q$ $$ $q$, E'a\\'b', x'ff', -5"),
        "select ?, ?, ?, ?, ?, ?"
    );
    assert_eq!(
        mysql("select \"it\\\"s\", 0x1F, _utf8'x', `order` from t # secret"),
        "select ?, ?, ?, `order` from t"
    );
    assert_eq!(
        standard("select \"Name\" from T where a-1 > b -- secret"),
        "select \"Name\" from T where a-? > b"
    );
    // The same statement with values above and below zero.
    assert_eq!(
        standard("set b = b + -17 where a - -2 > 1"),
        "set b = b + ? where a - ? > ?"
    );
    assert_eq!(
        standard("set b = b + 17 where a - 2 > 1"),
        "set b = b + ? where a - ? > ?"
    );
    assert_eq!(standard("/* a /* secret */ b */ select 1"), "select ?");
    assert_eq!(mysql("/* a /* b */ select 1"), "select ?");
}

#[test]
fn an_unfinished_literal_or_comment_swallows_the_rest() {
    assert_eq!(standard("select 'secret"), "select ?");
    assert_eq!(standard("select $tag$secret"), "select ?");
    assert_eq!(standard("select 1 /* secret"), "select ?");
}

#[test]
fn passwords_in_utility_statements_vanish() {
    assert_eq!(
        standard("ALTER ROLE app PASSWORD 'hunter2'"),
        "alter ROLE app PASSWORD ?"
    );
    assert_eq!(
        mysql("CREATE USER 'a'@'%' IDENTIFIED BY \"hunter2\""),
        "create USER ?@? IDENTIFIED by ?"
    );
}

#[test]
fn lists_and_rows_have_one_fingerprint_whatever_their_length() {
    assert_eq!(
        standard("select * from t where id in (1)"),
        "select * from t where id in (?)"
    );
    let two = standard("select * from t where id in (1,2) and b=1");
    let five = standard("select * from t where id IN ( 1, 2,3 ,$4,'5' ) and b=1");
    assert_eq!(two, "select * from t where id in (?, ...) and b=?");
    assert_eq!(two, five);
    let rows = standard("insert into t values (1,'a'),(2,'b'), (3, 'c'),(4,'d') on conflict do nothing");
    assert_eq!(rows, "insert into t values (?, ?), ... on conflict do nothing");
    assert_eq!(
        rows,
        standard("insert into t values (1,'a'),(2,'b') on conflict do nothing")
    );
}

#[test]
fn http_requests_keep_the_path_and_lose_the_values() {
    let mut fingerprints = Fingerprints::default();
    assert_eq!(
        &*fingerprints.http(b"GET", b"/products/42/reviews?page=3&q=secret&flag"),
        "GET /products/?/reviews?page=?&q=?&flag"
    );
    assert_eq!(
        &*fingerprints.http(b"GET", b"/a/6f9619ff-8b86-d011-b42d-00c04fc964ff"),
        "GET /a/?"
    );
    assert_eq!(&*fingerprints.http(b"GET", b"/index.php"), "GET /index.php");
}

#[test]
fn what_lets_somebody_in_is_no_name_of_an_http_request() {
    let mut fingerprints = Fingerprints::default();
    for (target, expected) in [
        ("/reset/aB3dE5fG7hJ9kL", "/reset/?"),
        ("/invite/XK7P2Q", "/invite/?"),
        ("/t/dGhpc0lzQVRva2VuQmFzZTY0", "/t/?"),
        ("/t/kQvXbzRtLmPwaeTy", "/t/?"),
        (
            "/auth/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
            "/auth/?",
        ),
        ("/cart;jsessionid=1A2B3C4D?x=1", "/cart;jsessionid=??x=?"),
        ("/cart;JSESSIONID=kestrel/items", "/cart;JSESSIONID=?/items"),
        ("/login?SECRETTOKEN", "/login??"),
        ("/login?Kestrel7", "/login??"),
        ("/login?a=1&kQvXbzRtLmPwaeTy=2", "/login?a=?&?=?"),
        ("/users/mallory@example.org/orders", "/users/?/orders"),
        ("/users/mallory%40example.org", "/users/?"),
        ("/search/J%C3%B6rg%20M", "/search/?"),
        ("http://mallory:osprey@shop/x", "http://?/x"),
        ("/download/3f9c2a71.js", "/download/?"),
    ] {
        let name = fingerprints.http(b"GET", target.as_bytes());
        assert_eq!(&*name, format!("GET {expected}"), "{target}");
    }
}

#[test]
fn words_of_a_program_stay_in_the_name_of_an_http_request() {
    let mut fingerprints = Fingerprints::default();
    for target in [
        "/",
        "/api/v1/products",
        "/api/v1beta2/getUserById",
        "/oauth2/authorize",
        "/wp-content/themes/twentytwentyfour/style.css",
        "/xmlrpc.php",
        "/wp-includes/js/jquery/jquery-migrate.min.js",
        "/2024/06/hello-world",
        "/internationalization/getCustomerOrderHistory",
        "/x86_64/utf8",
        "/_search",
        "/orders?reload",
        "/api/2.0/mlflow/runs/search",
        "/psql/graphql",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        "/v1p1beta1/files",
        "/v1b3/folders",
    ] {
        let name = fingerprints.http(b"GET", target.as_bytes());
        let digits_alone = target.replace("2024", "?").replace("06", "?");
        assert_eq!(&*name, format!("GET {digits_alone}"));
    }
    let name = fingerprints.http(b"GET", b"/list?filter%5Bname%5D=a&sort[by]=b");
    assert_eq!(&*name, "GET /list?filter%5Bname%5D=?&sort[by]=?");
}

#[test]
fn versions_of_interfaces_stay_and_other_numbers_do_not() {
    let mut fingerprints = Fingerprints::default();
    for (target, expected) in [
        ("/rest/api/2/issue/42", "/rest/api/2/issue/?"),
        ("/rest/agile/1.0/board", "/rest/agile/1.0/board"),
        ("/oauth/2.0/token", "/oauth/2.0/token"),
        ("/1.1/statuses/show", "/1.1/statuses/show"),
        ("/admin/api/2024-01/orders", "/admin/api/2024-01/orders"),
        ("/api/2024-01-31/orders", "/api/2024-01-31/orders"),
        ("/2010-04-01/Accounts", "/2010-04-01/Accounts"),
        ("/api/1.4.2/status", "/api/1.4.2/status"),
        ("/api/42/lines", "/api/?/lines"),
        ("/api/2", "/api/?"),
        ("/api/2024-13-31/orders", "/api/?/orders"),
        ("/reports/2024-01-31/summary", "/reports/?/summary"),
        ("/2024-01-31", "/?"),
        ("/price/9.95/tax", "/price/?/tax"),
        ("/firmware/1.4.2/notes", "/firmware/?/notes"),
        ("/hosts/10.0.0.1/disks", "/hosts/?/disks"),
        ("/products/2/reviews", "/products/?/reviews"),
    ] {
        let name = fingerprints.http(b"GET", target.as_bytes());
        assert_eq!(&*name, format!("GET {expected}"), "{target}");
    }
}

/// NO_BACKSLASH_ESCAPES of MySQL, standard_conforming_strings=off of PostgreSQL: the text does not
/// show the setting.
#[test]
fn whether_a_backslash_escapes_is_never_guessed_at_the_cost_of_a_literal() {
    for (text, expected) in [
        // Literals end in one reading only.
        (
            r"insert into t values ('it\'s', 1)",
            "insert into t values (?, ?)",
        ),
        (
            r"insert into t values ('C:\', 'kestrel', 'b')",
            "insert into t values (?, ?, ?)",
        ),
        (r"select '\\', 'a\\\'b'", "select ?, ?"),
        (r"select 'a\\', 'b'", "select ?, ?"),
        (
            r"insert into t values ('it\'s', a, 'that\'s', 1)",
            "insert into t values (?, a, ?, ?)",
        ),
        // In both: the rest is hidden.
        (r"select 'a\' -- ', kestrel", "select ?..."),
        // In neither: the text was cut.
        (r"select 'it\'s', 'kestrel", "select ?..."),
    ] {
        for read in [standard, mysql] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
    // Long enough to have been cut.
    let long = format!(r"select '{}', 'it\'s', kestrel", "a".repeat(5000));
    assert_eq!(mysql(&long), "select ?, ?...");
    assert_eq!(mysql(r#"select "it's \"kestrel\" " from t"#), "select ? from t");
    assert_eq!(
        standard(r"select E'it\'s', kestrel from t"),
        "select ?, kestrel from t"
    );
}

#[test]
fn second_passwords_and_settings_of_applications_are_left_out() {
    for (text, expected) in [
        (
            "grant connect to a, b identified by kestrel, osprey",
            "grant connect to a, b identified by ?, ?",
        ),
        (
            "grant connect to a, b identified by \"kes trel\", osprey with admin option",
            "grant connect to a, b identified by ?, ? with admin option",
        ),
        (
            "connect to shop user app using kestrel new osprey confirm osprey",
            "connect to shop user app using ? new ? confirm ?",
        ),
        (
            "create user a identified via pam using kestrel",
            "create user a identified via pam using ?",
        ),
        ("set app.token = kestrel", "set app.token = ?"),
        (
            "SET LOCAL app.token TO kestrel, osprey",
            "set LOCAL app.token to ?",
        ),
        (
            "set session app.token=kestrel.osprey; select 1",
            "set session app.token= ?",
        ),
        ("begin; set app.token = \"kestrel\"", "begin; set app.token = ?"),
        (
            "alter role app set app.token to kestrel",
            "alter role app set app.token to ?",
        ),
        // Not secrets.
        ("set search_path to app, public", "set search_path to app, public"),
        (
            "update a join b on b.i=a.i set a.x = b.y where a.z = b.z",
            "update a join b on b.i=a.i set a.x = b.y where a.z = b.z",
        ),
        ("execute stmt using @a, @b", "execute stmt using @a, @b"),
        (
            "merge into t using s on t.a=s.a",
            "merge into t using s on t.a=s.a",
        ),
    ] {
        assert_eq!(standard(text).to_lowercase(), expected.to_lowercase(), "{text}");
    }
}

/// Oracle's passwords are names, quoted or not.
#[test]
fn a_password_written_as_a_name_is_no_name() {
    for (text, expected) in [
        (
            "create user app identified by Osprey default tablespace users",
            "create user app identified by ? default tablespace users",
        ),
        (
            "ALTER USER app IDENTIFIED BY \"Os prey\" REPLACE osprey;",
            "ALTER user app IDENTIFIED by ? REPLACE ?",
        ),
        (
            "alter user app identified by Os!pr#y1 account unlock",
            "alter user app identified by ? account unlock",
        ),
        (
            "create user app identified by values '1F'",
            "create user app identified by values ?",
        ),
        (
            "grant connect to app identified by osprey",
            "grant connect to app identified by ?",
        ),
    ] {
        assert_eq!(standard(text).to_lowercase(), expected.to_lowercase());
    }
}

#[test]
fn oracles_literals_and_parameters_are_none_of_the_text() {
    let oracle = |text: &str| {
        Fingerprints::default()
            .statement(text.as_bytes(), Dialect::Oracle)
            .to_string()
    };
    for (text, expected) in [
        (
            "select * from emp where id = :1 and name = :b_name",
            "select * from emp where id = ? and name = ?",
        ),
        ("select q'[it's (a) secret]' from dual", "select ? from dual"),
        (
            "select nq'!it's!', N'b', Q'{x}y}' from \"My Table\"",
            "select ?, ?, ? from \"My Table\"",
        ),
        ("select q'[no end", "select ?"),
        ("select q'", "select ?"),
        ("begin x := 5; end;", "begin x := ?; end"),
        ("insert into t values (:1, :2)", "insert into t values (?, ?)"),
    ] {
        assert_eq!(oracle(text), expected);
    }
}

#[test]
fn sql_servers_names_stand_in_brackets() {
    let server = |text: &str| {
        Fingerprints::default()
            .statement(text.as_bytes(), Dialect::SqlServer)
            .to_string()
    };
    for (text, expected) in [
        (
            "select * from [order 1] where a = N'x' and b = @P0",
            "select * from [order 1] where a = ? and b = ?",
        ),
        (
            "select a from t where b in (@p1, @p2, @p3)",
            "select a from t where b in (?, ...)",
        ),
        ("set @total = 5", "set @total = ?"),
        ("select [no end", "select [no end"),
    ] {
        assert_eq!(server(text), expected);
    }
}

#[test]
fn equal_fingerprints_share_one_allocation_and_their_number_is_bounded() {
    let mut fingerprints = Fingerprints::default();
    let first = fingerprints.statement(b"select 1", Dialect::Standard);
    let second = fingerprints.statement(b"SELECT  2", Dialect::Standard);
    assert!(Arc::ptr_eq(&first, &second));
    let names = 0..MAXIMUM_FINGERPRINTS + 10;
    let in_use: Vec<_> = names
        .map(|number| fingerprints.intern(&format!("name{number}")))
        .collect();
    assert_eq!(&*fingerprints.intern("one more"), OTHER_STATEMENTS);
    let count = |fingerprints: &Fingerprints| fingerprints.known.0.lock().unwrap().all.len();
    assert_eq!(count(&fingerprints), MAXIMUM_FINGERPRINTS + 1);
    // The limit is per run, not per connection.
    let mut others = Fingerprints::among(fingerprints.known.clone());
    assert_eq!(
        &*others.statement(b"select a from b", Dialect::Standard),
        OTHER_STATEMENTS
    );
    assert!(Arc::ptr_eq(
        &others.statement(b"select 3", Dialect::Standard),
        &first
    ));
    assert_eq!(count(&others), MAXIMUM_FINGERPRINTS + 1);
    drop(in_use);
}

#[test]
fn a_text_that_no_statement_is_as_long_as_is_not_kept() {
    let known = KnownFingerprints::default();
    assert_eq!(&*known.intern(&"x".repeat(1 << 20)), OTHER_STATEMENTS);
}

const DIALECTS: [Dialect; 5] = [
    Dialect::Standard,
    Dialect::Mysql,
    Dialect::Informix,
    Dialect::Oracle,
    Dialect::SqlServer,
];

proptest! {
    #[test]
    fn any_bytes_end_in_a_bounded_text(text in proptest::collection::vec(any::<u8>(), 0..4096), dialect in proptest::sample::select(DIALECTS.to_vec())) {
        let fingerprint = Fingerprints::default().statement(&text, dialect);
        prop_assert!(fingerprint.len() <= 3 * (MAXIMUM_LENGTH + 4096));
    }

    #[test]
    fn no_literal_survives(secret in "[A-Z]{12}", number in 100_000_u64..999_999) {
        let text = format!("select a{number}x, '{secret}', {number}, $x${secret}$x$ from t where b in ('{secret}', {number})");
        let fingerprint = standard(&text);
        prop_assert!(!fingerprint.contains(&secret));
        let alone = format!(" {number}");
        prop_assert!(!fingerprint.contains(&alone));
    }
}

/// Asserts that earlier texts do not change a fingerprint.
fn assert_earlier_texts_change_nothing(texts: &[String], dialect: Dialect) {
    let mut seen = Fingerprints::default();
    for text in texts {
        let alone = Fingerprints::default().statement(text.as_bytes(), dialect);
        assert_eq!(
            seen.statement(text.as_bytes(), dialect),
            alone,
            "{text:?} in {dialect:?}"
        );
    }
}

#[test]
fn texts_that_differ_in_literals_are_read_once_and_no_others() {
    let alike = ["= 17 and b = 'x'", "= 4 and b = 'it''s'", "= 123456 and b = ''"];
    let mut seen = Fingerprints::default();
    let fingerprints = alike.map(|rest| {
        seen.statement(
            format!("select a1 from t where a {rest}").as_bytes(),
            Dialect::Standard,
        )
    });
    assert!(
        fingerprints
            .iter()
            .all(|one| &**one == "select a1 from t where a = ? and b = ?")
    );
    assert_eq!(seen.outlined.iter().flatten().count(), 1);
    let others = [
        "create user a identified by abc12'x y' q'",
        "create user a identified by abc12'x' q'",
        "create user a identified by abc13'x' q'",
        "select \"a 1\"",
        "select \"a 2\"",
        "select `a 1`",
        "select `a 2`",
        "select 'a -- 1' 2",
        "select 'a' -- 1' 2",
        "select 1e-5, a-5, e'5', x'1', 1.e5, a1, @1, :1, ?1, .5, a.5",
        "select 2e-6, a-6, e'6', x'2', 2.e6, a1, @1, :2, ?2, .6, a.6",
        "set app.token = 12 'x'",
        "set app.token = 13 'y'",
    ];
    for dialect in DIALECTS {
        assert_earlier_texts_change_nothing(&others.map(str::to_owned), dialect);
    }
}

const PIECES: [&str; 43] = [
    "password ",
    " like ",
    "(a, token) values (",
    "where ",
    "token=",
    "key = ",
    "secret: ",
    "select ",
    "a",
    "1",
    "22",
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "$",
    "$1",
    "--",
    "-",
    "/*",
    "*/",
    "/",
    "#",
    "\n",
    " ",
    ".",
    "e",
    "E5",
    "+",
    ",",
    "(",
    ")",
    "in (",
    "values (",
    "=",
    "set b.c",
    "identified by ",
    "connect ",
    "using",
    ";",
    "@",
    ":",
];

proptest! {
    #[test]
    fn no_text_has_the_fingerprint_of_another(
        texts in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..12), 1..40),
        digits in "[0-9]{1,3}",
        dialect in proptest::sample::select(DIALECTS.to_vec()),
    ) {
        // Each followed by other numbers and literals.
        let texts = texts.iter().flat_map(|pieces| {
            let text = pieces.concat();
            [text.replace("22", &digits).replace("a", "a b"), text.replace("''", "'1 x'"), text]
        });
        assert_earlier_texts_change_nothing(&texts.collect::<Vec<_>>(), dialect);
    }
}

#[test]
fn names_out_of_use_make_room_for_others() {
    let known = KnownFingerprints::default();
    let kept: Vec<Fingerprint> = (0..100)
        .map(|number| known.intern(&format!("kept {number}")))
        .collect();
    for number in 0..3 * MAXIMUM_FINGERPRINTS {
        let name = known.intern(&format!("once {number}"));
        assert_ne!(&*name, OTHER_STATEMENTS, "{number}");
    }
    assert!(kept.iter().all(|name| Arc::ptr_eq(name, &known.intern(name))));
    assert!(known.0.lock().expect("no thread panicked").all.len() <= MAXIMUM_FINGERPRINTS);
}

#[test]
fn names_in_use_are_never_let_go() {
    let known = KnownFingerprints::default();
    let kept: Vec<Fingerprint> = (0..MAXIMUM_FINGERPRINTS)
        .map(|number| known.intern(&format!("kept {number}")))
        .collect();
    for number in 0..2 * MAXIMUM_FINGERPRINTS {
        assert_eq!(&*known.intern(&format!("once {number}")), OTHER_STATEMENTS);
    }
    assert!(kept.iter().all(|name| Arc::ptr_eq(name, &known.intern(name))));
}

/// Deterministic random letters, as in tokens of paths.
fn drawn(letters: &[u8], length: usize, count: usize) -> Vec<String> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::from(letters[(state >> 33) as usize % letters.len()])
    };
    (0..count)
        .map(|_| (0..length).map(|_| char::from(next() as u8)).collect())
        .collect()
}

fn path(part: &str) -> String {
    Fingerprints::default()
        .http(b"GET", format!("/reset/{part}").as_bytes())
        .to_string()
}

#[test]
fn random_letters_in_paths_are_hidden() {
    const SMALL: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
    const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let both = [SMALL, CAPITALS].concat();
    for (letters, length, least) in [
        (SMALL, 6, 50),
        (SMALL, 8, 54),
        (SMALL, 10, 56),
        (SMALL, 16, 58),
        (SMALL, 32, 60),
        (CAPITALS, 8, 54),
        (CAPITALS, 12, 56),
        (&both, 8, 54),
        (&both, 12, 58),
        (&both, 20, 60),
    ] {
        let hidden = drawn(letters, length, 60)
            .iter()
            .filter(|part| path(part) == "GET /reset/?")
            .count();
        assert!(hidden >= least, "{hidden} of 60 of {length} letters");
    }
    let groups = drawn(SMALL, 12, 60);
    let hidden = groups
        .iter()
        .map(|part| format!("{}-{}-{}", &part[..4], &part[4..8], &part[8..]))
        .filter(|part| path(part) == "GET /reset/?")
        .count();
    assert!(hidden >= 54, "{hidden} of 60 groups");
}

#[test]
fn values_behind_names_of_secrets_in_paths_are_hidden() {
    for (part, expected) in [
        ("token=abc", "token=?"),
        ("password=kestrel", "password=?"),
        ("year=kestrel", "year=?"),
        ("token:abc", "token:?"),
        ("api_key:abc", "api_key:?"),
        ("Authorization:Bearer:abc", "Authorization:?"),
        ("x,secret=abc,y=1", "x,secret=?"),
        ("dGhpc0lzQVRva2Vu==", "?"),
        ("Products('kestrel')", "?"),
        ("a;token:abc=d", "a;?=?"),
        // Methods of programs.
        ("projects:batchGet", "projects:batchGet"),
    ] {
        let expected = expected.replace("a;?=?", "a;token:abc=?");
        assert_eq!(path(part), format!("GET /reset/{expected}"));
    }
    let mut fingerprints = Fingerprints::default();
    let query = fingerprints.http(b"GET", b"/a?kqxvbzrt&reload&token:abc");
    assert_eq!(&*query, "GET /a??&reload&?");
}

#[test]
fn names_of_people_with_a_dot_are_hidden() {
    for part in [
        "jane.doe",
        "Jane.Doe",
        "j.doe",
        "jane.m.doe",
        "jane.doe-smith",
        "jane.doe2",
        "~jane.doe",
        "jane.doe.pdf",
        "jane.doe;v=1",
    ] {
        let rest = if part.contains(';') { ";v=?" } else { "" };
        assert_eq!(path(part), format!("GET /reset/?{rest}"), "{part}");
    }
    for part in [
        "index.php",
        "style.css",
        "jquery.min.js",
        "report.pdf",
        "helloworld.Greeter",
        "shop.v1.Orders",
        "events.k8s.io",
        "chat.postMessage",
        ".well-known",
        "robots.txt",
        "..",
    ] {
        assert_eq!(path(part), format!("GET /reset/{part}"));
    }
}

const SECRETS_AS_WORDS: &[(&str, &str)] = &[
    ("select a from t where token=abc", "select a from t where token=?"),
    (
        "select a from t where token = abc and b = c",
        "select a from t where token = ? and b = c",
    ),
    ("create user a identified by $x", "create user a identified by ?"),
    (
        "create user a identified by #x!y",
        "create user a identified by ?",
    ),
    (
        "create user a identified by 1abc!x",
        "create user a identified by ?",
    ),
    (
        "create user a identified by (abc)",
        "create user a identified by ?)",
    ),
    (
        "alter system set password: kestrel",
        "alter system set password: ?",
    ),
    ("set api_key := kestrel", "set api_key := ?"),
    ("f(password => kestrel, b => c)", "f(password => ?, b => c)"),
    (
        "select a from t where s.\"token\" = \"kes trel\"",
        "select a from t where s.\"token\" = ?",
    ),
    ("where key=$abc", "where key=?"),
    ("where key=6f9619ff-8b86-d011", "where key=?"),
    ("where key=(abc)", "where key=(?)"),
    ("authorization: Bearer abc.def x", "authorization: ? x"),
    ("where password = secret", "where password = ?"),
    ("where pwd<>@x", "where pwd<>?"),
    ("where token=abc'def ghi' and b = c", "where token=?? and b = c"),
    // Without an operator.
    ("password kestrel", "password ?"),
    (
        "alter role a with password kestrel valid until 'x'",
        "alter role a with password ? valid until ?",
    ),
    (
        "create user a encrypted password \"kes trel\"",
        "create user a encrypted password ?",
    ),
    (
        "select a from t where token kestrel and b = c",
        "select a from t where token ? and b = c",
    ),
    (
        "options (user a, password kestrel)",
        "options (user a, password ?)",
    ),
    (
        "exec login @name a, @password kestrel",
        "exec login @name a, @password ?",
    ),
    ("set password for a = kestrel", "set password for a = ?"),
    ("set password to kestrel", "set password to ?"),
    // Words as operators, and lists.
    ("where password in (kestrel)", "where password in (?)"),
    (
        "where password not in (kes, trel, x) and b in (c)",
        "where password not in (?, ...) and b in (c)",
    ),
    ("where token like kestrel", "where token like ?"),
    ("where token not ilike kestrel", "where token not ilike ?"),
    (
        "where token is distinct from kestrel",
        "where token is distinct from ?",
    ),
    ("where token = any(kestrel)", "where token = any(?)"),
    (
        "where token = any (array[kes, trel])",
        "where token = any (array[?, ?])",
    ),
    (
        "where api_key between kes and trel or a = b",
        "where api_key between ? and ? or a = b",
    ),
    ("where token regexp kestrel", "where token regexp ?"),
    ("where token similar to kestrel", "where token similar to ?"),
    ("where token = binary kestrel", "where token = binary ?"),
    // Names in a cast or a call, and values in a call.
    ("where token::text = kestrel", "where token::text = ?"),
    (
        "where lower(u.password) in (kestrel)",
        "where lower(u.password) in (?)",
    ),
    (
        "where cast(token as text) <> kestrel",
        "where cast(token as text) <> ?",
    ),
    (
        "where password collate nocase = kestrel",
        "where password collate nocase = ?",
    ),
    (
        "set password = md5(concat(kes, trel))",
        "set password = md5(concat(?, ?))",
    ),
    (
        "open symmetric key k decryption by password kestrel",
        "open symmetric key ? decryption by password ?",
    ),
    (
        "copy t from 's3' secret_access_key kestrel",
        "copy t from ? secret_access_key ?",
    ),
    // Columns of rows.
    (
        "where (name, token) in ((jane, kestrel), (joe, merlin))",
        "where (name, token) in ((jane, ?), (joe, ?))",
    ),
    (
        "insert into t (name, password) values (jane, kestrel), (joe, merlin)",
        "insert into t (name, password) values (jane, ?), (joe, ?)",
    ),
    (
        "insert into t (password, name) values (lower(kestrel), jane) on conflict (password) do nothing",
        "insert into t (password, name) values (lower(?), jane) on conflict (password) do nothing",
    ),
    (
        "update t set (name, token) = (jane, kestrel) where a = b",
        "update t set (name, token) = (jane, ?) where a = b",
    ),
    // Columns, calls, keywords and former non-secrets.
    (
        "select a from t join s on t.key = s.id",
        "select a from t join s on t.key = s.id",
    ),
    ("update t set key = key + 1", "update t set key = key + ?"),
    ("where token = md5('x')", "where token = md5(?)"),
    (
        "where token = null or token::text = 'x'",
        "where token = null or token::text = ?",
    ),
    (
        "where token = $1::uuid and key = 5",
        "where token = ?::uuid and key = ?",
    ),
    (
        "where key = N'a b' and key = $$a b$$",
        "where key = ? and key = ?",
    ),
    ("where token = :name", "where token = :name"),
    ("where monkey = abc", "where monkey = abc"),
    ("where key = -5 and key = 5 - 3", "where key = ? and key = ? - ?"),
];

#[test]
fn secrets_written_as_words_are_hidden_in_statements() {
    for (text, expected) in SECRETS_AS_WORDS {
        assert_eq!(standard(text).to_lowercase(), expected.to_lowercase(), "{text}");
    }
}

#[test]
fn a_statement_with_a_secret_written_as_a_word_is_read_each_time() {
    let texts = [
        "where a = 1 and token=1ab'x y' q'",
        "where a = 2 and token=1ab'x' q'",
        "where key = 5 and token = 7",
        "where key = 6 and token = 8-x",
    ];
    for dialect in DIALECTS {
        assert_earlier_texts_change_nothing(&texts.map(str::to_owned), dialect);
    }
}

/// Real statements with secrets' names as tables, columns, aliases and terms of SQL.
#[test]
fn words_behind_names_of_secrets_stay_where_sql_has_them() {
    for text in [
        "select t.token tk, u.password pw from tokens t, user_tokens ut join credentials c on c.key = t.key where t.token is null",
        "select token from tokens where token is not null order by token desc nulls last limit ?",
        "select distinct key k from api_keys ak join t on ak.key is distinct from t.key for no key update",
        "select a from t where b = ? for key share",
        "select a from t where a.key = t.key straight_join s",
        "select group_concat(token separator ?) from t",
        "select a from t where token collate utf8mb4_bin = ? and key in (select key from s where s.id = t.id)",
        "select rank() over (partition by token order by key) from t window w as (order by token)",
        "update tokens t set used = true where t.token = ? returning token tk",
        "insert into tokens (token, used) values (?, default) on conflict (token) do update set token = excluded.token",
        "insert into t (a, key) select a, key from s on duplicate key update key = values(key)",
        "delete from tokens using sessions s where s.key = tokens.key",
        "create table t (password varchar(?) not null, token text, key integer, primary key (key), unique key by_token (token))",
        "alter table t add column token text, alter column key type bigint, drop column secret cascade",
        "create index by_token on tokens using btree (token collate c)",
        "truncate tokens restart identity",
        "exec reset_password jane",
        "alter user a password expire never",
        "declare @token uniqueidentifier",
        "with tokens as (select token from t) select token t2 from tokens tk",
        "merge into tokens t using s on t.key = s.key when matched then update set token = s.token",
    ] {
        let fingerprint = standard(text);
        let signs = |text: &str| text.matches('?').count();
        assert_eq!(signs(&fingerprint), signs(text), "{fingerprint}");
    }
}

#[test]
fn mongodb_keeps_words_and_drops_names_that_are_data() {
    for (text, expected) in [
        ("find users {age $gt, name}", "find users {age $gt, name}"),
        (
            "find users {_id, createdAt} /*traceparent='x'*/",
            "find users {_id, createdAt}",
        ),
        (
            "aggregate orders [$match {status}, $group]",
            "aggregate orders [$match {status}, $group]",
        ),
        (
            "find carts {items.0.price $in, 4711, x1f4a9c2d7b3e}",
            "find carts {items.?.price $in, ?, ?}",
        ),
        ("find t_65f1c0ffee12ab34 {a}", "find ? {a}"),
        ("", ""),
    ] {
        assert_eq!(
            &*super::Fingerprints::default().statement(text.as_bytes(), Dialect::Mongodb),
            expected
        );
    }
}

#[test]
fn names_of_calls_keep_words_and_no_keys() {
    let mut fingerprints = Fingerprints::default();
    for (call, name) in [
        ("GetItem Orders", "GetItem Orders"),
        ("AmazonSQS.SendMessage", "AmazonSQS.SendMessage"),
        ("BatchGetItem shop-orders_2", "BatchGetItem shop-orders_2"),
        ("GetItem 8f14e45fceea167a5a36dedd4bea2543", "GetItem ?"),
        ("GET /photos/?", "GET /photos/?"),
        ("GET /photos?list-type&prefix", "GET /photos?list-type&prefix"),
        ("GET /123456789012-xqzvkrwt/?", "GET /?/?"),
        ("get ann@example.org", "get ?"),
        ("query PageWithItems", "query PageWithItems"),
    ] {
        assert_eq!(&*fingerprints.words(call.as_bytes()), name, "{call}");
    }
    assert_eq!(
        &*fingerprints.target(b"GET /_cat/indices/17?v=1"),
        "GET /_cat/indices/??v=?"
    );
}

#[test]
fn a_call_of_grpc_is_its_path_and_identifiers_in_it_are_not() {
    let mut fingerprints = Fingerprints::default();
    for (path, name) in [
        ("/etcdserverpb.KV/Range", "/etcdserverpb.KV/Range"),
        ("/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Check"),
        (
            "/shop.v1beta2.XqzService/Get_Item",
            "/shop.v1beta2.XqzService/Get_Item",
        ),
        ("/shop.Cart/6f9619ff-8b86-d011-b42d-00c04fc964ff", "/shop.Cart/?"),
        ("/shop.Cart/a6f9619ff8b86", "/shop.Cart/?"),
        ("/shop.Cart/Get?token=abc", "/shop.Cart/?"),
        ("/someone@example.com/4711", "/?/?"),
    ] {
        assert_eq!(&*fingerprints.http(b"", path.as_bytes()), name);
    }
}
