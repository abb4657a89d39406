//! Finds channels, and collections behind a lock, in a source file.

use std::collections::{BTreeMap, BTreeSet};

/// Functions of [`MODULES`] that create channels.
const MAKERS: [&str; 5] = [
    "channel",
    "sync_channel",
    "bounded",
    "unbounded",
    "unbounded_channel",
];

const MODULES: [&str; 11] = [
    "mpsc",
    "mpmc",
    "oneshot",
    "broadcast",
    "watch",
    "channel",
    "crossbeam_channel",
    "flume",
    "async_channel",
    "kanal",
    "thingbuf",
];

/// Types that are queues between threads.
const QUEUES: [&str; 3] = ["SegQueue", "ArrayQueue", "ConcurrentQueue"];

const LOCKS: [&str; 3] = ["Mutex", "RwLock", "ReentrantLock"];

const ENDS: [&str; 4] = ["Sender", "SyncSender", "UnboundedSender", "Receiver"];

/// Collections with removal at an end.
const ENDED: [&str; 3] = ["VecDeque", "BinaryHeap", "LinkedList"];

/// The queues of a source, in words.
pub fn queues_in(source: &str) -> Vec<String> {
    let tokens = tokens(without_tests(source));
    let (imports, code) = imports(&tokens);
    let mut found = channels(&code, &imports);
    found.extend(behind_locks(&code, &imports));
    found
}

/// Removes a test module at the end of the file.
fn without_tests(source: &str) -> &str {
    let mut from = 0;
    while let Some(place) = source[from..].find("#[cfg(test)]") {
        let rest = &source[from + place..];
        let module = rest["#[cfg(test)]".len()..].trim_start();
        let opens = module.find(['{', ';']).map(|at| module.as_bytes()[at]);
        if module.starts_with("mod ") && opens == Some(b'{') {
            return &source[..from + place];
        }
        from += place + 1;
    }
    source
}

/// Identifiers and punctuation, without comments, strings and lifetimes.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first == '"' {
            text_length(rest)
        } else if first == '\'' {
            character_length(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let end = |sign: char| !(sign.is_alphanumeric() || sign == '_');
            let length = rest.find(end).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn text_length(text: &str) -> usize {
    let mut escaped = false;
    for (place, sign) in text.char_indices().skip(1) {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of `'x'` or `'\n'`; of a lifetime only the quote.
fn character_length(text: &str) -> usize {
    let signs: Vec<(usize, char)> = text.char_indices().take(12).collect();
    match signs.as_slice() {
        [_, (_, '\\'), _, rest @ ..] => rest
            .iter()
            .find(|(_, sign)| *sign == '\'')
            .map_or(1, |(place, _)| place + 1),
        [_, _, (place, '\''), ..] => place + 1,
        _ => 1,
    }
}

/// Meanings of imported names, and the tokens without `use`.
fn imports(tokens: &[String]) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let (mut names, mut code) = (BTreeMap::new(), Vec::new());
    let mut place = 0;
    while place < tokens.len() {
        if tokens[place] == "use" {
            place = import(tokens, place + 1, &mut Vec::new(), &mut names) + 1;
        } else {
            code.push(tokens[place].clone());
            place += 1;
        }
    }
    (names, code)
}

/// Parses one tree of a `use` after `path`; returns the position of the closing token.
fn import(
    tokens: &[String],
    mut place: usize,
    path: &mut Vec<String>,
    names: &mut BTreeMap<String, Vec<String>>,
) -> usize {
    let depth = path.len();
    let mut name = None;
    while let Some(token) = tokens.get(place) {
        match token.as_str() {
            "::" => {}
            "{" => {
                loop {
                    place = import(tokens, place + 1, path, names);
                    if tokens.get(place).is_none_or(|token| token != ",") {
                        break;
                    }
                }
                path.truncate(depth);
                return place + 1;
            }
            "*" => {
                for maker in MAKERS {
                    let whole = path.iter().cloned().chain([maker.to_owned()]);
                    names.insert(maker.to_owned(), whole.collect());
                }
                path.truncate(depth);
                return place + 1;
            }
            "as" => {
                name = tokens.get(place + 1).cloned();
                place += 1;
            }
            "self" if !path.is_empty() => {}
            "," | "}" | ";" => break,
            segment => path.push(segment.to_owned()),
        }
        place += 1;
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        names.insert(name, path.clone());
    }
    path.truncate(depth);
    place
}

fn channels(code: &[String], imports: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut found = Vec::new();
    let mut place = 0;
    while place < code.len() {
        let before = place.checked_sub(1).map_or("", |before| code[before].as_str());
        let path = path_at(code, place);
        place += path.len().max(1) * 2 - 1;
        if path.is_empty() || matches!(before, "." | "fn" | "::") {
            continue;
        }
        let whole = resolved(&path, imports);
        let [.., module, last] = whole.as_slice() else {
            continue;
        };
        let is_channel = MAKERS.contains(&last.as_str()) && MODULES.contains(&module.as_str());
        if is_channel || QUEUES.contains(&last.as_str()) {
            found.push(whole.join("::"));
        }
    }
    found
}

/// Segments of the path at `place`.
fn path_at(code: &[String], place: usize) -> Vec<&str> {
    let is_name = |token: &str| token.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
    let mut path = Vec::new();
    let mut at = place;
    while let Some(token) = code.get(at).filter(|token| is_name(token)) {
        path.push(token.as_str());
        if code.get(at + 1).is_none_or(|sign| sign != "::") {
            break;
        }
        at += 2;
    }
    path
}

fn resolved(path: &[&str], imports: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let first = imports.get(path[0]).cloned();
    let first = first.unwrap_or_else(|| vec![path[0].to_owned()]);
    first
        .into_iter()
        .chain(path[1..].iter().map(|segment| (*segment).to_owned()))
        .collect()
}

fn behind_locks(code: &[String], imports: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let is_lock = |token: &String| {
        let name = imports.get(token).and_then(|path| path.last()).unwrap_or(token);
        LOCKS.contains(&name.as_str())
    };
    let shared = collections_of_names(code);
    let mut typed = BTreeSet::new();
    let mut made = BTreeSet::new();
    for place in (0..code.len()).filter(|place| is_lock(&code[*place])) {
        let inside = between(&code[place + 1..], "<", ">");
        let holds = inside.iter().any(|token| {
            token == "Vec" || ENDED.contains(&token.as_str()) || shared.contains(token.as_str())
        });
        // A lock around a channel end, which is found anyway.
        let is_end = inside.iter().any(|token| ENDS.contains(&token.as_str()));
        if holds && !is_end {
            typed.insert(format!("{}<{}>", code[place], inside.concat()));
        }
        if let Some([colons, new, open, kind]) = code.get(place + 1..place + 5)
            && (colons.as_str(), new.as_str(), open.as_str()) == ("::", "new", "(")
            && (kind == "Vec" || ENDED.contains(&kind.as_str()))
        {
            made.insert(format!("{}::new({kind})", code[place]));
        }
    }
    if typed.is_empty() { made } else { typed }
}

/// Names of this file for a collection, and for structures with one. With a means to wake waiting
/// threads any collection counts, otherwise only one with removal at an end.
fn collections_of_names(code: &[String]) -> BTreeSet<&str> {
    let wakes = code.iter().any(|token| token == "Condvar");
    let is_collection =
        |token: &String, any: bool| ENDED.contains(&token.as_str()) || (any && token == "Vec");
    let mut names = BTreeSet::new();
    for (place, token) in code.iter().enumerate() {
        let Some(name) = code.get(place + 1) else { break };
        let rest = &code[place + 2..];
        let holds = match token.as_str() {
            "type" => {
                let end = rest.iter().position(|token| token == ";").unwrap_or(rest.len());
                rest[..end].iter().any(|token| is_collection(token, true))
            }
            "struct" => {
                let begin = rest
                    .iter()
                    .position(|token| matches!(token.as_str(), "{" | "(" | ";"));
                let body = &rest[begin.unwrap_or(rest.len())..];
                let fields = between(body, "{", "}").iter().chain(between(body, "(", ")"));
                fields.into_iter().any(|token| is_collection(token, wakes))
            }
            _ => false,
        };
        if holds {
            names.insert(name.as_str());
        }
    }
    names
}

/// The tokens between a leading `open` and the matching `close`.
fn between<'a>(tokens: &'a [String], open: &str, close: &str) -> &'a [String] {
    if tokens.first().is_none_or(|first| first != open) {
        return &[];
    }
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate() {
        depth += i32::from(token == open) - i32::from(token == close);
        if depth == 0 {
            return &tokens[1..place];
        }
    }
    &tokens[1..]
}
