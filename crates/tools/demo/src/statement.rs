//! Splits a query into statements and separates session commands from SQL for the engine.

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    Begin,
    Commit,
    Rollback,
    /// `SAVEPOINT`, `RELEASE`, `ROLLBACK TO`: for the engine, inside a transaction.
    Savepoint,
    /// A session command without effect here (drivers send some on connecting), and its command
    /// tag.
    Accepted(&'static str),
    Show(&'a str),
    /// All other statements go to the engine.
    Sql,
}

/// The statements of a query without semicolons, skipping empty ones and comments.
///
/// Respects quotes, double quotes and comments, but not dollar quoting, which SQLite lacks.
pub(crate) fn statements(query: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = query;
    loop {
        let end = end_of_statement(rest);
        let (statement, tail) = rest.split_at(end);
        if words(statement).next().is_some() {
            found.push(statement.trim());
        }
        match tail.strip_prefix(';') {
            Some(next) => rest = next,
            None => return found,
        }
    }
}

pub(crate) fn command(statement: &str) -> Command<'_> {
    let mut words = words(statement);
    let Some(first) = words.next() else {
        return Command::Sql;
    };
    let second = words.next().unwrap_or_default();
    match first.to_ascii_uppercase().as_str() {
        "BEGIN" | "START" => Command::Begin,
        "COMMIT" | "END" => Command::Commit,
        "ROLLBACK" | "ABORT" if names_savepoint(second, words.next()) => Command::Savepoint,
        "ROLLBACK" | "ABORT" => Command::Rollback,
        "SAVEPOINT" | "RELEASE" => Command::Savepoint,
        "SET" => Command::Accepted("SET"),
        "RESET" => Command::Accepted("RESET"),
        "DISCARD" => Command::Accepted("DISCARD ALL"),
        "LISTEN" => Command::Accepted("LISTEN"),
        "UNLISTEN" => Command::Accepted("UNLISTEN"),
        "SHOW" => Command::Show(second),
        _ => Command::Sql,
    }
}

/// The command tag's words for an executed statement, such as `CREATE TABLE`.
pub(crate) fn tag(statement: &str) -> String {
    let mut words = words(statement).map(str::to_ascii_uppercase);
    let first = words.next().unwrap_or_default();
    match (first.as_str(), words.next()) {
        ("CREATE" | "DROP" | "ALTER", Some(second)) => format!("{first} {second}"),
        _ => first,
    }
}

fn names_savepoint(second: &str, third: Option<&str>) -> bool {
    let to = |word: &str| word.eq_ignore_ascii_case("to");
    to(second) || third.is_some_and(to)
}

/// Words of letters, digits and underscores, outside comments.
fn words(statement: &str) -> impl Iterator<Item = &str> {
    let mut rest = statement;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            if is_word(first) {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let (word, tail) = rest.split_at(end);
                rest = tail;
                return Some(word);
            }
            rest = rest.split_at(token_length(rest, first)).1;
        }
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn end_of_statement(text: &str) -> usize {
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first == ';' {
            return at;
        }
        at += token_length(&text[at..], first);
    }
    text.len()
}

/// Length of the quoted text, comment or single character at the start of `text`.
fn token_length(text: &str, first: char) -> usize {
    let through = |from: usize, mark: &str| match text.get(from..).and_then(|tail| tail.find(mark)) {
        Some(at) => from + at + mark.len(),
        None => text.len(),
    };
    match first {
        '\'' => through(1, "'"),
        '"' => through(1, "\""),
        '-' if text.starts_with("--") => through(2, "\n"),
        '/' if text.starts_with("/*") => through(2, "*/"),
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_end_a_statement() {
        let query = "select ';', \"a;b\" -- ; \n from t; /* ; */ insert into t values ('it''s;');";
        assert_eq!(
            statements(query),
            [
                "select ';', \"a;b\" -- ; \n from t",
                "/* ; */ insert into t values ('it''s;')"
            ]
        );
    }

    #[test]
    fn empty_statements_and_mere_comments_are_left_out() {
        assert_eq!(
            statements(" ; ;; -- nothing\n /* at all */ ;"),
            Vec::<&str>::new()
        );
        assert_eq!(statements("/* open"), Vec::<&str>::new());
        assert_eq!(statements("select 'open"), ["select 'open"]);
    }

    #[test]
    fn commands_are_told_from_sql() {
        assert_eq!(command("begin isolation level serializable"), Command::Begin);
        assert_eq!(command("START TRANSACTION"), Command::Begin);
        assert_eq!(command("/* x */ end"), Command::Commit);
        assert_eq!(command("ROLLBACK"), Command::Rollback);
        assert_eq!(command("rollback to savepoint s"), Command::Savepoint);
        assert_eq!(command("rollback transaction to s"), Command::Savepoint);
        assert_eq!(command("SET extra_float_digits = 3"), Command::Accepted("SET"));
        assert_eq!(command("show server_version"), Command::Show("server_version"));
        assert_eq!(command("select 'begin'"), Command::Sql);
    }

    #[test]
    fn tags_name_the_object_of_definitions() {
        assert_eq!(tag("create  table t (a int)"), "CREATE TABLE");
        assert_eq!(tag("-- first\ndelete from t"), "DELETE");
    }
}
