//! Measures how much longer client and server compute after longer rests.
//!
//! A relay holds the replies of an application back by 0, 1, 5 and 20 ms in alternating blocks, so
//! that a drift of the machine does not count. Computing times of the same statements are compared
//! by [`predict::calibration`].

mod application;
mod computing;

use anyhow::Result;
use application::Application;
use computing::{Block, ComputingTimes};
use model::{CalibratedRest, PerSide, Side, Summary, format_duration};
use pipeline::fact_channel::FactChannel;
use pipeline::progress::ProgressSink;
use relay::spacing::SpacingRelay;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::{Clock, LiveError, StopToken, Target, resolve};

#[derive(Debug)]
pub struct CalibrationPlan<'a> {
    /// Without one, an echo of this process.
    pub target: Option<Target>,
    /// If empty, statements of longwire's own.
    pub command: &'a [OsString],
    pub duration: Duration,
}

#[derive(Debug)]
pub struct MeasuredRests {
    pub rests: Vec<CalibratedRest>,
    pub totals: Summary,
}

/// # Errors
/// If the server cannot be reached, or the command fails.
pub fn calibrate(
    plan: &CalibrationPlan<'_>,
    progress: &dyn ProgressSink,
    stop: &StopToken,
) -> Result<MeasuredRests> {
    let clock = Clock::anchored_now();
    let channels = PerSide::new(
        Arc::new(FactChannel::new(false)?),
        Arc::new(FactChannel::new(false)?),
    );
    let handshake = plan.target.as_ref().map(handshake).transpose()?;
    let mut application = Application::prepare(plan, stop)?;
    let factories = channels
        .clone()
        .map(|channel| channel as Arc<dyn model::ObserverFactory>);
    let relay = SpacingRelay::start(application.target().clone(), clock, factories)?;
    let mut run = Run {
        clock,
        relay: &relay,
        channels: &channels,
        times: PerSide::default(),
        stop,
    };
    let ended = application
        .start(relay.local_addr())
        .and_then(|()| run.rounds(plan.duration, &mut application, progress));
    progress.status("");
    application.end();
    let times = run.times;
    relay.stop();
    ended?;
    let mut measured = measured(times);
    if let Some(rtt) = handshake.filter(|rtt| *rtt > MAX_HANDSHAKE) {
        refuse_server(&mut measured.rests, rtt);
    }
    Ok(measured)
}

/// The shortest TCP handshake with the server.
fn handshake(target: &Target) -> Result<Duration, LiveError> {
    let addresses = resolve::addresses(target)?;
    let mut shortest = Duration::MAX;
    for _ in 0..HANDSHAKES {
        let began = Instant::now();
        resolve::connect(target, &addresses, FIRST_REQUEST)?;
        shortest = shortest.min(began.elapsed());
    }
    Ok(shortest)
}

/// A round trip of the network cannot be told from computing.
fn refuse_server(rests: &mut [CalibratedRest], rtt: Duration) {
    for rest in rests.iter_mut().filter(|rest| rest.side == Side::Server) {
        rest.factor = None;
        rest.refused = Some(format!(
            "the server is {} away: run this beside it",
            format_duration(rtt)
        ));
    }
}

fn measured(times: PerSide<ComputingTimes>) -> MeasuredRests {
    let totals = times[Side::Client].totals();
    let delays = DELAYS.map(|(delay, _)| delay);
    let rests = Side::ALL
        .into_iter()
        .zip(times)
        .flat_map(|(side, times)| predict::calibration::fit(side, &times.samples(side), &delays));
    MeasuredRests {
        rests: rests.collect(),
        totals,
    }
}

struct Run<'a> {
    clock: Clock,
    relay: &'a SpacingRelay,
    channels: &'a PerSide<Arc<FactChannel>>,
    times: PerSide<ComputingTimes>,
    stop: &'a StopToken,
}

impl Run<'_> {
    /// Alternates until `duration` is over, or a stop.
    fn rounds(
        &mut self,
        duration: Duration,
        application: &mut Application<'_>,
        progress: &dyn ProgressSink,
    ) -> Result<()> {
        progress.status("waiting for the first request");
        let waiting = Instant::now();
        while self.times[Side::Client].is_empty() && waiting.elapsed() < FIRST_REQUEST {
            self.pass_time(COLLECT_INTERVAL, application)?;
            if self.stop.is_stopped() {
                return Ok(());
            }
        }
        if self.times[Side::Client].is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let shorter = (duration.as_secs_f64() / LONG_ENOUGH.as_secs_f64()).min(1.0);
        for round in 0.. {
            let mut order = DELAYS.map(|(delay, length)| (delay, length.mul_f64(shorter)));
            if round % 2 == 1 {
                order.reverse();
            }
            for (delay, length) in order {
                let left = duration.saturating_sub(began.elapsed());
                if left < length || self.stop.is_stopped() {
                    return Ok(());
                }
                progress.status(&format!(
                    "{} of delay added, {} left",
                    format_duration(delay),
                    format_duration(Duration::from_secs(left.as_secs()))
                ));
                self.block(round, delay, length, application)?;
            }
        }
        Ok(())
    }

    fn block(
        &mut self,
        round: u32,
        delay: Duration,
        length: Duration,
        application: &mut Application<'_>,
    ) -> Result<()> {
        self.relay.hold_back(delay);
        let from = self.clock.now();
        let began = Instant::now();
        while let Some(left) = length.checked_sub(began.elapsed())
            && !self.stop.is_stopped()
        {
            self.pass_time(left.min(COLLECT_INTERVAL), application)?;
        }
        let block = Block {
            round,
            delay,
            // Replies on their way had the delay before.
            from: from.after(DELAYS[3].0),
            until: self.clock.now(),
        };
        for times in &mut self.times {
            times.add_block(block);
        }
        Ok(())
    }

    fn pass_time(&mut self, longest: Duration, application: &mut Application<'_>) -> Result<()> {
        application.run_on(longest, self.stop)?;
        for side in Side::ALL {
            self.channels[side]
                .facts()
                .for_each(|fact| self.times[side].add_fact(&fact));
        }
        Ok(())
    }
}

/// For eight rounds; in less time they are shorter.
const LONG_ENOUGH: Duration = Duration::from_secs(29);
/// Added delays, and how long each lasts in a round.
const DELAYS: [(Duration, Duration); 4] = [
    (Duration::ZERO, Duration::from_millis(600)),
    (Duration::from_millis(1), Duration::from_millis(600)),
    (Duration::from_millis(5), Duration::from_millis(900)),
    (Duration::from_millis(20), Duration::from_millis(1500)),
];
/// Facts are taken this often; more often would wake processors that should rest.
const COLLECT_INTERVAL: Duration = Duration::from_millis(200);
const HANDSHAKES: u32 = 5;
/// Beyond it, the network is a part of the server's times that counts.
const MAX_HANDSHAKE: Duration = Duration::from_micros(500);
const FIRST_REQUEST: Duration = Duration::from_secs(15);
