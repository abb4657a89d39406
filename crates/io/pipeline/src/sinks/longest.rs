//! Keeps the longest operation of a run, to explain its prediction.

use super::{InspectedOperation, RunSink};
use model::{Operation, Pattern};
use predict::Concurrency;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// Clones share the operation.
#[derive(Debug, Clone, Default)]
pub struct LongestOperation {
    longest: Rc<RefCell<Option<Operation>>>,
    /// Names of the operations among which it is.
    names: Option<Pattern>,
}

impl LongestOperation {
    pub fn with_names(names: Option<Pattern>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Returns the operation, with the dependencies of its exchanges on a link with distance if the
    /// run predicts.
    pub fn take_operation(&self) -> Option<Operation> {
        self.longest.take()
    }

    pub(super) fn set_concurrency(&self, concurrency: &Concurrency) {
        let longest = self.take_operation();
        *self.longest.borrow_mut() = longest.map(|longest| concurrency.expected(&longest));
    }
}

impl RunSink for LongestOperation {
    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        let operation = &inspected.operation;
        let is_named = self
            .names
            .as_ref()
            .is_none_or(|names| names.matches(&operation.name));
        let mut longest = self.longest.borrow_mut();
        let is_longer = longest
            .as_ref()
            .is_none_or(|longest| longest.duration < operation.duration);
        if is_named && is_longer {
            *longest = Some(operation.clone());
        }
        Ok(())
    }
}
