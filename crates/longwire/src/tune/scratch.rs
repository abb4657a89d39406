//! The scratch schema: its name, the required consent, and its removal whatever happens.

use pipeline::progress::ProgressSink;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use tune::{Prepared, Shape, TuneError, Workbench};

/// A workbench whose scratch schema is removed at the latest when this is dropped: after an error, and when a
/// run panics.
pub struct Scratch<'a> {
    workbench: Box<dyn Workbench + 'a>,
    cleaned: bool,
    progress: &'a dyn ProgressSink,
}

impl<'a> Scratch<'a> {
    /// Makes the schema. `progress` receives a message about what could not be removed.
    ///
    /// # Errors
    /// When the server refuses; what was made by then is removed.
    pub fn prepare(
        workbench: Box<dyn Workbench + 'a>,
        shape: &Shape,
        progress: &'a dyn ProgressSink,
    ) -> Result<(Self, Prepared), TuneError> {
        let mut scratch = Self {
            workbench,
            cleaned: false,
            progress,
        };
        let prepared = scratch.workbench.prepare(shape)?;
        Ok((scratch, prepared))
    }

    /// The workbench that does the jobs.
    pub fn workbench(&mut self) -> &mut dyn Workbench {
        &mut *self.workbench
    }

    /// Removes the schema.
    ///
    /// # Errors
    /// When the server refuses: the error names the rest, its hint the statement that removes it.
    pub fn remove(mut self) -> Result<(), TuneError> {
        self.cleaned = true;
        self.workbench.clean_up()
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if self.cleaned {
            return;
        }
        if let Err(left) = self.workbench.clean_up() {
            self.progress.show_note(&self::left(&left));
        }
    }
}

/// The rest, and how to remove it.
pub fn left(fault: &TuneError) -> String {
    match fault.hint() {
        Some(hint) => format!("{fault}; {hint}"),
        None => fault.to_string(),
    }
}

/// Eight unique letters and digits: from the system's randomness, by which hash tables are seeded.
pub fn suffix() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{:08x}", random as u32)
}
