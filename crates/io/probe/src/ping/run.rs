use super::floor::Echo;
use super::pace::Schedule;
use super::plain::{Answer, ProbeContext};
use super::probes::{self, Probe};
use super::{Pace, PingError, PingEvent, PingPlan};
use model::{Sample, Timestamp};
use std::sync::Arc;
use std::time::Instant;
use sys::Clock;
use sys::StopToken;

/// Ends when the count is reached, `stop` is set, or `tell` has no receiver left.
pub(super) fn run(
    plan: &PingPlan,
    name: &Arc<str>,
    clock: Clock,
    stop: &StopToken,
    tell: impl Fn(PingEvent) -> bool,
) {
    let context = ProbeContext {
        target: &plan.target,
        clock,
        timeout: plan.timeout,
        stop,
    };
    let mut probe = match probes::create_probe(plan, context) {
        Ok(probe) => probe,
        Err(error) => {
            tell(PingEvent::Failed(error));
            return;
        }
    };
    let course = PingRun {
        plan,
        name,
        context,
        tell: &tell,
    };
    if let Err(Ended::Failed(error)) = course.run(probe.as_mut()) {
        tell(PingEvent::Failed(error));
    }
}

enum Ended {
    Stopped,
    Failed(PingError),
}

struct PingRun<'a, T: Fn(PingEvent) -> bool> {
    plan: &'a PingPlan,
    name: &'a Arc<str>,
    context: ProbeContext<'a>,
    tell: &'a T,
}

impl<T: Fn(PingEvent) -> bool> PingRun<'_, T> {
    fn run(&self, probe: &mut dyn Probe) -> Result<(), Ended> {
        let mut echo = None;
        let mut open = false;
        let mut schedule = Schedule::starting(Instant::now(), self.plan.pace);
        let mut number = 1;
        while self.plan.count.is_none_or(|count| number <= count) {
            self.pause(&schedule, echo.as_mut())?;
            let mut intended = schedule.due().map(|due| self.on_clock(due));
            if !open {
                open = self.open(probe, number)? && self.first(probe, number, &mut echo)?;
                self.rest_until(Instant::now() + self.plan.pace.settle(), echo.as_mut())?;
                // It waited for its connection as planned.
                intended = None;
            }
            if open {
                let asked = self.send_request(probe)?;
                open = asked.is_ok();
                self.sample(number, intended, false, asked)?;
            }
            if !open {
                probe.close();
                self.wait(Instant::now() + self.plan.pace.refusal_pause())?;
            }
            number += 1;
            schedule.advance(Instant::now());
        }
        Ok(())
    }

    /// Returns whether the connection is open. A failure is a lost sample; anything but silence at
    /// the first attempt ends the run.
    fn open(&self, probe: &mut dyn Probe, number: u64) -> Result<bool, Ended> {
        match probe.open() {
            Ok(opening) => self.emit_event(PingEvent::Opened(opening)).map(|()| true),
            Err(PingError::Stopped) => Err(Ended::Stopped),
            Err(error) if number == 1 && !error.is_silence() => Err(Ended::Failed(error)),
            Err(error) => self.sample(number, None, false, Err(error)).map(|()| false),
        }
    }

    fn send_request(&self, probe: &mut dyn Probe) -> Result<Result<Answer, PingError>, Ended> {
        let asked = probe.send_request();
        if let Some(caution) = probe.caution() {
            self.emit_event(PingEvent::Caution(caution))?;
        }
        if let Some((at, legs)) = probe.legs() {
            self.emit_event(PingEvent::Legs { at, legs })?;
        }
        Ok(asked)
    }

    /// Starts a matching echo, too. Returns whether the connection is still open.
    fn first<'a>(
        &'a self,
        probe: &mut dyn Probe,
        number: u64,
        echo: &mut Option<Echo<'a>>,
    ) -> Result<bool, Ended> {
        let asked = self.send_request(probe)?;
        let asked = match asked {
            Err(error) if number == 1 && error.is_other_protocol() => return Err(Ended::Failed(error)),
            asked => asked,
        };
        let (answered, sizes) = match &asked {
            Ok(answer) => (true, (answer.request_bytes, answer.reply_bytes)),
            Err(_) => (false, (0, 0)),
        };
        self.sample(number, None, answered, asked)?;
        if answered && echo.is_none() {
            *echo = probe
                .kind()
                .and_then(|kind| Echo::start(kind, self.context, sizes.0, sizes.1));
            // The echo's first exchange is no more typical than the target's.
            echo.as_mut().and_then(Echo::measure_round_trip);
            if self.plan.pace == Pace::Flood {
                let floors = echo
                    .iter_mut()
                    .flat_map(|echo| (0..ECHOES).map_while(|_| echo.measure_round_trip()));
                floors
                    .map(PingEvent::Floor)
                    .try_for_each(|floor| self.emit_event(floor))?;
            }
        }
        Ok(answered)
    }

    fn pause(&self, schedule: &Schedule, echo: Option<&mut Echo<'_>>) -> Result<(), Ended> {
        self.rest_until(schedule.due().unwrap_or_else(Instant::now), echo)
    }

    /// Measures the echo half-way.
    fn rest_until(&self, due: Instant, echo: Option<&mut Echo<'_>>) -> Result<(), Ended> {
        let now = Instant::now();
        if let Some(echo) = echo
            && due > now
        {
            self.wait(now + (due - now) / 2)?;
            if let Some(floor) = echo.measure_round_trip() {
                self.emit_event(PingEvent::Floor(floor))?;
            }
        }
        self.wait(due)
    }

    fn wait(&self, until: Instant) -> Result<(), Ended> {
        match self.context.stop.wait_until(until) {
            true => Err(Ended::Stopped),
            false => Ok(()),
        }
    }

    fn sample(
        &self,
        number: u64,
        intended_at: Option<Timestamp>,
        first: bool,
        asked: Result<Answer, PingError>,
    ) -> Result<(), Ended> {
        let nothing = Sample {
            number,
            target: Arc::clone(self.name),
            at: self.context.clock.now(),
            intended_at,
            duration: None,
            server: None,
            first,
            turns: None,
            kernel_rtt: None,
            error: None,
        };
        let sample = match asked {
            Err(PingError::Stopped) => return Err(Ended::Stopped),
            Err(error) => Sample {
                error: Some(error.to_string().into()),
                ..nothing
            },
            Ok(answer) => Sample {
                at: answer.at,
                duration: Some(answer.duration),
                server: answer.server,
                turns: answer.turns,
                kernel_rtt: answer.kernel_rtt,
                error: answer.error.map(Into::into),
                ..nothing
            },
        };
        self.emit_event(PingEvent::Sample(sample))
    }

    fn emit_event(&self, event: PingEvent) -> Result<(), Ended> {
        match (self.tell)(event) && !self.context.stop.is_stopped() {
            true => Ok(()),
            false => Err(Ended::Stopped),
        }
    }

    fn on_clock(&self, when: Instant) -> Timestamp {
        let (now, clock) = (Instant::now(), self.context.clock.now());
        match when.checked_duration_since(now) {
            Some(ahead) => clock.after(ahead),
            None => clock.before(now - when),
        }
    }
}

/// A flood has no pauses for the echo, so this many are measured before.
const ECHOES: usize = 200;
