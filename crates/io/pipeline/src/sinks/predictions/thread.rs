//! Predictions on a separate thread: they cost about as much as aggregation, and are needed only at
//! the end.

use model::{LeftOut, Operation};
use predict::{Predicted, Predictor};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

type Batched = (Operation, Vec<LeftOut>);

/// A predictor on a thread. The thread stops on drop.
pub struct PredictionThread {
    batch: Vec<Batched>,
    steps: usize,
    sender: SyncSender<Vec<Batched>>,
    thread: JoinHandle<Predicted>,
}

impl PredictionThread {
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

    /// Adds an operation, or part of one, with the parts that remedies leave out. Waits if
    /// predictions are far behind.
    pub fn process_operation(&mut self, operation: Operation, left_out: Vec<LeftOut>) {
        self.steps += operation.steps.len().max(1);
        self.batch.push((operation, left_out));
        if self.steps >= BATCH_STEPS {
            self.send();
        }
    }

    pub fn finish(mut self) -> Predicted {
        self.send();
        drop(self.sender);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn send(&mut self) {
        self.steps = 0;
        // The receiver is gone only if its thread panicked, which is propagated at the end.
        self.sender.send(std::mem::take(&mut self.batch)).ok();
    }
}

const BATCH_STEPS: usize = 1_000;

/// At most about 20 MB.
const WAITING_BATCHES: usize = 2;
