//! Names of variables, shared by all scripts of a run.

use super::Fault;
use std::collections::HashMap;

#[derive(Debug, Clone)]
pub(super) struct Names {
    list: Vec<Name>,
    numbers: HashMap<String, usize>,
    /// Column name prefixes of `\gset` and `\aset`.
    prefixes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Name {
    text: String,
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

    /// Number of a used name.
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

    /// Number of an assigned name.
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

    /// Declares that names with `prefix` may be assigned.
    pub fn begin_with(&mut self, prefix: &str) -> Result<(), Fault> {
        if !prefix.is_empty() {
            // Only validated: the column's name follows at run time.
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

    /// Whether some command may assign it, as far as known before a run.
    pub fn may_be_set(&self, number: usize) -> bool {
        self.list
            .get(number)
            .is_some_and(|name| name.set || self.prefixes.iter().any(|prefix| name.text.starts_with(prefix)))
    }
}
