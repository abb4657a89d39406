//! SQL words that are case-insensitive.

/// Enough words that two spellings of one statement match.
pub(super) fn is_keyword(word: &[u8]) -> bool {
    (2..=MAX_KEYWORD_LEN).contains(&word.len()) && PACKED_KEYWORDS.binary_search(&packed(word)).is_ok()
}

/// Packs at most 16 letters, in lower case, for comparison in one step.
const fn packed(word: &[u8]) -> u128 {
    let mut number = 0;
    let mut index = 0;
    while index < word.len() {
        number = number << 8 | word[index].to_ascii_lowercase() as u128;
        index += 1;
    }
    number
}

const MAX_KEYWORD_LEN: usize = 11;

static PACKED_KEYWORDS: [u128; KEYWORDS.len()] = sorted_keywords();

const fn sorted_keywords() -> [u128; KEYWORDS.len()] {
    let mut sorted = [0; KEYWORDS.len()];
    let mut count = 0;
    while count < KEYWORDS.len() {
        let keyword = packed(KEYWORDS[count].as_bytes());
        let mut place = count;
        while place > 0 && sorted[place - 1] > keyword {
            sorted[place] = sorted[place - 1];
            place -= 1;
        }
        sorted[place] = keyword;
        count += 1;
    }
    sorted
}

pub(super) const KEYWORDS: &[&str] = &[
    "add",
    "all",
    "alter",
    "analyze",
    "and",
    "any",
    "as",
    "asc",
    "begin",
    "between",
    "by",
    "call",
    "cascade",
    "case",
    "check",
    "close",
    "column",
    "commit",
    "constraint",
    "copy",
    "count",
    "create",
    "cross",
    "current",
    "cursor",
    "database",
    "declare",
    "default",
    "delete",
    "desc",
    "distinct",
    "drop",
    "else",
    "end",
    "except",
    "execute",
    "exists",
    "explain",
    "fetch",
    "for",
    "foreign",
    "from",
    "full",
    "function",
    "grant",
    "group",
    "having",
    "if",
    "ignore",
    "ilike",
    "in",
    "index",
    "inner",
    "insert",
    "intersect",
    "into",
    "is",
    "join",
    "key",
    "left",
    "like",
    "limit",
    "lock",
    "max",
    "merge",
    "min",
    "natural",
    "next",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "outer",
    "over",
    "partition",
    "prepare",
    "primary",
    "references",
    "release",
    "replace",
    "returning",
    "revoke",
    "right",
    "rollback",
    "row",
    "rows",
    "savepoint",
    "select",
    "set",
    "show",
    "start",
    "sum",
    "table",
    "temporary",
    "then",
    "to",
    "transaction",
    "trigger",
    "truncate",
    "union",
    "unique",
    "update",
    "use",
    "using",
    "values",
    "view",
    "when",
    "where",
    "with",
    "work",
];
