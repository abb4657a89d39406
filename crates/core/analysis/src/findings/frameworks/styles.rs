//! Styles of frameworks in fingerprints: quotes, aliases and casts. The case of keywords and the
//! literals are lost.

use super::Framework;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Sign {
    Sure(Framework),
    Typical(Framework),
}

pub(super) fn sign(fingerprint: &str) -> Option<Sign> {
    let words: Vec<&str> = Words(fingerprint).collect();
    let sure = [
        (is_hibernate as fn(&str, &[&str]) -> bool, Framework::Hibernate),
        (is_prisma, Framework::Prisma),
        (is_active_record, Framework::ActiveRecord),
        (is_sequelize, Framework::Sequelize),
        (is_sqlalchemy, Framework::SqlAlchemy),
        (is_django, Framework::Django),
    ];
    let typical = [
        (
            asks_for_whole_rows as fn(&[&str]) -> bool,
            Framework::ActiveRecord,
        ),
        (renames_after_tables, Framework::SqlAlchemy),
        (qualifies_in_quotes, Framework::Django),
    ];
    let sure = sure.iter().find(|(shows, _)| shows(fingerprint, &words));
    let typical = || typical.iter().find(|(shows, _)| shows(&words));
    sure.map(|(_, framework)| Sign::Sure(*framework))
        .or_else(|| typical().map(|(_, framework)| Sign::Typical(*framework)))
}

/// Matches `a1_0.id ... author a1_0` (6) and `author0_.id as id1_0_ ... author author0_` (5).
fn is_hibernate(_: &str, words: &[&str]) -> bool {
    let is_alias = |word: &str| !word.contains('.') && (is_alias_of_6(word) || is_alias_of_5(word));
    words.windows(2).any(|pair| {
        let introduces = ["from", "join", "as", "update", "into"].contains(&pair[0]);
        !introduces && is_alias(pair[1]) && words.iter().any(|word| qualifier(word) == Some(pair[1]))
    })
}

fn is_alias_of_6(word: &str) -> bool {
    let (head, number) = word.rsplit_once('_').unwrap_or_default();
    let letters = head.trim_end_matches(|letter: char| letter.is_ascii_digit());
    !letters.is_empty() && letters.len() < head.len() && is_number(number) && is_plain(letters)
}

fn is_alias_of_5(word: &str) -> bool {
    let head = word.strip_suffix('_').unwrap_or_default();
    head.ends_with(|letter: char| letter.is_ascii_digit())
        && head.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Columns of three quoted parts with `?=?` for `1=1` or a neutral `offset`; relations loaded by a
/// join.
fn is_prisma(fingerprint: &str, words: &[&str]) -> bool {
    let first = words
        .get(1)
        .map_or(0, |word| parts(word).filter(|part| is_quoted(part)).count());
    fingerprint.contains("__prisma_data__")
        || (first == 3 && (fingerprint.contains("?=?") || fingerprint.contains(" offset ?")))
}

/// `as t0_r0` of an eager load, `select ? as one from "t"`, Rails' own tables.
fn is_active_record(fingerprint: &str, words: &[&str]) -> bool {
    let asks_for_one = words.starts_with(&["select", "?", "as", "one", "from"]);
    (asks_for_one && words.get(5).is_some_and(|table| is_quoted(table)))
        || words.windows(2).any(|pair| pair == ["as", "t0_r0"])
        || fingerprint.contains("ar_internal_metadata")
}

/// `"Users" as "User"`, the table and its model, or `"User"."id" as "User.id"`.
fn is_sequelize(_: &str, words: &[&str]) -> bool {
    words
        .windows(4)
        .any(|four| four[0] == "from" && four[2] == "as" && is_plural_of(four[1], four[3]))
        || words.windows(3).any(|three| {
            let (column, alias) = (unquoted(three[0]), unquoted(three[2]));
            three[1] == "as" && is_quoted(three[0]) && alias.contains('.') && alias == column
        })
}

fn is_plural_of(table: &str, model: &str) -> bool {
    let (table, model) = (unquoted(table), unquoted(model));
    let stem = model.strip_suffix('y').unwrap_or(&model);
    model.len() >= 2 && !table.contains('.') && table.len() > stem.len() && table.starts_with(stem) && {
        let end = &table[stem.len()..];
        ["s", "es", "ies"].contains(&end)
    }
}

/// A parameter cast to a type in capitals with qualified columns, `authors as authors_1`, `as
/// count_1`, SQLAlchemy's own names, or the dialect's first queries.
fn is_sqlalchemy(fingerprint: &str, words: &[&str]) -> bool {
    let numbered = |name: &str, alias: &str| {
        let number = alias.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
        number.is_some_and(is_number)
    };
    let casts = fingerprint.match_indices("?::").any(|(at, cast)| {
        let kind = fingerprint[at + cast.len()..]
            .bytes()
            .take_while(|byte| byte.is_ascii_alphabetic());
        let letters: Vec<u8> = kind.collect();
        letters.len() > 2 && letters.iter().all(u8::is_ascii_uppercase)
    });
    words
        .windows(3)
        .any(|three| three[1] == "as" && !is_quoted(three[0]) && numbered(three[0], three[2]))
        || words
            .windows(2)
            .any(|pair| pair == ["as", "anon_1"] || pair == ["as", "count_1"] || pair == ["as", "imp_sen"])
        || (casts && names_tables(words))
        || fingerprint == "select pg_catalog.version()"
}

fn names_tables(words: &[&str]) -> bool {
    let tables = words
        .windows(2)
        .filter(|pair| ["from", "update", "into"].contains(&pair[0]));
    let mut tables = tables.map(|pair| pair[1]);
    tables.any(|table| is_plain(table) && words.iter().any(|word| qualifier(word) == Some(table)))
}

/// `as "__count"`, `select ? as "a"`, a bracketed join condition with quoted columns, `returning
/// "t"."c"`, Django's own tables.
fn is_django(fingerprint: &str, words: &[&str]) -> bool {
    let has_join = words.contains(&"join") && words.contains(&"on");
    let in_brackets = [" on (\"", " on (`"]
        .iter()
        .any(|text| fingerprint.contains(text));
    let returns = words.iter().position(|&word| word == "returning");
    let returned = returns.and_then(|at| words.get(at + 1));
    let own = ["\"django_", "`django_", " as \"__count\"", " as `__count`"];
    own.iter().any(|text| fingerprint.contains(text))
        || (words.starts_with(&["select", "?", "as"])
            && words
                .get(3)
                .is_some_and(|word| unquoted(word) == "a" && is_quoted(word)))
        || (has_join && in_brackets && has_quoted_columns(words))
        || returned.is_some_and(|word| is_quoted(word) && parts(word).count() == 2)
}

/// `select "users".* from "users"`.
fn asks_for_whole_rows(words: &[&str]) -> bool {
    let [select, columns, from, table, ..] = words else {
        return false;
    };
    (*select, *from) == ("select", "from") && is_quoted(table) && columns.strip_suffix(".*") == Some(table)
}

/// `select books.id as books_id, books.title as books_title`: all columns, at least two.
fn renames_after_tables(words: &[&str]) -> bool {
    let Some(columns) = selected(words) else {
        return false;
    };
    columns.len() >= 6
        && columns.len().is_multiple_of(3)
        && columns.chunks(3).all(|column| {
            let [name, "as", alias] = column else { return false };
            // Not an alias of one letter, which people write too.
            qualifier(name).is_some_and(|table| table.len() > 2) && name.replace('.', "_") == *alias
        })
}

/// `select "t"."a", "t"."b" from "t"`: all columns, at least two, in a table with the application's
/// prefix.
fn qualifies_in_quotes(words: &[&str]) -> bool {
    has_quoted_columns(words)
        && words
            .windows(2)
            .any(|pair| pair[0] == "from" && is_quoted(pair[1]) && pair[1].contains('_'))
        && !words.contains(&"as")
}

fn has_quoted_columns(words: &[&str]) -> bool {
    let Some(columns) = selected(words) else {
        return false;
    };
    columns.len() >= 2
        && columns
            .iter()
            .all(|word| is_quoted(word) && parts(word).count() == 2 && !word.ends_with('*'))
}

fn selected<'w, 't>(words: &'w [&'t str]) -> Option<&'w [&'t str]> {
    let from = words.iter().position(|&word| word == "from")?;
    (words.first() == Some(&"select")).then(|| words.get(1..from))?
}

fn qualifier(word: &str) -> Option<&str> {
    let (table, column) = word.split_once('.')?;
    (!column.contains('.')).then_some(table)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_plain(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_alphabetic()) && !word.contains(['.', '"', '`'])
}

fn is_quoted(word: &str) -> bool {
    word.starts_with(['"', '`'])
}

fn unquoted(word: &str) -> String {
    word.replace(['"', '`'], "")
}

fn parts(word: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    word.split(move |letter: char| {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '`') => quote = Some(letter),
            _ => {}
        }
        quote.is_none() && letter == '.'
    })
}

/// Names, keywords and placeholders; quoted names are not split.
struct Words<'t>(&'t str);

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0.trim_start_matches(is_between);
        let mut quote = None;
        let end = text.find(|letter: char| {
            match (quote, letter) {
                (Some(open), _) if open == letter => quote = None,
                (None, '"' | '`') => quote = Some(letter),
                _ => {}
            }
            quote.is_none() && is_between(letter)
        });
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

const fn is_between(letter: char) -> bool {
    matches!(
        letter,
        ' ' | ',' | '(' | ')' | '=' | ';' | ':' | '<' | '>' | '!' | '+' | '-' | '|' | '/'
    )
}
