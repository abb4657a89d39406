//! Whole operations of a run, kept for what looks at all of them after its end.

use model::Operation;
use std::cell::RefCell;
use std::rc::Rc;

/// The operations of a run up to a maximum of exchanges: clones share them. Later ones are counted.
#[derive(Debug, Clone, Default)]
pub struct KeptOperations(Rc<RefCell<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    operations: Vec<Operation>,
    steps: usize,
    left_out: u64,
}

impl KeptOperations {
    /// Keeps one more, if there is room.
    pub(crate) fn process_operation(&self, operation: &Operation) {
        let mut kept = self.0.borrow_mut();
        if kept.steps + operation.steps.len() > MAX_STEPS {
            kept.left_out += 1;
            return;
        }
        kept.steps += operation.steps.len();
        kept.operations.push(operation.clone());
    }

    /// All that were kept, in the order in which they began, and how many were not.
    pub fn finish(&self) -> (Vec<Operation>, u64) {
        let mut kept = self.0.borrow_mut();
        let mut operations = std::mem::take(&mut kept.operations);
        operations.sort_by_key(|operation| operation.at);
        (operations, kept.left_out)
    }
}

/// Some hundred MB.
const MAX_STEPS: usize = 500_000;
