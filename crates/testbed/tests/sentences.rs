//! The sentences that users read: in README.md, in every help and in messages none is long, and in none is
//! "what", "whose" or "which" the subject.

use std::fs;
use std::path::{Path, PathBuf};

const MAX_WORDS: usize = 25;
const PRONOUNS: [&str; 3] = ["what", "whose", "which"];

/// The next word is a subject, as it is behind a colon.
const CONJUNCTIONS: [&str; 5] = ["because", "if", "that", "when", "while"];

/// Crates without messages for users.
const WITHOUT_MESSAGES: [&str; 2] = ["testbed", "servers"];

#[test]
fn sentences_of_the_readme_and_of_every_help_are_short_and_plain() {
    let root = root();
    let readme = read(&root.join("README.md"));
    let mut faults = faults("README.md", &markdown(&readme));
    let mut helps = files(&root.join("crates/longwire/tests/data/help"), "txt");
    helps.sort();
    assert!(helps.len() > 20, "{helps:?}");
    for path in helps {
        let name = path.file_stem().expect("a name").display().to_string();
        faults.extend(self::faults(&name, &help(&read(&path))));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn sentences_of_messages_are_short_and_plain() {
    let mut sources: Vec<PathBuf> = files(&root().join("crates"), "rs");
    sources.retain(|path| is_of_the_product(path));
    sources.sort();
    let mut count = 0;
    let mut faults = Vec::new();
    for path in sources {
        let messages: Vec<String> = literals(&without_tests(&read(&path)))
            .into_iter()
            .filter(|text| is_prose(text))
            .collect();
        count += messages.len();
        faults.extend(self::faults(&path.display().to_string(), &messages));
    }
    assert!(count > 2000, "only {count} messages were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Sentences of several literals are seen only in the views that are kept.
#[test]
fn sentences_of_views_are_short_and_plain() {
    let mut views = files(&root().join("crates/core/report/tests/data"), "txt");
    views.extend(files(&root().join("crates/core/screen/tests/data"), "txt"));
    views.sort();
    assert!(views.len() > 20, "{views:?}");
    let mut faults = Vec::new();
    for path in views {
        // Screens have the same sentences, in lines of 80 columns.
        if path.components().any(|part| part.as_os_str() == "screens") {
            continue;
        }
        // The words and the form of pgbench, ab and JMeter.
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("load-"))
        {
            continue;
        }
        let prose: Vec<String> = view(&read(&path))
            .into_iter()
            .filter(|text| is_prose(text))
            .collect();
        faults.extend(self::faults(&path.display().to_string(), &prose));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn faults_are_found() {
    let long = "one two three four five six seven eight nine ten ".repeat(3);
    for (text, is_fault) in [
        (long.as_str(), true),
        ("Short one. And another.", false),
        ("What was captured is kept.", true),
        ("It is kept: what follows is not.", true),
        ("Whose are these? Nobody knows.", false),
        ("The part which is `which` is named in the help.", false),
    ] {
        assert_eq!(!faults("", &[text.to_owned()]).is_empty(), is_fault, "{text}");
    }
    let source = r##"// "not this"
        fn f<'a>(c: char) { g('"', "a \"b\" \
            c", r#"d "e" f"#); }"##;
    assert_eq!(literals(source), ["a \"b\" c", "d \"e\" f"]);
}

/// Each sentence that is too long or has the wrong subject, with its place.
fn faults(place: &str, paragraphs: &[String]) -> Vec<String> {
    let all = paragraphs.iter().flat_map(|text| sentences(text));
    let wrong = all.filter(|sentence| {
        sentence.split_whitespace().count() > MAX_WORDS || has_pronoun_as_subject(sentence)
    });
    wrong.map(|sentence| format!("{place}: {sentence}")).collect()
}

fn sentences(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = paragraph.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let last = sentences.last_mut().expect("there is one");
        last.push_str(word);
        last.push(' ');
        let bare = word.trim_end_matches(['"', '\'', ')', '`', '*']);
        let begins =
            |next: &&str| next.starts_with(|first: char| !first.is_lowercase() || !first.is_alphabetic());
        if bare.ends_with(['.', '?', '!']) && words.peek().is_some_and(begins) {
            sentences.push(String::new());
        }
    }
    sentences
}

/// Whether the sentence or a clause of it begins with the pronoun.
/// Questions may.
fn has_pronoun_as_subject(sentence: &str) -> bool {
    let mut is_beginning = true;
    for word in sentence.to_lowercase().split_whitespace() {
        let begins = is_beginning || word.starts_with('(');
        let bare = word.trim_matches(|letter: char| !letter.is_alphabetic());
        if begins && !word.contains('{') && PRONOUNS.contains(&bare) {
            return !sentence.contains('?');
        }
        is_beginning = word.ends_with([':', ';']) || CONJUNCTIONS.contains(&word);
    }
    false
}

/// Paragraphs, headings, items and cells, without code, pictures and the addresses of links.
fn markdown(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code || line.starts_with(['!', '<']) {
        } else if let Some(row) = line.strip_prefix('|') {
            paragraphs.extend(row.split(" | ").map(str::to_owned));
        } else {
            if line.is_empty() || line.starts_with("- ") {
                paragraphs.push(String::new());
            }
            let last = paragraphs.last_mut().expect("there is one");
            last.push_str(line.trim_start_matches("- "));
            last.push(' ');
        }
    }
    paragraphs
        .into_iter()
        .map(|text| without_addresses(&text))
        .collect()
}

fn without_addresses(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        shown.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown + rest
}

/// The texts of a help page: examples, usages and the flags themselves are left out.
fn help(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        let bare = line.trim();
        let indent = line.len() - line.trim_start().len();
        let cells = bare
            .split_once("  ")
            .map(|(name, text)| (name, text.trim_start()));
        let is_item = bare.starts_with("- ");
        match cells {
            _ if bare.is_empty() || bare.starts_with("Usage:") || bare.ends_with(':') => {
                paragraphs.push(String::new());
            }
            Some((_, text)) if (1..8).contains(&indent) => paragraphs.push(text.to_owned()),
            _ if (1..8).contains(&indent) => paragraphs.push(String::new()),
            _ => {
                if is_item {
                    paragraphs.push(String::new());
                }
                let last = paragraphs.last_mut().expect("there is one");
                last.push(' ');
                last.push_str(bare.trim_start_matches("- "));
            }
        }
    }
    paragraphs
}

/// Lines of the same indentation that follow each other, without rows of tables and of values.
fn view(text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_row =
        |line: &str| line.trim_start().contains("  ") || line.contains(" = ") || line.contains("---");
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        match paragraphs.last_mut() {
            _ if is_row(line) => paragraphs.push((usize::MAX, String::new())),
            Some((same, last)) if *same == indent(line) && !line.is_empty() => last.push_str(line),
            _ => paragraphs.push((indent(line), line.to_owned())),
        }
        if let Some((_, last)) = paragraphs.last_mut() {
            last.push(' ');
        }
    }
    paragraphs.into_iter().map(|(_, text)| text).collect()
}

/// A message and not a word, a format, SQL or a list of names: most of its words are of letters alone.
fn is_prose(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_plain = |word: &&&str| {
        let bare = word.trim_matches(|letter: char| !letter.is_alphabetic() && !"{}".contains(letter));
        let is_value = bare.starts_with('{') && bare.ends_with('}');
        is_value
            || (!bare.is_empty()
                && bare
                    .chars()
                    .all(|letter| letter.is_alphabetic() || "'-".contains(letter)))
    };
    let is_lower = |word: &&&str| word.chars().any(char::is_lowercase);
    let first = words.first().map_or("", |word| word.trim_start_matches('('));
    let is_sql = ["select", "insert", "create", "update"].contains(&first)
        || [":=", "begin not atomic"].iter().any(|sql| text.contains(sql));
    words.len() > 1
        && !is_sql
        && words.iter().filter(is_plain).count() * 10 >= words.len() * 7
        && words.iter().filter(is_lower).count() * 2 >= words.len()
}

/// Each string literal of a source, as it is printed; lines of it apart.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '\'', '/', 'r']) {
        let (before, after) = (&rest[..at], &rest[at..]);
        let is_word =
            before.ends_with(|last: char| last.is_alphanumeric() || last == '_') && !before.ends_with('b');
        let hashes = after[1..].len() - after[1..].trim_start_matches('#').len();
        if after.starts_with("//") {
            rest = after.split_once('\n').map_or("", |(_, rest)| rest);
        } else if after.starts_with('r') && !is_word && after[1 + hashes..].starts_with('"') {
            let text = &after[hashes + 2..];
            let end = format!("\"{}", "#".repeat(hashes));
            let (text, behind) = text.split_once(&end).unwrap_or((text, ""));
            found.extend(text.lines().map(str::to_owned));
            rest = behind;
        } else if let Some(text) = after.strip_prefix('"') {
            let (text, behind) = escaped(text);
            found.extend(text.lines().map(str::to_owned));
            rest = behind;
        } else if after.starts_with("'\\") {
            rest = after[3..].split_once('\'').map_or("", |(_, rest)| rest);
        } else if after.starts_with('\'') && after.chars().nth(2) == Some('\'') {
            rest = after.splitn(3, '\'').nth(2).unwrap_or_default();
        } else {
            rest = &after[1..];
        }
    }
    found
}

/// The text up to the quotation mark that ends it, and the source behind that.
fn escaped(source: &str) -> (String, &str) {
    let (mut text, mut rest) = (String::new(), source);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '"' => break,
            '\\' => {
                let escape = rest.chars().next().unwrap_or_default();
                rest = rest.get(escape.len_utf8()..).unwrap_or_default();
                match escape {
                    '\n' => rest = rest.trim_start(),
                    'n' => text.push('\n'),
                    other => text.push(other),
                }
            }
            other => text.push(other),
        }
    }
    (text, rest)
}

fn without_tests(source: &str) -> String {
    let end = source.find("#[cfg(test)]\nmod tests {");
    source[..end.unwrap_or(source.len())].to_owned()
}

fn is_of_the_product(path: &Path) -> bool {
    let folders = ["crates", "core", "io", "tools"];
    let mut parts = path.iter().skip_while(|part| *part != "crates");
    let mut parts = parts
        .by_ref()
        .skip_while(|part| folders.iter().any(|folder| part == folder));
    let is_told = parts
        .next()
        .is_some_and(|name| !WITHOUT_MESSAGES.iter().any(|without| name == *without));
    is_told
        && parts.next().is_some_and(|folder| folder == "src")
        && !path.ends_with("tests.rs")
        && parts.all(|part| part != "tests")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the project is there")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}
