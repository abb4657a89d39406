//! Keeps entire operations for analysis after the end of a run.

use super::{InspectedOperation, RunSink};
use model::Operation;
use std::cell::RefCell;
use std::io;
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
    pub fn finish(&self) -> (Vec<Operation>, u64) {
        let mut kept = self.0.borrow_mut();
        let mut operations = std::mem::take(&mut kept.operations);
        operations.sort_by_key(|operation| operation.at);
        (operations, kept.left_out)
    }
}

impl RunSink for KeptOperations {
    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        let operation = &inspected.operation;
        let mut kept = self.0.borrow_mut();
        if kept.steps + operation.steps.len() > MAX_STEPS {
            kept.left_out += 1;
            return Ok(());
        }
        kept.steps += operation.steps.len();
        kept.operations.push(operation.clone());
        Ok(())
    }
}

const MAX_STEPS: usize = 500_000;
