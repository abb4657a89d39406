//! Operation name patterns, with `*` for any text.

use std::fmt;

/// A case-sensitive pattern such as `GET /checkout*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern from its text form.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether it is a pattern of the whole name.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        let Some(mut rest) = rest.strip_suffix(last) else {
            return false;
        };
        // The first match of each part leaves the most text for the rest.
        parts.all(|part| match rest.split_once(part) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).matches(name);
        assert!(matches("GET /checkout", "GET /checkout"));
        assert!(!matches("GET /checkout", "GET /checkout/?"));
        assert!(matches("GET /checkout*", "GET /checkout/?"));
        assert!(matches("*", ""));
        assert!(matches("*insert*t*", "batch insert into t"));
        assert!(!matches("a*ba", "aba "));
        assert!(!matches("ab*ba", "aba"), "no letter counts twice");
        assert!(matches("*a*a*", "aa"));
        assert!(!matches("*a*a*", "a"));
        assert!(matches("a**b", "ab"));
    }
}
