//! The language of comments and names: counts that may only fall. A commit that lowers one lowers
//! its ceiling here.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum occurrences per 100,000 words of comments; phrases in one row count together.
const PHRASES: [(&[&str], usize); 12] = [
    (&["what"], 23),
    (&["whose"], 12),
    (&["absent"], 0),
    (&["under way"], 0),
    (&["asked for"], 1),
    (&["that which", "the one that"], 3),
    (&["whatever"], 0),
    (&["hands out", "handed out", "hand out", "handing out"], 0),
    (&["gives"], 9),
    (&["owed", "owes"], 0),
    (&["is told", "are told", "tells of"], 1),
    (&["looked at"], 0),
];

/// Maximum numbers over all crates.
const ITEMS: [(&str, usize); 5] = [
    ("comment lines over 110 characters", 1),
    ("sentences of documentation of three words or fewer", 972),
    (
        "constants called MOST, LEAST, LONGEST, SHORTEST, PATIENCE or LOOK",
        1,
    ),
    ("functions called of, take, look, ask, tell or note", 0),
    ("words of comments", 174_600),
];

/// A ceiling this many percent above its count must be lowered.
const SLACK_PERCENT: usize = 2;

const MAX_COMMENT_LINE: usize = 110;
const SHORT_SENTENCE_WORDS: usize = 3;
const CONSTANT_WORDS: [&str; 7] = [
    "MOST", "LEAST", "LONGEST", "SHORTEST", "PATIENCE", "LOOK", "LOOKS",
];
const FUNCTION_NAMES: [&str; 6] = ["of", "take", "look", "ask", "tell", "note"];

#[test]
fn the_words_of_comments_stay_below_their_ceilings() {
    let text = counted();
    let mut faults = Vec::new();
    for (phrases, ceiling) in PHRASES {
        let count = phrases.iter().map(|phrase| text.phrase(phrase)).sum::<usize>();
        faults.extend(fault(
            &phrases.join(", "),
            count * 100_000 / text.words.len(),
            ceiling,
        ));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn names_and_sentences_stay_below_their_ceilings() {
    let text = counted();
    let counts = [
        text.long_lines,
        text.short_sentences,
        text.constants,
        text.functions,
        text.words.len(),
    ];
    let faults: Vec<String> = ITEMS
        .into_iter()
        .zip(counts)
        .filter_map(|((what, ceiling), count)| fault(what, count, ceiling))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn fault(what: &str, count: usize, ceiling: usize) -> Option<String> {
    if count > ceiling {
        return Some(format!("{what}: {count}, and at most {ceiling} are allowed"));
    }
    let is_slack = (ceiling - count) * 100 > ceiling * SLACK_PERCENT + 100;
    is_slack.then(|| format!("{what}: {count}; lower the ceiling of {ceiling}"))
}

#[derive(Default)]
struct Counted {
    /// Lower case, without inline code; a full stop separates comments.
    words: Vec<String>,
    long_lines: usize,
    short_sentences: usize,
    constants: usize,
    functions: usize,
}

impl Counted {
    fn phrase(&self, phrase: &str) -> usize {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        self.words
            .windows(phrase.len())
            .filter(|words| words.iter().eq(phrase.iter()))
            .count()
    }

    fn add_file(&mut self, text: &str) {
        let (mut prose, mut documentation, mut is_code) = (String::new(), String::new(), false);
        for line in text.lines().chain([""]) {
            let comment = comment(line);
            if comment.is_some() && line.chars().count() > MAX_COMMENT_LINE {
                self.long_lines += 1;
            }
            let Some(comment) = comment else {
                self.add_code(line);
                self.add_documentation(&mut documentation);
                is_code = false;
                continue;
            };
            let words = comment.trim_start_matches(['/', '!']).trim();
            if words.starts_with("```") {
                is_code = !is_code;
                continue;
            }
            if is_code {
                continue;
            }
            prose.push_str(words);
            prose.push(' ');
            let is_documentation = comment.starts_with("///") || comment.starts_with("//!");
            if is_documentation && !words.is_empty() && !words.starts_with(['#', '|']) && !is_item(words) {
                documentation.push_str(words);
                documentation.push(' ');
            } else {
                self.add_documentation(&mut documentation);
            }
        }
        self.add_prose(&prose);
    }

    fn add_code(&mut self, line: &str) {
        self.constants += usize::from(
            constant(line).is_some_and(|name| name.split('_').any(|word| CONSTANT_WORDS.contains(&word))),
        );
        let names = line
            .match_indices("fn ")
            .filter(|(at, _)| !line[..*at].ends_with(|last: char| last.is_alphanumeric()));
        self.functions += names
            .filter(|(at, _)| FUNCTION_NAMES.contains(&identifier(&line[at + 3..])))
            .count();
    }

    fn add_documentation(&mut self, text: &mut String) {
        let ends = |pair: &(usize, &str)| pair.1.ends_with(['.', ':', ';', '?', '!']);
        let mut begin = 0;
        let words: Vec<&str> = text.split_whitespace().collect();
        for (at, _) in words.iter().copied().enumerate().filter(ends) {
            self.short_sentences += usize::from(at + 1 - begin <= SHORT_SENTENCE_WORDS);
            begin = at + 1;
        }
        self.short_sentences += usize::from((1..=SHORT_SENTENCE_WORDS).contains(&(words.len() - begin)));
        text.clear();
    }

    fn add_prose(&mut self, prose: &str) {
        let outside_code = prose
            .split('`')
            .step_by(2)
            .collect::<Vec<&str>>()
            .join(" ")
            .to_lowercase();
        let letters = |letter: char| !letter.is_ascii_lowercase() && letter != '\'';
        self.words.extend(
            outside_code
                .split(letters)
                .filter(|word| !word.is_empty())
                .map(str::to_owned),
        );
    }
}

fn is_item(words: &str) -> bool {
    words.starts_with("- ") || words.starts_with("* ")
}

/// The comment of a line with slashes, also after code.
fn comment(line: &str) -> Option<&str> {
    let bare = line.trim();
    if bare.starts_with("//") {
        return Some(bare);
    }
    let at = line.find(" // ")?;
    let is_inside_text = line[..at].matches('"').count() % 2 == 1;
    (!is_inside_text).then(|| &line[at + 1..])
}

fn constant(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let name = line
        .strip_prefix("const ")
        .or_else(|| line.strip_prefix("static "))?;
    let name = &name[..name.find(':')?];
    name.chars()
        .all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
        .then_some(name)
}

fn identifier(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

fn counted() -> Counted {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("it lies in crates/");
    let mut files = Vec::new();
    sources(crates, &mut files);
    assert!(files.len() > 500, "only {} sources were found", files.len());
    let mut counted = Counted::default();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        counted.add_file(&text);
    }
    counted
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
