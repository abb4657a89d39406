//! Scripts and their protocol, as arguments of `load` and `split`.

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use load::QueryMode;
use load::script::builtin::{BUILTINS, Builtin};
use load::script::{Quoting, Scripts};
use std::path::Path;
use sys::files::{MAX_SCRIPT_BYTES, read_small_text, read_text_within};

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

/// A script of a load.
pub struct Source {
    pub name: String,
    pub text: String,
    pub weight: u32,
    pub is_builtin: bool,
}

impl Source {
    /// Of `NAME@WEIGHT`.
    pub fn builtin(word: &str) -> Result<Self> {
        let (name, weight) = weighted(word)?;
        let builtin = builtin(name)?;
        Ok(Self {
            name: builtin.title.to_owned(),
            text: builtin.text.to_owned(),
            weight,
            is_builtin: true,
        })
    }

    /// Of `FILE@WEIGHT`; `-` is stdin.
    pub fn file(word: &str) -> Result<Self> {
        let (file, weight) = weighted(word)?;
        let read = match file {
            "-" => read_text_within(std::io::stdin().lock(), MAX_SCRIPT_BYTES),
            file => read_small_text(Path::new(file), MAX_SCRIPT_BYTES),
        };
        Ok(Self {
            name: file.to_owned(),
            text: read.with_context(|| format!("could not read the script {file}"))?,
            weight,
            is_builtin: false,
        })
    }

    pub fn statement(text: String) -> Self {
        Self {
            name: "--statement".to_owned(),
            text,
            weight: 1,
            is_builtin: false,
        }
    }
}

pub fn parsed(sources: &[Source], quoting: Quoting) -> Result<Scripts> {
    let mut scripts = Scripts::new(quoting);
    for source in sources {
        scripts.add(&source.name, &source.text, source.weight)?;
    }
    Ok(scripts)
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
