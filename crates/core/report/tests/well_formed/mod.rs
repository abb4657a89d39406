//! Checks that a page is well formed: elements are closed in order, attributes are quoted, and no
//! bare `<` or `&` is in a text.

pub fn well_formed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html
        .strip_prefix("<!DOCTYPE html>")
        .expect("a page says what it is");
    while let Some(at) = rest.find('<') {
        text_is_escaped(&rest[..at], open.last().copied());
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        assert!(!tag.contains('<'), "a tag within a tag: {tag}");
        assert!(tag.matches('"').count().is_multiple_of(2), "quotes of <{tag}>");
        rest = after;
        let name = tag.split([' ', '\n', '/']).next().unwrap_or_default();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "what </{name}> closes");
        } else if !tag.ends_with('/') && !["meta", "link", "input"].contains(&name) {
            open.push(name);
            if name == "script" || name == "style" {
                let end = rest.find(&format!("</{name}>")).expect("script and style end");
                rest = &rest[end..];
            }
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

fn text_is_escaped(text: &str, within: Option<&str>) {
    for (at, _) in text.match_indices('&') {
        let entity = text[at + 1..].split(';').next().unwrap_or_default();
        assert!(
            ["amp", "lt", "gt", "quot", "#39"].contains(&entity),
            "&{entity} in {within:?}"
        );
    }
}
