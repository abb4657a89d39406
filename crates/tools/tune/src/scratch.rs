//! Creates, names and removes the scratch schema, with the user's consent.

use crate::{Prepared, Shape, Workbench};
use pipeline::progress::ProgressSink;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Drops the scratch schema on drop at the latest, also after an error or a panic.
pub struct Scratch<'a> {
    workbench: Box<dyn Workbench + 'a>,
    cleaned: bool,
    progress: &'a dyn ProgressSink,
}

impl<'a> Scratch<'a> {
    /// `progress` receives a message about objects that could not be removed.
    ///
    /// # Errors
    /// If the server refuses; objects created until then are removed.
    pub fn prepare(
        workbench: Box<dyn Workbench + 'a>,
        shape: &Shape,
        progress: &'a dyn ProgressSink,
    ) -> Result<(Self, Prepared), crate::Error> {
        let mut scratch = Self {
            workbench,
            cleaned: false,
            progress,
        };
        let prepared = scratch.workbench.prepare(shape)?;
        Ok((scratch, prepared))
    }

    pub fn workbench(&mut self) -> &mut dyn Workbench {
        &mut *self.workbench
    }

    /// # Errors
    /// If the server refuses. The error names the remaining objects; its hint is the statement that
    /// removes them.
    pub fn remove(mut self) -> Result<(), crate::Error> {
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

/// Describes the remaining objects and how to remove them.
pub fn left(fault: &crate::Error) -> String {
    match fault.hint() {
        Some(hint) => format!("{fault}; {hint}"),
        None => fault.to_string(),
    }
}

/// Eight random letters and digits, from the randomness that seeds hash maps.
pub fn suffix() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{:08x}", random as u32)
}
