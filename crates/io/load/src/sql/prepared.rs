//! Statements compiled before the run: constant parts of requests are built once.

use super::super::QueryMode;
use crate::script::{Placeholder, Scripts, Statement, Values};
use client::{SqlProtocol, mysql, postgres};

#[derive(Debug, Default)]
pub(super) struct Compiled {
    /// Text with placeholders, if values are sent separately.
    pub text: String,
    pub parameters: Vec<usize>,
    /// The complete request, if it depends on no variable. For a prepared statement, the execution.
    pub fixed: Option<Vec<u8>>,
    pub name: String,
}

impl Compiled {
    /// Appends the value of parameter `place`, from 0; returns false if it is NULL.
    pub fn value(&self, values: &Values, place: usize, text: &mut Vec<u8>) -> bool {
        let variable = self.parameters.get(place);
        variable.is_some_and(|variable| values.parameter(*variable, text))
    }
}

pub(super) fn compile(scripts: &Scripts, protocol: SqlProtocol, mode: QueryMode) -> Vec<Compiled> {
    let mut compiled: Vec<Compiled> = Vec::new();
    compiled.resize_with(scripts.statements(), Compiled::default);
    for statement in scripts.list().iter().flat_map(|script| script.statements()) {
        if let Some(place) = compiled.get_mut(statement.number()) {
            *place = one(statement, protocol, mode);
        }
    }
    compiled
}

fn one(statement: &Statement, protocol: SqlProtocol, mode: QueryMode) -> Compiled {
    let placeholder = match protocol {
        SqlProtocol::Postgres => Placeholder::Dollar,
        SqlProtocol::Mysql => Placeholder::Question,
    };
    let mut compiled = Compiled {
        text: statement.prepared_text(placeholder),
        parameters: statement.parameters().collect(),
        fixed: None,
        name: format!("longwire_{}", statement.number()),
    };
    if statement.is_fixed() {
        compiled.fixed = fixed(&compiled, statement, protocol, mode);
    }
    compiled
}

fn fixed(
    compiled: &Compiled,
    statement: &Statement,
    protocol: SqlProtocol,
    mode: QueryMode,
) -> Option<Vec<u8>> {
    let text = |request: &mut Vec<u8>| request.extend_from_slice(compiled.text.as_bytes());
    let mut request = Vec::new();
    match (protocol, mode) {
        (SqlProtocol::Postgres, QueryMode::Simple) => postgres::query(&mut request, text),
        (SqlProtocol::Postgres, QueryMode::Extended) => {
            postgres::parse(&mut request, "", &compiled.text);
            run_portal(&mut request, "", 0, |_, _| false);
        }
        (SqlProtocol::Postgres, QueryMode::Prepared) => {
            run_portal(&mut request, &compiled.name, 0, |_, _| false);
        }
        (SqlProtocol::Mysql, _) if is_sent_as_text(statement, mode) => {
            mysql::query(&mut request, text);
        }
        // The request contains the server's number.
        (SqlProtocol::Mysql, _) => return None,
    }
    Some(request)
}

/// Appends the execution of PostgreSQL's statement `name` as in libpq: `Bind`, `Describe` and
/// `Execute` of the unnamed portal. For `value` see [`postgres::bind`].
pub(super) fn run_portal(
    request: &mut Vec<u8>,
    name: &str,
    parameters: usize,
    value: impl FnMut(usize, &mut Vec<u8>) -> bool,
) {
    let parameters = u16::try_from(parameters).unwrap_or(u16::MAX);
    // One format for all columns: text.
    postgres::bind(request, ["", name], parameters, value, &[0]);
    postgres::describe_portal(request, "");
    postgres::execute(request, "", 0);
}

/// Whether MySQL receives a statement as text: in simple mode, and for kept results, which are read
/// as text.
pub(super) fn is_sent_as_text(statement: &Statement, mode: QueryMode) -> bool {
    mode == QueryMode::Simple || statement.keep().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_runs_with_its_values_as_text() {
        let mut request = Vec::new();
        run_portal(&mut request, "s1", 2, |place, text| {
            text.extend_from_slice(b"42");
            place == 0
        });
        let bind = b"B\0\0\0\x1a\0s1\0\0\0\0\x02\0\0\0\x0242\xff\xff\xff\xff\0\x01\0\0";
        assert_eq!(request.get(..bind.len()), Some(&bind[..]));
        assert_eq!(
            request.get(bind.len()..),
            Some(&b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0"[..])
        );
    }
}
