//! Connect descriptors in the form `(DESCRIPTION=(ADDRESS=(HOST=db1)(PORT=1521)))`.

/// Escapes special characters with a backslash.
pub(super) fn value(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '(' | ')' | '=' | '\\' | '\'' | '"' | '#' | ',') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Finds the first value called `name`, in any case, also among nested values.
pub(super) fn find<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split('(').find_map(|part| {
        let (key, rest) = part.split_once('=')?;
        let value = rest.split(')').next()?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim())
            .filter(|value| !value.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_wherever_they_are() {
        let text =
            "(DESCRIPTION=(TMP=)(VSNNUM=318767104)(err = 12514)(ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
        assert_eq!(find(text, "VSNNUM"), Some("318767104"));
        assert_eq!(find(text, "ERR"), Some("12514"));
        assert_eq!(find(text, "CODE"), Some("12514"));
        assert_eq!(find(text, "TMP"), None);
        assert_eq!(find("no descriptor", "ERR"), None);
        assert_eq!(find("(ERR=", "ERR"), None);
    }

    #[test]
    fn a_value_cannot_become_a_part() {
        assert_eq!(value("db1.example"), "db1.example");
        assert_eq!(value("a)(COMMAND=stop"), "a\\)\\(COMMAND\\=stop");
    }
}
