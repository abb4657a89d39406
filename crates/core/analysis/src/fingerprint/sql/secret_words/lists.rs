//! Words of SQL that stand beside a secret's name or value.

/// Words between a name and the value compared with it.
pub(super) const OPERATORS: [&str; 17] = [
    "like", "ilike", "rlike", "regexp", "glob", "match", "contains", "in", "any", "all", "some", "not", "is",
    "between", "array", "binary", "distinct",
];

pub(super) const COUNTING: [&str; 5] = ["count", "length", "len", "char_length", "octet_length"];

pub(super) const ROWS: [&str; 5] = ["excluded", "new", "old", "inserted", "deleted"];

/// Words other than keywords that follow a name without being its value.
pub(super) const WORDS_BEHIND_NAMES: [&str; 74] = [
    "allow",
    "anti",
    "array",
    "asof",
    "at",
    "bypass",
    "collate",
    "connect",
    "contains",
    "current",
    "decryption",
    "div",
    "do",
    "emit",
    "encryption",
    "escape",
    "except",
    "expire",
    "false",
    "filter",
    "final",
    "force",
    "format",
    "generated",
    "glob",
    "global",
    "go",
    "history",
    "isnull",
    "lateral",
    "match",
    "member",
    "minus",
    "mod",
    "nothing",
    "notnull",
    "nowait",
    "nulls",
    "of",
    "option",
    "output",
    "overlaps",
    "pivot",
    "prewhere",
    "qualify",
    "regexp",
    "rename",
    "require",
    "respect",
    "restart",
    "reuse",
    "rlike",
    "sample",
    "semi",
    "separator",
    "settings",
    "share",
    "similar",
    "skip",
    "some",
    "sounds",
    "straight_join",
    "tablesample",
    "true",
    "ttl",
    "type",
    "unknown",
    "unpivot",
    "valid",
    "varying",
    "wait",
    "window",
    "within",
    "xor",
];

/// Clauses in which an alias may follow a name.
pub(super) const CLAUSES_OF_NAMES: [&str; 15] = [
    "select",
    "distinct",
    "returning",
    "from",
    "join",
    "update",
    "into",
    "table",
    "by",
    "using",
    "only",
    "lateral",
    "output",
    "truncate",
    "analyze",
];

pub(super) const CLAUSES: [&str; 12] = [
    "where", "on", "and", "or", "having", "set", "values", "when", "then", "else", "not", "options",
];

/// Words before the name of a procedure or table, or of a longer SQL term.
pub(super) const WORDS_BEFORE_NAMES: [&str; 19] = [
    "call",
    "exec",
    "execute",
    "describe",
    "desc",
    "lock",
    "vacuum",
    "cluster",
    "refresh",
    "primary",
    "foreign",
    "unique",
    "duplicate",
    "for",
    "session",
    "no",
    "partition",
    "as",
    "on",
];

/// Types follow the columns in definitions.
pub(super) const DEFINING: [&[u8]; 4] = [b"create", b"alter", b"drop", b"comment"];

pub(super) const DEFINED: [&str; 12] = [
    "table",
    "index",
    "view",
    "type",
    "function",
    "procedure",
    "trigger",
    "sequence",
    "policy",
    "domain",
    "column",
    "key",
];
