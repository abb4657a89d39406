use super::names::Names;
use super::{Fault, QueryMode};
use std::sync::Arc;

/// One statement, or several combined by `\;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub(super) number: usize,
    pub(super) line: usize,
    pub(super) parts: Vec<Part>,
    pub(super) combined: bool,
    pub(super) keep: Option<Keep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Variable {
        variable: usize,
        /// With the colon, to be sent unchanged if the variable has no value.
        name: Arc<str>,
        /// Within quotes or a comment, where parameters have no effect.
        quoted: bool,
    },
}

/// Storage of results in variables, named by prefix and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// `\gset` keeps the last statement's single row.
    One { prefix: String },
    /// `\aset` keeps the last row of every combined statement; without a row, variables stay unset.
    All { prefix: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// PostgreSQL's `$1` and `$2`.
    Dollar,
    Question,
}

impl Statement {
    /// Index among the statements of all scripts; part of the prepared name.
    pub fn number(&self) -> usize {
        self.number
    }

    /// First line in the script, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whether the statement contains no variable.
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// `None` if results are only counted.
    pub fn keep(&self) -> Option<&Keep> {
        self.keep.as_ref()
    }

    /// Text with a placeholder per parameter, for modes with separate values.
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

    /// Text as in the script, for reports.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(plain) => plain.as_str(),
                Part::Variable { name, .. } => name,
            })
            .collect()
    }

    /// Variables of the placeholders in order, for [`super::Values::parameter`].
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
    pub fn prefix(&self) -> &str {
        match self {
            Self::One { prefix } | Self::All { prefix } => prefix,
        }
    }
}
