use super::{Error, Outcome, Plan, RunControl, Workload, run};
use client::Watch;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Instant;
use sys::StopToken;
use sys::error::{LiveError, OsError};

/// Runs `workload` on another thread until it has ended. Calls `tick`, first at once, then at the
/// time that it returns. `stop` or a failing `tick` ends the run early.
///
/// # Errors
/// The error of `tick`; inside, those of [`run`].
pub fn run_on_thread<E>(
    workload: &dyn Workload,
    plan: &Plan,
    watch: Option<&Watch<'_>>,
    stop: &StopToken,
    tick: &mut dyn FnMut(&RunControl) -> Result<Instant, E>,
) -> Result<Result<Outcome, Error>, E> {
    let control = match RunControl::new(stop) {
        Ok(control) => control,
        Err(error) => return Ok(Err(error.into())),
    };
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
        let mut ticked = tick(control);
        while let Ok(next) = &ticked
            && let Err(RecvTimeoutError::Timeout) =
                end.recv_timeout(next.saturating_duration_since(Instant::now()))
        {
            ticked = tick(control);
        }
        if ticked.is_err() {
            control.stop.stop();
        }
        let outcome = running
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ticked.map(|_| outcome)
    })
}
