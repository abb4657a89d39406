//! Congestion windows of Linux, recorded by `bench/tcp-traces.py`: a rule is a file of `traces/`.

use super::{Acknowledgement, Flow, StreamOffset, Waiter};
use model::{Nanos, Timestamp};

const PACKET: u32 = 1448;

struct Line<'a> {
    text: &'a str,
    at: Timestamp,
    event: &'a str,
    packets: u64,
    window: u32,
    in_flight: u32,
}

fn lines(trace: &str) -> impl Iterator<Item = Line<'_>> {
    trace.lines().filter(|line| !line.starts_with('#')).map(|text| {
        let words: Vec<&str> = text.split(' ').collect();
        let [micros, event, packets, "->", window, in_flight, _state] = words[..] else {
            panic!("{text}");
        };
        Line {
            text,
            at: Timestamp::from_nanos(micros.parse::<u64>().expect("microseconds") * 1000),
            event,
            packets: packets.parse().expect("packets"),
            in_flight: in_flight.parse().expect("packets"),
            window: window.parse().expect("a window"),
        }
    })
}

/// The sender under the recorded acknowledgements.
struct Replayed {
    flow: Flow,
    received: u64,
    /// When a paced sender continues.
    continues_at: Option<Timestamp>,
}

impl Replayed {
    fn new(trace: &str) -> Self {
        let rtt = trace
            .split_once("round trip ")
            .and_then(|(_, after)| after.split_once(" ms"))
            .and_then(|(rtt, _)| rtt.parse().ok())
            .expect("a round trip");
        let mut flow = Flow::new(PACKET, Nanos::from_millis(rtt));
        if is_paced(trace) {
            flow.use_bbr();
        }
        flow.opened();
        Self {
            flow,
            received: 0,
            continues_at: None,
        }
    }

    fn send(&mut self, at: Timestamp) {
        let mut sent = false;
        while self.flow.next_packet(at).is_some() {
            sent = true;
        }
        if sent {
            self.flow.sent_all_it_can();
        }
        self.continues_at = self.flow.continues_at(at).or(self.continues_at);
    }

    fn expire_timers(&mut self, until: Timestamp) {
        while let Some(due) = self.flow.gives_up_at().filter(|due| *due < until) {
            self.flow.gives_up(due);
            self.send(due);
        }
        while let Some(due) = self.continues_at.take_if(|due| *due <= until) {
            self.send(due);
        }
    }

    fn step(&mut self, line: &Line<'_>) {
        self.expire_timers(line.at);
        let offset = |packets| StreamOffset::after(packets * u64::from(PACKET));
        let mut beyond = None;
        match line.event {
            "write" => {
                let bytes = line.packets * u64::from(PACKET);
                self.flow.announce(bytes, Waiter(0));
                self.flow.write(line.at, bytes);
            }
            "ack" => self.received = line.packets,
            "beyond" => beyond = Some(offset(line.packets)),
            other => panic!("{other}"),
        }
        if line.event != "write" {
            let ack = Acknowledgement {
                received: offset(self.received),
                allowed: offset(u64::from(u32::MAX)),
            };
            self.flow.acknowledged(line.at, ack, beyond);
        }
        self.send(line.at);
    }
}

fn is_paced(trace: &str) -> bool {
    trace.lines().next().is_some_and(|first| first.contains(", bbr,"))
}

fn differing(trace: &str) -> Vec<String> {
    let mut replayed = Replayed::new(trace);
    let mut differing = Vec::new();
    for line in lines(trace) {
        replayed.step(&line);
        let modelled = replayed.flow.window_and_in_flight();
        // The kernel's pacing is microseconds late, so packets in flight differ.
        let in_flight = if is_paced(trace) {
            modelled.1
        } else {
            line.in_flight
        };
        if line.event != "write" && modelled != (line.window, in_flight) {
            differing.push(format!("{}: {modelled:?}", line.text));
        }
    }
    differing
}

/// BBR's windows follow rates measured in microseconds, and one of seven phases that Linux draws: a
/// sixth are a few acknowledgements late.
fn may_differ(trace: &str) -> usize {
    if is_paced(trace) {
        lines(trace).count() / 6
    } else {
        0
    }
}

macro_rules! rules {
    ($($name:ident $file:literal,)*) => {$(
        #[test]
        fn $name() {
            let trace = include_str!(concat!("traces/", $file, ".txt"));
            let differing = differing(trace);
            assert!(differing.len() <= may_differ(trace), "{} differ, first:\n{}", differing.len(), differing[..differing.len().min(60)].join("\n"));
        }
    )*};
}

rules! {
    bbr_fills_the_pipe_and_drains_it "bbr-fills-the-pipe-and-drains-it",
    bbr_keeps_its_window_in_a_pause "bbr-keeps-its-window-in-a-pause",
    a_packet_sent_again_and_acknowledged_shows_the_lost_tail "a-packet-sent-again-and-acknowledged-shows-the-lost-tail",
    a_loss_keeps_0_7_and_cubic_grows "a-loss-keeps-0.7-and-cubic-grows",
    a_timeout_forgets_cubic "a-timeout-forgets-cubic",
    a_window_half_used_does_not_grow "a-window-half-used-does-not-grow",
    an_unused_window_stays_while_acknowledgements_come "an-unused-window-stays-while-acknowledgements-come",
    idle_time_halves_the_window_per_timeout "idle-time-halves-the-window-per-timeout",
    idle_time_moves_the_epoch_after_a_loss "idle-time-moves-the-epoch-after-a-loss",
    idle_time_moves_the_epoch "idle-time-moves-the-epoch",
    nine_packets_out_double_the_window "nine-packets-out-double-the-window",
    round_trips_in_the_first_second_of_an_epoch_are_ignored "round-trips-in-the-first-second-of-an-epoch-are-ignored",
    slow_start_ends_when_acknowledgements_come_for_half_a_round_trip "slow-start-ends-when-acknowledgements-come-for-half-a-round-trip",
    slow_start_ends_when_round_trips_grow "slow-start-ends-when-round-trips-grow",
    slow_start_grows_by_each_acknowledged_packet "slow-start-grows-by-each-acknowledged-packet",
    slow_start_with_an_acknowledgement_per_two_packets "slow-start-with-an-acknowledgement-per-two-packets",
    the_tail_of_a_burst_is_lost_and_probed "the-tail-of-a-burst-is-lost-and-probed",
    the_tail_of_a_burst_is_lost_but_its_last_packet "the-tail-of-a-burst-is-lost-but-its-last-packet",
    two_losses_close_together_lower_the_goal "two-losses-close-together-lower-the-goal",
}
