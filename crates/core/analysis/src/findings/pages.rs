//! Statements that read a part of a result; a loop of them fetches it in pieces.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Paging {
    Offset,
    Scan,
    LargeObject,
}

/// `None` if the statement reads the complete result.
pub(super) fn paging(fingerprint: &str) -> Option<Paging> {
    let first = fingerprint.split(' ').next().unwrap_or_default();
    if SCANS.contains(&first) {
        return Some(Paging::Scan);
    }
    if fingerprint == "(function call loread)" || fingerprint.starts_with("select loread(") {
        return Some(Paging::LargeObject);
    }
    let has = |words: &str| fingerprint.contains(words);
    let is_part = has(" offset ") || has(" limit ?,") || has(" fetch next ");
    // Elasticsearch's `from`, and PostgREST's `offset`.
    let is_part_of_http = match first {
        "search" => fingerprint.ends_with("?from"),
        "GET" => has("?offset=") || has("&offset="),
        _ => false,
    };
    (first == "select" && is_part || is_part_of_http).then_some(Paging::Offset)
}

const SCANS: [&str; 4] = ["SCAN", "HSCAN", "SSCAN", "ZSCAN"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_result_shows_in_the_text() {
        for (text, expected) in [
            (
                "select a from t order by b limit ? offset ?",
                Some(Paging::Offset),
            ),
            ("select a from t limit ?, ?", Some(Paging::Offset)),
            (
                "select a from t offset ? rows fetch next ? rows only",
                Some(Paging::Offset),
            ),
            ("search orders?from", Some(Paging::Offset)),
            ("GET /rest/v1/t?limit=?&offset=?", Some(Paging::Offset)),
            ("GET ?", None),
            ("SCAN ? COUNT ?", Some(Paging::Scan)),
            ("(function call loread)", Some(Paging::LargeObject)),
            ("select a from t where b = ? limit ?", None),
            ("select a from t", None),
        ] {
            assert_eq!(paging(text), expected, "{text}");
        }
    }
}
