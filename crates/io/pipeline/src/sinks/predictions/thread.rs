//! Predictions on a separate thread: they cost about as much as aggregation, and are needed only at
//! the end.

use model::{ConnectionId, LeftOut, Operation};
use predict::{Predicted, Predictor};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

#[allow(
    clippy::large_enum_variant,
    reason = "operations are the rule: boxing each would cost more than the room of the few others"
)]
enum Batched {
    Operation(Operation, Vec<LeftOut>),
    Closed(ConnectionId),
}

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
            for batched in receiver.into_iter().flatten() {
                match batched {
                    Batched::Operation(operation, left_out) => predictor.take_with(operation, left_out),
                    Batched::Closed(connection) => predictor.close_connection(connection),
                }
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
        let steps = operation.steps.len().max(1);
        self.add(Batched::Operation(operation, left_out), steps);
    }

    pub fn close_connection(&mut self, connection: ConnectionId) {
        self.add(Batched::Closed(connection), 1);
    }

    fn add(&mut self, batched: Batched, steps: usize) {
        self.steps += steps;
        self.batch.push(batched);
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
