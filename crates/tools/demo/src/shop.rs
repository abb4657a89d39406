//! The shop's schema and content, equal at every start, so that runs can be compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, params};

use crate::session::Session;

pub(crate) const CATEGORIES: [&str; 4] = ["travel", "history", "science", "fiction"];

/// Books per category, and so per page.
pub(crate) const BOOKS_PER_CATEGORY: usize = 12;

/// An in-memory SQLite database shared by all connections of one server only.
pub(crate) struct Shop {
    name: String,
    /// Keeps the database alive, otherwise unused.
    _keeper: Connection,
    /// Set when the server stops, to end running statements.
    stopping: Arc<AtomicBool>,
}

impl Shop {
    pub(crate) fn open(stopping: Arc<AtomicBool>) -> rusqlite::Result<Shop> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let name = format!("file:longwire-demo-{number}?mode=memory&cache=shared");
        let mut keeper = connect(&name)?;
        keeper.execute_batch(SCHEMA)?;
        fill(&mut keeper)?;
        Ok(Shop {
            name,
            _keeper: keeper,
            stopping,
        })
    }

    /// A further connection to the shop, for one client.
    ///
    /// It may read and write the shop's tables and create others. It may not attach files or set
    /// pragmas: otherwise any client of the port could write files as the user of the demo.
    pub(crate) fn session(&self) -> rusqlite::Result<Session> {
        let mut connection = connect(&self.name)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_LIMIT)?;
        name_the_server(&connection)?;
        connection.authorizer(Some(authorize))?;
        Ok(Session::new(connection, Arc::clone(&self.stopping)))
    }
}

fn connect(name: &str) -> rusqlite::Result<Connection> {
    // A mutex guards each connection, so SQLite's own mutexes are not needed.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.pragma_update(None, "max_page_count", PAGE_LIMIT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

fn name_the_server(connection: &Connection) -> rusqlite::Result<()> {
    let answers = [
        ("version", VERSION),
        ("current_database", "shop"),
        ("current_schema", "public"),
    ];
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for (function, answer) in answers {
        connection.create_scalar_function(function, 0, flags, move |_| Ok(answer))?;
    }
    Ok(())
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } | AuthAction::Pragma { .. } => {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    }
}

fn fill(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for (index, name) in AUTHORS.iter().enumerate() {
        transaction.execute("INSERT INTO authors VALUES (?1, ?2)", params![index + 1, name])?;
    }
    let mut review = 0;
    for book in 0..CATEGORIES.len() * BOOKS_PER_CATEGORY {
        let category = CATEGORIES[book % CATEGORIES.len()];
        let title = format!(
            "{} {}",
            pick(&FIRST_WORDS, book * 5),
            pick(&SECOND_WORDS, book * 3 + book / 8)
        );
        let author = book * 7 % AUTHORS.len() + 1;
        let price_cents = 890 + book * 137 % 2_600;
        transaction.execute(
            "INSERT INTO products VALUES (?1, ?2, ?3, ?4, ?5)",
            params![book + 1, title, category, author, price_cents],
        )?;
        for reader in 0..book * 11 % 7 {
            review += 1;
            let stars = (book + reader * 2) % 5 + 1;
            transaction.execute(
                "INSERT INTO reviews VALUES (?1, ?2, ?3, ?4)",
                params![review, book + 1, stars, pick(&OPINIONS, book + reader * 3)],
            )?;
        }
    }
    transaction.commit()
}

fn pick<'a>(words: &[&'a str], index: usize) -> &'a str {
    words[index % words.len()]
}

const SCHEMA: &str = "
CREATE TABLE authors (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;
CREATE TABLE products (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    category TEXT NOT NULL,
    author_id INTEGER NOT NULL REFERENCES authors (id),
    price_cents INTEGER NOT NULL CHECK (price_cents > 0)
) STRICT;
CREATE INDEX products_by_category ON products (category);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    product_id INTEGER NOT NULL REFERENCES products (id),
    stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
    opinion TEXT NOT NULL
) STRICT;
CREATE INDEX reviews_by_product ON reviews (product_id);
";

const VERSION: &str = "PostgreSQL 16.6 (the longwire demo's shop: SQLite behind PostgreSQL's protocol)";

/// Maximum number of 4 KiB pages: 256 MiB, so that no client can exhaust memory.
const PAGE_LIMIT: i64 = 65_536;

/// Maximum size of a value, in bytes.
const VALUE_LIMIT: i32 = 16 * 1024 * 1024;

const AUTHORS: [&str; 16] = [
    "Ada Brandt",
    "Bela Castel",
    "Cora Duarte",
    "Dora Eklund",
    "Emil Farkas",
    "Finn Gallo",
    "Gita Holm",
    "Hana Ito",
    "Ivo Jansen",
    "Jana Kral",
    "Kofi Lund",
    "Lena Mora",
    "Mira Novak",
    "Nils Okafor",
    "Olga Petit",
    "Pavel Quinn",
];

const FIRST_WORDS: [&str; 12] = [
    "The Quiet",
    "The Last",
    "A Distant",
    "The Second",
    "A Short",
    "The Hidden",
    "The Broken",
    "An Open",
    "The Long",
    "A Northern",
    "The Paper",
    "The Slow",
];

const SECOND_WORDS: [&str; 16] = [
    "Harbour",
    "Letter",
    "Winter",
    "Garden",
    "Signal",
    "Bridge",
    "River",
    "Atlas",
    "Market",
    "Journey",
    "Lighthouse",
    "Railway",
    "Orchard",
    "Island",
    "Archive",
    "Mountain",
];

const OPINIONS: [&str; 8] = [
    "Read it twice, and lent it to everyone I know.",
    "The first hundred pages are slow; the rest flies.",
    "Not as the cover promises, but better.",
    "A fine book for a long train ride.",
    "I gave up after the third chapter.",
    "Well researched, and it shows.",
    "My copy fell apart from use.",
    "The maps alone are worth the price.",
];
