//! Distinguishes SQL from other text.

/// Whether a text begins with SQL, after comments, brackets and white space.
pub fn begins_statement(text: &[u8]) -> bool {
    let text = behind_comments(text);
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let (word, behind) = text.split_at(text.iter().take_while(is_of_word).count());
    let ends = behind.first().is_none_or(|&byte| byte != b':');
    ends && VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word))
}

/// The same for little-endian UTF-16.
pub fn begins_statement_16(text: &[u8]) -> bool {
    let wide = text.chunks_exact(2).take(MAX_INSPECTED_LEN);
    let narrow: Vec<u8> = wide
        .map(|pair| if pair[1] == 0 { pair[0] } else { b'?' })
        .collect();
    begins_statement(&narrow)
}

fn behind_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let end = match text {
            [b'/', b'*', rest @ ..] => rest
                .windows(2)
                .position(|two| two == b"*/")
                .map_or(text.len(), |end| end + 4),
            [b'-', b'-', rest @ ..] => rest
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(text.len(), |end| end + 3),
            [b'(' | b';', ..] => 1,
            _ => return text,
        };
        text = text.get(end..).unwrap_or_default();
    }
}

const VERBS: [&[u8]; 67] = [
    b"abort",
    b"alter",
    b"analyze",
    b"analyse",
    b"begin",
    b"call",
    b"checkpoint",
    b"close",
    b"cluster",
    b"comment",
    b"commit",
    b"copy",
    b"create",
    b"deallocate",
    b"declare",
    b"delete",
    b"desc",
    b"describe",
    b"discard",
    b"do",
    b"drop",
    b"end",
    b"exec",
    b"execute",
    b"explain",
    b"fetch",
    b"flush",
    b"grant",
    b"handler",
    b"if",
    b"insert",
    b"kill",
    b"listen",
    b"load",
    b"lock",
    b"merge",
    b"move",
    b"notify",
    b"optimize",
    b"pragma",
    b"prepare",
    b"print",
    b"refresh",
    b"reindex",
    b"release",
    b"rename",
    b"replace",
    b"reset",
    b"revoke",
    b"rollback",
    b"savepoint",
    b"select",
    b"set",
    b"show",
    b"start",
    b"table",
    b"truncate",
    b"unlisten",
    b"update",
    b"use",
    b"values",
    b"with",
    // Of replication.
    b"base_backup",
    b"create_replication_slot",
    b"drop_replication_slot",
    b"identify_system",
    b"start_replication",
];
const MAX_INSPECTED_LEN: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_other_texts() {
        for text in [
            "select 1",
            "  /* a */ -- b\n (SELECT 1)",
            "commit",
            "begin;",
            "WITH a as (",
            "show all",
        ] {
            assert!(begins_statement(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "selector",
            "GET / HTTP/1.1",
            "a001 LOGIN",
            "/* open",
            "end_of",
            "set_x",
        ] {
            assert!(!begins_statement(text.as_bytes()), "{text}");
        }
        assert!(begins_statement_16(b"s\0e\0l\0e\0c\0t\0 \x001\0"));
        assert!(!begins_statement_16(b"s\x01e\0l\0e\0c\0t\0"));
    }
}
