//! Makes text from the wire harmless on a terminal.

use std::borrow::Cow;

/// Escapes (`\n`, `\u{1b}`) all characters that control a terminal or change the order or place of
/// others: control characters, bidirectional controls, invisible characters.
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

/// A finished view, safe for a terminal or a CI's log. Line breaks and the colours of
/// [`super::style`] stay.
///
/// 1. Escapes all other terminal controls, in case a text has bypassed [`printable`].
/// 2. Escapes commands of a CI. GitHub's runner obeys lines that begin with `::` after blanks (`::error::`,
///    `::add-mask::`) and any with `##[command]`; Azure and TeamCity the latter with a word (`##vso[`,
///    `##teamcity[`). The second of these two characters is escaped.
pub fn inert(view: &str) -> String {
    let mut shown = String::with_capacity(view.len() + 16);
    for line in view.split_inclusive('\n') {
        inert_line(line, &mut shown);
    }
    shown
}

fn inert_line(line: &str, shown: &mut String) {
    let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
    let begin = shown.len();
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let colour = colour_length(rest);
        let taken = if colour > 0 { colour } else { character.len_utf8() };
        let is_command = match character {
            ':' => shown[begin..].trim_start() == ":",
            '#' => shown.ends_with('#') && begins_a_command(rest),
            _ => false,
        };
        if is_command || (colour == 0 && is_dangerous(character)) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push_str(&rest[..taken]);
        }
        rest = &rest[taken..];
    }
    shown.push_str(end);
}

/// Whether `rest`, after a `#`, completes a command: another `#`, optional letters, and a bracket.
pub(crate) fn begins_a_command(rest: &str) -> bool {
    rest.strip_prefix('#').is_some_and(|rest| {
        rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric())
            .starts_with('[')
    })
}

/// Length of a colour sequence at the start of `text`: `ESC [ digits m`. 0 if there is none.
fn colour_length(text: &str) -> usize {
    let Some(code) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let digits = code.bytes().take_while(u8::is_ascii_digit).count();
    match code.as_bytes().get(digits) {
        Some(b'm') => 2 + digits + 1,
        _ => 0,
    }
}

/// An error for a terminal. Further lines (the end of a server's log) are marked, so that none can
/// be taken for longwire's.
pub fn message(error: &str) -> String {
    let mut lines = error.trim_end().split('\n');
    let mut shown = inert(&printable(lines.next().unwrap_or_default()));
    for line in lines {
        shown.push_str("\n  | ");
        shown.push_str(&inert(&printable(line)));
    }
    shown
}

/// The flag of `predict` that explains the operations of a name, quoted for a POSIX shell. Ends a
/// long name with `*`, which is any text.
pub fn explain_flag(name: &str) -> String {
    let mut names: String = name.chars().take(MAX_FLAG_NAME).collect();
    if names.len() < name.len() {
        names.push('*');
    }
    let names = names.replace(is_dangerous, "*").replace('\'', r"'\''");
    format!("--explain='{names}'")
}

/// Columns of `text` on a terminal: two for East Asian wide characters and emoji, none for
/// combining marks.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A prefix that fits into `width` columns, with `...` if `text` was cut.
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

/// A suffix that fits into `width` columns, after `...` if `text` was cut. For paths, where the end
/// is the most informative part.
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

/// Whether it controls a terminal, or changes the place of other characters.
pub(crate) fn is_dangerous(character: char) -> bool {
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

/// Unicode's East Asian Width (UAX 11) by blocks: exact for scripts in use, not for every symbol.
pub(super) fn columns_of(character: char) -> usize {
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
/// Characters of a name in a flag.
const MAX_FLAG_NAME: usize = 40;

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
    fn no_line_of_a_view_is_a_command_of_a_terminal_or_a_ci() {
        let view = "\u{1b}[1mread\u{1b}[0m ::x\n  ::error::a\u{1b}[2Jb\n::add-mask::c\r\n\u{a0}##[group]d ##vso[x] ##temp\n";
        assert_eq!(
            inert(view),
            "\u{1b}[1mread\u{1b}[0m ::x\n  :\\u{3a}error::a\\u{1b}[2Jb\n:\\u{3a}add-mask::c\\u{d}\n\u{a0}#\\u{23}[group]d \
             #\\u{23}vso[x] ##temp\n"
        );
        assert_eq!(
            inert("\u{1b}[1m::error::x\u{1b}[0m"),
            "\u{1b}[1m::error::x\u{1b}[0m"
        );
    }

    #[test]
    fn an_error_of_a_server_forges_no_line() {
        assert_eq!(
            message("refused: no\nlongwire: all is well\r\n::error::x\n"),
            "refused: no\n  | longwire: all is well\\r\n  | :\\u{3a}error::x"
        );
    }

    #[test]
    fn a_flag_of_a_name_is_one_word_of_a_shell_that_matches_the_name() {
        assert_eq!(explain_flag("GET /page"), "--explain='GET /page'");
        assert_eq!(explain_flag("it's\u{1b}"), r"--explain='it'\''s*'");
        assert_eq!(
            explain_flag(&"a".repeat(41)),
            format!("--explain='{}*'", "a".repeat(40))
        );
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
