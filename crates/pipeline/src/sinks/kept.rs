//! Keeps entire operations for analysis after the end of a run.

use model::Operation;
use std::cell::RefCell;
use std::rc::Rc;

/// Operations up to a maximum number of exchanges; further ones are counted. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct KeptOperations(Rc<RefCell<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    operations: Vec<Operation>,
    steps: usize,
    left_out: u64,
}

impl KeptOperations {
    pub(crate) fn process_operation(&self, operation: &Operation) {
        let mut kept = self.0.borrow_mut();
        if kept.steps + operation.steps.len() > MAX_STEPS {
            kept.left_out += 1;
            return;
        }
        kept.steps += operation.steps.len();
        kept.operations.push(operation.clone());
    }

    pub fn finish(&self) -> (Vec<Operation>, u64) {
        let mut kept = self.0.borrow_mut();
        let mut operations = std::mem::take(&mut kept.operations);
        operations.sort_by_key(|operation| operation.at);
        (operations, kept.left_out)
    }
}

const MAX_STEPS: usize = 500_000;
