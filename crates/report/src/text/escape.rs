//! Makes text from the wire harmless on a terminal.

use std::borrow::Cow;

/// `text` with every character that a terminal could obey, or that changes the order or place in which others are
/// shown, written as an escape (`\n`, `\u{1b}`): control characters, bidirectional controls, invisible characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_dangerous(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Columns that `text` takes on a terminal: two for East Asian wide characters and emoji, none for combining marks.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The beginning of `text` that fits into `width` columns; ends in `...` when something was cut.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(ELLIPSIS.len());
    let mut used = 0;
    let kept: String = text
        .chars()
        .take_while(|&character| {
            used += columns_of(character);
            used <= room
        })
        .collect();
    let dots = &ELLIPSIS[..ELLIPSIS.len().min(width)];
    Cow::Owned(kept + dots)
}

/// The end of `text` that fits into `width` columns; begins with `...` when something was cut. For paths, whose end
/// tells most.
pub fn cut_front(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(ELLIPSIS.len());
    let mut used = 0;
    let from = text
        .char_indices()
        .rev()
        .take_while(|&(_, character)| {
            used += columns_of(character);
            used <= room
        })
        .last()
        .map_or(text.len(), |(index, _)| index);
    Cow::Owned(format!(
        "{}{}",
        &ELLIPSIS[..ELLIPSIS.len().min(width)],
        &text[from..]
    ))
}

fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// From Unicode's East Asian Width (UAX 11), by blocks: exact for scripts in use, not for every symbol.
fn columns_of(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

const ELLIPSIS: &str = "...";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(printable("select \u{1b}[2J\r\n1"), "select \\u{1b}[2J\\r\\n1");
        assert_eq!(printable("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(printable("a\u{202e}b\u{200b}c"), "a\\u{202e}b\\u{200b}c");
        assert!(matches!(printable("größe 表 = ?"), Cow::Borrowed("größe 表 = ?")));
    }

    #[test]
    fn cutting_counts_columns_and_never_splits_a_character() {
        assert_eq!(cut("select", 6), "select");
        assert_eq!(cut("select 1", 6), "sel...");
        assert_eq!(cut("表表表表", 7), "表表...");
        assert_eq!(cut("abcdef", 2), "..");
        assert_eq!(cut("abcdef", 0), "");
        assert_eq!(cut_front("/a/long/表.pcap", 10), "...表.pcap");
        assert_eq!(cut_front("/a/long/表.pcap", 9), "....pcap");
        assert_eq!(cut_front("a.pcap", 6), "a.pcap");
        assert_eq!(columns("e\u{301}表"), 3);
    }
}
