use super::{Error, Outcome, Plan, Progress, RunControl, Workload, run};
use client::Watch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use sys::error::{LiveError, OsError};

/// Runs `workload` on another thread, and calls `tick` at this interval with the progress until it
/// has ended. `stop` or a failing `tick` ends it early.
///
/// # Errors
/// The error of `tick`; inside, those of [`run`].
pub fn run_beside<E>(
    workload: &dyn Workload,
    plan: &Plan,
    watch: Option<&Watch<'_>>,
    (stop, every): (&AtomicBool, Duration),
    tick: &mut dyn FnMut(Progress) -> Result<(), E>,
) -> Result<Result<Outcome, Error>, E> {
    let control = RunControl::default();
    let (ended, end) = sync_channel(1);
    std::thread::scope(|scope| {
        let control = &control;
        let running = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn_scoped(scope, move || {
                let outcome = run(workload, plan, control, watch);
                // The receiver only waits for this.
                ended.send(()).ok();
                outcome
            });
        let running = match running {
            Ok(running) => running,
            Err(error) => {
                let reason = OsError::from_io_error(&error);
                let operation = "start a thread";
                return Ok(Err(LiveError::System { operation, reason }.into()));
            }
        };
        let mut ticked = Ok(());
        while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(every) {
            if stop.load(Ordering::Relaxed) || ticked.is_err() {
                control.stop.store(true, Ordering::Relaxed);
            }
            if ticked.is_ok() {
                ticked = tick(control.progress());
            }
        }
        let outcome = running
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ticked.map(|()| outcome)
    })
}
