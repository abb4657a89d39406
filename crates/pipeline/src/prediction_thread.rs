//! Predictions on a thread of their own: they cost about as much as summing up does, and nothing waits for
//! them before the end.

use model::{LeftOut, Operation};
use predict::{Predicted, Predictor};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// An operation, with what the remedies of findings leave out of it.
type Batched = (Operation, Vec<LeftOut>);

/// A predictor that works while other things are done. Dropped before its end, it stops by itself.
pub struct PredictionThread {
    batch: Vec<Batched>,
    /// Steps of the operations in the batch.
    steps: usize,
    sender: SyncSender<Vec<Batched>>,
    thread: JoinHandle<Predicted>,
}

impl PredictionThread {
    /// Begins.
    pub fn start(mut predictor: Predictor) -> Self {
        let (sender, receiver): (_, Receiver<Vec<Batched>>) = sync_channel(WAITING_BATCHES);
        let thread = std::thread::spawn(move || {
            for (operation, left_out) in receiver.into_iter().flatten() {
                predictor.take_with(operation, left_out);
            }
            predictor.finish_all()
        });
        Self {
            batch: Vec::new(),
            steps: 0,
            sender,
            thread,
        }
    }

    /// Takes the next operation, or part of one, with what remedies leave out of it; waits where the
    /// predictions are far behind.
    pub fn process_operation(&mut self, operation: Operation, left_out: Vec<LeftOut>) {
        self.steps += operation.steps.len().max(1);
        self.batch.push((operation, left_out));
        if self.steps >= BATCH_STEPS {
            self.send();
        }
    }

    /// All that it has to say.
    pub fn finish(mut self) -> Predicted {
        self.send();
        drop(self.sender);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn send(&mut self) {
        self.steps = 0;
        // The receiver is gone only when its thread panicked, which is passed on at the end.
        self.sender.send(std::mem::take(&mut self.batch)).ok();
    }
}

/// Steps after which a batch is passed on: the threads synchronise once for this many. A part of an operation
/// may have [`analysis::operations::MAXIMUM_STEPS`] by itself.
const BATCH_STEPS: usize = 1_000;

/// Batches that may wait: at most some 20 MB.
const WAITING_BATCHES: usize = 2;
