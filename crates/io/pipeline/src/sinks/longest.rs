//! Keeps the longest operation of a run, to explain its prediction.

use super::{InspectedOperation, RunSink};
use model::Operation;
use predict::Concurrency;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// Clones share the operation.
#[derive(Debug, Clone, Default)]
pub struct LongestOperation(Rc<RefCell<Option<Operation>>>);

impl LongestOperation {
    /// Returns the operation, with the dependencies of its exchanges on a link with distance if the
    /// run predicts.
    pub fn take_operation(&self) -> Option<Operation> {
        self.0.take()
    }

    pub(super) fn set_concurrency(&self, concurrency: &Concurrency) {
        let longest = self.take_operation();
        *self.0.borrow_mut() = longest.map(|longest| concurrency.expected(&longest));
    }
}

impl RunSink for LongestOperation {
    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        let operation = &inspected.operation;
        let mut longest = self.0.borrow_mut();
        if longest
            .as_ref()
            .is_none_or(|longest| longest.duration < operation.duration)
        {
            *longest = Some(operation.clone());
        }
        Ok(())
    }
}
