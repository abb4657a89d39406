//! Names of variables, shared by all scripts of a run.

use super::Fault;
use super::expression::Expression;
use std::collections::HashMap;

/// Every name that a script uses or sets, and its number.
#[derive(Debug, Clone)]
pub(super) struct Names {
    list: Vec<Name>,
    numbers: HashMap<String, usize>,
    /// The prefix that `\gset` and `\aset` put before names of columns.
    prefixes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Name {
    text: String,
    /// Something gives it a value.
    set: bool,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            list: Vec::new(),
            numbers: HashMap::new(),
            prefixes: Vec::new(),
        };
        for name in ["client_id", "default_seed", "random_seed", "scale"] {
            let number = names.used(name);
            names.list[number].set = true;
        }
        names
    }
}

impl Names {
    pub const CLIENT_ID: usize = 0;
    pub const DEFAULT_SEED: usize = 1;
    pub const RANDOM_SEED: usize = 2;
    pub const SCALE: usize = 3;

    /// The number of a name that occurs somewhere.
    pub fn used(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.list.len();
        self.list.push(Name {
            text: name.to_owned(),
            set: false,
        });
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of a name that gets a value.
    pub fn given(&mut self, name: &str) -> Result<usize, Fault> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii();
        if name.is_empty()
            || name.starts_with(|first: char| first.is_ascii_digit())
            || !name.chars().all(fits)
        {
            return Err(Fault::Name(name.to_owned()));
        }
        let number = self.used(name);
        if let Some(entry) = self.list.get_mut(number) {
            entry.set = true;
        }
        Ok(number)
    }

    /// Names that begin with `prefix` may get a value.
    pub fn begin_with(&mut self, prefix: &str) -> Result<(), Fault> {
        if !prefix.is_empty() {
            // Only looked at: the column's name is still to come.
            self.clone().given(prefix)?;
        }
        self.prefixes.push(prefix.to_owned());
        Ok(())
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub fn name(&self, number: usize) -> &str {
        self.list.get(number).map_or("", |name| &name.text)
    }

    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether something gives it a value, as far as can be determined before a run.
    pub fn may_be_set(&self, number: usize) -> bool {
        self.list
            .get(number)
            .is_some_and(|name| name.set || self.prefixes.iter().any(|prefix| name.text.starts_with(prefix)))
    }

    /// Finds a variable of `expression` that never gets a value.
    pub fn check(&self, expression: &Expression) -> Result<(), Fault> {
        let mut unset = None;
        expression.variables(&mut |variable| {
            if unset.is_none() && !self.may_be_set(variable) {
                unset = Some(variable);
            }
        });
        match unset {
            Some(variable) => Err(Fault::Unset(self.name(variable).to_owned())),
            None => Ok(()),
        }
    }
}
