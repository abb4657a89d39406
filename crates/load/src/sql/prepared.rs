//! Statements made ready before anything runs: what of a request does not change is written once.

use super::super::QueryMode;
use super::{Dialect, mysql, postgres};
use client::session;
use script::{Placeholder, Scripts, Statement};

/// What is known of a statement before its variables have values.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    /// Its text with placeholders, where values are sent apart.
    pub text: Vec<u8>,
    /// The variables whose values are sent apart, in their order.
    pub parameters: Vec<usize>,
    /// The whole request that runs it, where nothing in it depends on a variable; of a prepared one, that which follows its
    /// preparation. Absent otherwise.
    pub fixed: Option<Vec<u8>>,
    /// What it is prepared under.
    pub name: Vec<u8>,
}

/// All statements of `scripts`, by their numbers.
pub(super) fn compile(scripts: &Scripts, dialect: Dialect, mode: QueryMode) -> Vec<Compiled> {
    let mut compiled: Vec<Compiled> = Vec::new();
    compiled.resize_with(scripts.statements(), Compiled::default);
    for statement in scripts.list().iter().flat_map(|script| script.statements()) {
        if let Some(place) = compiled.get_mut(statement.number()) {
            *place = one(statement, dialect, mode);
        }
    }
    compiled
}

fn one(statement: &Statement, dialect: Dialect, mode: QueryMode) -> Compiled {
    let placeholder = match dialect {
        Dialect::Postgres => Placeholder::Dollar,
        Dialect::Mysql => Placeholder::Question,
    };
    let mut compiled = Compiled {
        text: statement.prepared_text(placeholder).into_bytes(),
        parameters: statement.parameters().collect(),
        fixed: None,
        name: format!("longwire_{}", statement.number()).into_bytes(),
    };
    if statement.is_fixed() {
        compiled.fixed = fixed(&compiled, statement, dialect, mode);
    }
    compiled
}

fn fixed(compiled: &Compiled, statement: &Statement, dialect: Dialect, mode: QueryMode) -> Option<Vec<u8>> {
    let text = |request: &mut Vec<u8>| request.extend_from_slice(&compiled.text);
    let mut request = Vec::new();
    match (dialect, mode) {
        (Dialect::Postgres, QueryMode::Simple) => session::postgres::query(&mut request, text),
        (Dialect::Postgres, QueryMode::Extended) => {
            postgres::parse(&mut request, b"", &compiled.text);
            postgres::run(&mut request, b"", 0, |_, _| false);
        }
        (Dialect::Postgres, QueryMode::Prepared) => {
            postgres::run(&mut request, &compiled.name, 0, |_, _| false);
        }
        (Dialect::Mysql, _) if mysql::is_sent_as_text(statement, mode) => {
            session::mysql::query(&mut request, text);
        }
        // The server's number of the statement is in it.
        (Dialect::Mysql, _) => return None,
    }
    Some(request)
}
