//! Statements: text with variables in it.

use super::names::Names;
use super::{Fault, QueryMode};
use std::sync::Arc;

/// A statement, or several combined by `\;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub(super) number: usize,
    pub(super) line: usize,
    pub(super) parts: Vec<Part>,
    pub(super) combined: bool,
    pub(super) keep: Option<Keep>,
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Variable {
        variable: usize,
        /// As it stands in the text, colon included: what is sent when it has no value.
        name: Arc<str>,
        /// Within quotes or a comment, where a parameter does not reach.
        quoted: bool,
    },
}

/// What happens to a statement's results: variables, named by this and the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// `\gset`: of the last statement, which must give one row.
    One {
        /// What names begin with.
        prefix: String,
    },
    /// `\aset`: of every statement combined, the last row; no row, no variable.
    All {
        /// What names begin with.
        prefix: String,
    },
}

/// How the place of a parameter is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// `$1`, `$2`: PostgreSQL's.
    Dollar,
    /// `?`: MySQL's.
    Question,
}

impl Statement {
    /// Which, from 0, among all statements of all scripts: what it is prepared under.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The line of its script in which it begins, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whether it is the same each time: no variable is in it.
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// What happens to its results; `None` if they are only counted.
    pub fn keep(&self) -> Option<&Keep> {
        self.keep.as_ref()
    }

    /// Its text with a placeholder for each parameter, for modes that send values separately.
    pub fn prepared_text(&self, placeholder: Placeholder) -> String {
        let mut text = String::new();
        let mut parameters = 0;
        for part in &self.parts {
            match (part, placeholder) {
                (Part::Text(plain), _) => text.push_str(plain),
                (
                    Part::Variable {
                        name, quoted: true, ..
                    },
                    _,
                ) => text.push_str(name),
                (Part::Variable { .. }, Placeholder::Question) => text.push('?'),
                (Part::Variable { .. }, Placeholder::Dollar) => {
                    parameters += 1;
                    text.push_str(&format!("${parameters}"));
                }
            }
        }
        text
    }

    /// Its text as the script has it, for reports.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(plain) => plain.as_str(),
                Part::Variable { name, .. } => name,
            })
            .collect()
    }

    /// The variables whose values fill the placeholders, in their order; for [`super::Values::parameter`].
    pub fn parameters(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable {
                variable,
                quoted: false,
                ..
            } => Some(*variable),
            Part::Text(_) | Part::Variable { quoted: true, .. } => None,
        })
    }

    pub(super) fn check(&self, mode: QueryMode, names: &Names) -> Result<(), Fault> {
        if mode == QueryMode::Simple {
            return Ok(());
        }
        if self.combined {
            return Err(Fault::Combined);
        }
        for part in &self.parts {
            match part {
                Part::Variable {
                    variable,
                    quoted: true,
                    ..
                } if names.may_be_set(*variable) => {
                    return Err(Fault::Quoted(names.name(*variable).to_owned()));
                }
                Part::Text(_) | Part::Variable { .. } => {}
            }
        }
        Ok(())
    }
}

impl Keep {
    /// What names of variables begin with; the column's follows.
    pub fn prefix(&self) -> &str {
        match self {
            Self::One { prefix } | Self::All { prefix } => prefix,
        }
    }
}
