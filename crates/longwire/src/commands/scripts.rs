//! Scripts and their protocol, as arguments of `load` and `split`.

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use load::QueryMode;
use load::script::builtin::{BUILTINS, Builtin};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// As text with the values in it.
    Simple,
    /// Parse and bind on every execution.
    Extended,
    /// Prepare once, then only execute.
    Prepared,
}

impl Mode {
    pub fn query_mode(self) -> QueryMode {
        match self {
            Self::Simple => QueryMode::Simple,
            Self::Extended => QueryMode::Extended,
            Self::Prepared => QueryMode::Prepared,
        }
    }

    /// The word of pgbench.
    pub fn word(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

/// The built-in script with this name, or with a name that begins so.
///
/// # Errors
/// When there is none, or more than one.
pub fn builtin(name: &str) -> Result<Builtin> {
    Builtin::named(name).ok_or_else(|| {
        let known: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        let fault = match known.iter().filter(|known| known.starts_with(name)).count() {
            2.. if !name.is_empty() => "fits more than one built-in script",
            _ => "is no built-in script",
        };
        anyhow!("'{name}' {fault}: there are {}", known.join(", "))
    })
}

/// `NAME@WEIGHT`, or a name alone.
///
/// # Errors
/// When the weight is not a whole number.
pub fn weighted(word: &str) -> Result<(&str, u32)> {
    match word.rsplit_once('@') {
        None => Ok((word, 1)),
        Some((name, weight)) => {
            let weight = weight.parse().ok().with_context(|| {
                format!("'{weight}' is no weight of {name}: write a whole number, such as {name}@3")
            })?;
            Ok((name, weight))
        }
    }
}
