//! The form of a row.

/// What is known of a protocol besides its messages.
#[derive(Debug)]
pub struct ProtocolFacts {
    /// Name in commands, records and reports.
    pub name: &'static str,
    /// Other names in commands and targets: of products that speak it.
    pub aliases: &'static [&'static str],
    /// Usual ports of servers, used only where the content is ambiguous.
    pub ports: &'static [u16],
    /// Schemes of targets, the usual one first; further rows have another port or name.
    pub schemes: &'static [UrlScheme],
    /// OpenTelemetry's `db.system.name`, if its conventions have one.
    pub otel_name: Option<&'static str>,
    /// Syntax of its statements.
    pub dialect: Dialect,
    /// What it is used for.
    pub kind: ProtocolKind,
    /// Whether its requests are those of HTTP.
    pub is_over_http: bool,
}

/// A scheme of a target's URL.
#[derive(Debug)]
pub struct UrlScheme {
    /// Name in messages, also a word in URLs.
    pub name: &'static str,
    /// The word in JDBC's URLs.
    pub jdbc: Option<&'static str>,
    /// Port if the URL has none.
    pub port: Option<u16>,
    /// Other words in URLs, mostly of frameworks.
    pub words: &'static [&'static str],
}

pub(super) const fn scheme(name: &'static str, port: u16) -> UrlScheme {
    UrlScheme {
        name,
        jdbc: None,
        port: Some(port),
        words: &[],
    }
}

pub(super) const fn over_http(name: &'static str, kind: ProtocolKind) -> ProtocolFacts {
    ProtocolFacts {
        name,
        aliases: &[],
        ports: &[],
        schemes: &[],
        otel_name: None,
        dialect: Dialect::Standard,
        kind,
        is_over_http: true,
    }
}

/// What a protocol is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolKind {
    /// Statements or commands to a database.
    Store,
    /// Requests to programs that may call other servers for them.
    Requests,
    /// Anything.
    Other,
}

/// Syntax of a statement's text; mainly the meaning of double quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Double quotes hold a name (the SQL standard, PostgreSQL).
    Standard,
    /// Double quotes hold a literal; a backslash escapes inside literals (MySQL's default).
    Mysql,
    /// Double quotes hold a literal; braces hold comments (Informix; with `DELIMIDENT`, names
    /// become `?` too).
    Informix,
    /// Double quotes hold a name; `q'[...]'` is a literal and `:name` a parameter (Oracle).
    Oracle,
    /// Double quotes and `[...]` hold a name; `@P1` is a parameter (SQL Server).
    SqlServer,
    /// Arguments of a Redis command are always literals.
    Redis,
    /// Words are names of commands, collections, fields and operators; there are no literals (MongoDB).
    Mongodb,
}
