//! The text of a command: its name, the collection, and the names of its filter, without any value.

use super::bson::{Element, Elements, elements, kind};
use super::commands::{Filter, Known};

#[derive(Debug, Clone, Copy)]
pub(super) struct Command<'a> {
    /// The document with the name of the command.
    pub(super) body: &'a [u8],
    /// The first document of `updates` or `deletes`, if it is in a section of its own.
    pub(super) first_write: Option<&'a [u8]>,
}

impl<'a> Command<'a> {
    fn field(&self, name: &str) -> Option<Element<'a>> {
        elements(self.body).find(|element| element.name == name.as_bytes())
    }

    fn fields(&self, names: [&str; 2]) -> [Option<Element<'a>>; 2] {
        let mut found = [None; 2];
        for element in elements(self.body) {
            for (place, name) in found.iter_mut().zip(names) {
                if element.name == name.as_bytes() {
                    place.get_or_insert(element);
                }
            }
        }
        found
    }

    /// Field names of a value that looks for documents.
    fn filter(&self, filter: Filter, field: Option<Element<'a>>) -> Option<Element<'a>> {
        match filter {
            Filter::Nothing | Filter::Pipeline => None,
            Filter::Field(_) => field,
            Filter::Writes(_) => {
                let inline = || elements(field?.value).next().map(|first| first.value);
                let first = self.first_write.or_else(inline)?;
                elements(first).find(|element| element.name == b"q")
            }
        }
    }
}

pub(super) fn write(
    command: Command<'_>,
    first: Option<Element<'_>>,
    known: Option<&Known>,
    text: &mut Vec<u8>,
) {
    let name = first.map_or(&b""[..], |first| first.name);
    word(name, text);
    let Some(known) = known else { return };
    let collection = known.collection.and_then(|field| match field {
        "" => first?.text(),
        field => command.field(field)?.text(),
    });
    if let Some(collection) = collection {
        text.push(b' ');
        word(collection, text);
    }
    if name == b"distinct"
        && let Some(key) = command.field("key").and_then(|key| key.text())
    {
        text.push(b' ');
        word(key, text);
    }
    let [field, comment] = command.fields([known.filter.field(), "comment"]);
    if let Some(pipeline) = field.filter(|_| known.filter == Filter::Pipeline) {
        text.push(b' ');
        list(elements(pipeline.value), Of::Stages, text);
    }
    if let Some(filter) = command
        .filter(known.filter, field)
        .filter(|filter| filter.length > EMPTY)
    {
        text.push(b' ');
        document(filter.value, MAX_DEPTH, text);
    }
    write_comment(comment, text);
}

/// Writes a filter as `{age, name $gt, $or [{a}, {b}]}`.
fn document(bytes: &[u8], depth: u32, text: &mut Vec<u8>) {
    text.push(b'{');
    for (place, element) in elements(bytes).enumerate() {
        if text.len() > MAX_TEXT {
            text.extend_from_slice(b"...");
            break;
        }
        if place > 0 {
            text.extend_from_slice(b", ");
        }
        word(element.name, text);
        condition(element, depth, text);
    }
    text.push(b'}');
}

/// The operators behind a name, with their conditions.
fn condition(element: Element<'_>, depth: u32, text: &mut Vec<u8>) {
    let of_operators = || {
        elements(element.value)
            .next()
            .is_some_and(|first| first.name.starts_with(b"$"))
    };
    let holds_conditions = HOLDS_CONDITIONS.contains(&element.name);
    match element.kind {
        _ if depth == 0 => {}
        kind::ARRAY if holds_conditions => {
            text.push(b' ');
            list(elements(element.value), Of::Filters { depth: depth - 1 }, text);
        }
        kind::DOCUMENT if holds_conditions && !of_operators() => {
            text.push(b' ');
            document(element.value, depth - 1, text);
        }
        kind::DOCUMENT if of_operators() => {
            for operator in elements(element.value) {
                if text.len() > MAX_TEXT {
                    return;
                }
                text.push(b' ');
                word(operator.name, text);
                condition(operator, depth - 1, text);
            }
        }
        _ => {}
    }
}

#[derive(Debug, Clone, Copy)]
enum Of {
    Stages,
    Filters { depth: u32 },
}

/// Equal neighbours are written once: their number is data.
fn list(parts: Elements<'_>, of: Of, text: &mut Vec<u8>) {
    text.push(b'[');
    let (mut before, mut is_first) = (text.len(), true);
    for part in parts {
        if text.len() > MAX_TEXT {
            text.extend_from_slice(b"...");
            break;
        }
        let start = text.len();
        if !is_first {
            text.extend_from_slice(b", ");
        }
        let begin = text.len();
        match of {
            Of::Filters { depth } => document(part.value, depth, text),
            Of::Stages => stage(part, text),
        }
        if !is_first && text.get(before..start) == text.get(begin..) {
            text.truncate(start);
        } else {
            before = begin;
        }
        is_first = false;
    }
    text.push(b']');
}

fn stage(stage: Element<'_>, text: &mut Vec<u8>) {
    let Some(first) = elements(stage.value).next().filter(|_| stage.is_nested()) else {
        return;
    };
    word(first.name, text);
    if first.name == b"$match" && first.length > EMPTY {
        text.push(b' ');
        document(first.value, MAX_DEPTH, text);
    }
}

/// A name as a word. Other bytes than those of words are data.
pub(super) fn word(name: &[u8], text: &mut Vec<u8>) {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$.-".contains(byte);
    match (1..=MAX_WORD).contains(&name.len()) && name.iter().all(allowed) {
        true => text.extend_from_slice(name),
        false => text.push(b'?'),
    }
}

/// The comment of the command as one of SQL, so that its tags are read.
fn write_comment(comment: Option<Element<'_>>, text: &mut Vec<u8>) {
    let comment = comment.and_then(|comment| comment.text());
    let ends_early = |comment: &[u8]| comment.windows(2).any(|pair| pair == b"*/" || pair == b"/*");
    if let Some(comment) = comment.filter(|comment| comment.len() <= MAX_COMMENT && !ends_early(comment)) {
        text.extend_from_slice(b" /*");
        text.extend_from_slice(comment);
        text.extend_from_slice(b"*/");
    }
}

/// Their documents have conditions, not values.
const HOLDS_CONDITIONS: [&[u8]; 5] = [b"$and", b"$or", b"$nor", b"$not", b"$elemMatch"];
const EMPTY: u64 = 5;
const MAX_DEPTH: u32 = 6;
const MAX_TEXT: usize = 1024;
const MAX_WORD: usize = 64;
const MAX_COMMENT: usize = 1024;
