//! Simulates a lane with one thread: codec and sending alternate, and only the kernel's buffer
//! drains while the codec works.

use model::{BitRate, Timestamp};
use std::time::Duration;
use tunnel::{Auto, CompressionLevel};

/// Per level, compressed size of a payload byte and codec nanoseconds for it.
pub type Data = [(f64, f64); 10];

/// Rows of text, `measurements/2026-11-21-2cpu-linux-6.18.44/tunnel-levels.txt`.
pub const ROWS: Data = [
    (1.0, 0.0),
    (0.083, 0.6),
    (0.0217, 0.4),
    (0.0216, 0.4),
    (0.0214, 0.42),
    (0.0207, 1.9),
    (0.0197, 2.0),
    (0.0193, 2.6),
    (0.0184, 3.1),
    (0.0176, 4.0),
];
pub const TEXT: Data = [
    (1.0, 0.0),
    (0.43, 2.4),
    (0.32, 2.3),
    (0.296, 3.1),
    (0.279, 3.6),
    (0.258, 9.3),
    (0.254, 10.6),
    (0.2506, 15.0),
    (0.249, 18.9),
    (0.248, 25.6),
];
/// Data already compressed or encrypted.
pub const NOISE: Data = [
    (1.0, 0.0),
    (1.0, 0.4),
    (1.0, 0.6),
    (1.0, 0.8),
    (1.0, 0.9),
    (1.0, 1.1),
    (1.0, 1.1),
    (1.0, 1.3),
    (1.0, 1.7),
    (1.0, 2.5),
];

#[derive(Debug, Clone, Copy)]
pub enum Demand {
    Endless,
    Clients {
        clients: usize,
        result: usize,
        think: Duration,
    },
}

#[derive(Clone)]
pub struct Simulation {
    /// In bytes per second from this time on.
    rates: Vec<(f64, f64)>,
    data: Vec<(f64, Data)>,
    demand: Demand,
    slower: f64,
    rtt: f64,
    /// Bytes since the last pause, and the best delivery rate of such bursts.
    burst: f64,
    delivered: f64,
    now: f64,
    buffered: f64,
    /// Bytes left of the result and the time of the next request.
    clients: Vec<(usize, f64)>,
    turn: usize,
}

#[derive(Debug)]
pub struct Outcome {
    pub speed: f64,
    pub levels: Vec<(f64, u8)>,
}

impl Outcome {
    pub fn at(&self, at: Duration) -> u8 {
        self.levels
            .iter()
            .rev()
            .find(|level| level.0 <= at.as_secs_f64())
            .unwrap()
            .1
    }

    pub fn last(&self) -> u8 {
        self.levels.last().unwrap().1
    }
}

const BUFFER: f64 = 128.0 * 1024.0;
const CHUNK: usize = 32 * 1024;
/// Nanoseconds for reading, encrypting and writing a chunk, and per byte sent.
const PER_CHUNK: f64 = 8_000.0;
const PER_BYTE: f64 = 0.6;

impl Simulation {
    pub fn new(rate: f64, data: Data, demand: Demand) -> Self {
        let clients = match demand {
            Demand::Endless => vec![(usize::MAX, 0.0)],
            Demand::Clients { clients, result, .. } => vec![(result, 0.0); clients],
        };
        Self {
            rates: vec![(0.0, rate)],
            data: vec![(0.0, data)],
            demand,
            slower: 1.0,
            rtt: 0.0,
            burst: 0.0,
            delivered: 0.0,
            now: 0.0,
            buffered: 0.0,
            clients,
            turn: 0,
        }
    }

    pub fn rtt(mut self, rtt: Duration) -> Self {
        self.rtt = rtt.as_secs_f64();
        self
    }

    pub fn slower(mut self, times: f64) -> Self {
        self.slower = times;
        self
    }

    pub fn then(mut self, at: Duration, rate: f64) -> Self {
        self.rates.push((at.as_secs_f64(), rate));
        self
    }

    pub fn then_data(mut self, at: Duration, data: Data) -> Self {
        self.data.push((at.as_secs_f64(), data));
        self
    }

    pub fn fixed(self, level: u8, span: Duration) -> f64 {
        self.run(span, None, level).speed
    }

    pub fn auto(self, span: Duration) -> Outcome {
        self.run(span, Some(Auto::new(Timestamp::default())), 0)
    }

    fn run(mut self, span: Duration, mut auto: Option<Auto>, fixed: u8) -> Outcome {
        let end = span.as_secs_f64();
        let mut payload = 0.0;
        let mut levels: Vec<(f64, u8)> = Vec::new();
        while self.now < end {
            let Some((length, ending)) = self.take_chunk() else {
                self.pause(auto.as_mut());
                continue;
            };
            let level = match &mut auto {
                Some(auto) => self.choose_level(auto),
                None => fixed,
            };
            if levels.last().is_none_or(|last| last.1 != level) {
                levels.push((self.now, level));
            }
            self.carry(length, level, auto.as_mut());
            payload += length as f64;
            if let Some(index) = ending {
                self.end_result(index);
            }
        }
        Outcome {
            speed: payload / end,
            levels,
        }
    }

    fn choose_level(&self, auto: &mut Auto) -> u8 {
        let at = self.at();
        if self.delivered > 0.0 && auto.wants_path(at) {
            let delivered = BitRate::from_bits_per_second((self.delivered * 8.0) as u64).unwrap();
            auto.path(at, delivered, Duration::from_secs_f64(self.rtt));
        }
        auto.level(at).number()
    }

    fn carry(&mut self, length: usize, level: u8, mut auto: Option<&mut Auto>) {
        let (left, nanoseconds) = self.data()[usize::from(level)];
        let took = nanoseconds * 1e-9 * self.slower * length as f64;
        self.pass(took);
        let bytes = left * length as f64;
        if let Some(auto) = &mut auto {
            let level = CompressionLevel::from_number(level).unwrap();
            auto.chunk(
                self.at(),
                level,
                length,
                bytes as usize,
                Duration::from_secs_f64(took),
            );
        }
        self.pass((PER_CHUNK + PER_BYTE * bytes) * 1e-9);
        self.send(bytes, auto);
        self.burst += bytes;
    }

    fn pause(&mut self, auto: Option<&mut Auto>) {
        if let Some(auto) = auto {
            auto.idle(self.at());
        }
        self.end_burst();
        let next = self
            .clients
            .iter()
            .map(|client| client.1)
            .fold(f64::MAX, f64::min);
        self.pass((next - self.now).max(1e-6));
    }

    /// Fills the kernel's buffer; a full socket reports again when a third is free.
    fn send(&mut self, bytes: f64, mut auto: Option<&mut Auto>) {
        let mut left = bytes;
        while left > 0.0 {
            let taken = left.min(BUFFER - self.buffered);
            self.buffered += taken;
            left -= taken;
            if let Some(auto) = auto.as_deref_mut() {
                auto.sent(self.at(), taken as usize);
            }
            if left > 0.0 || self.buffered >= BUFFER {
                if let Some(auto) = auto.as_deref_mut() {
                    auto.full(self.at());
                }
                while self.buffered > BUFFER * 2.0 / 3.0 {
                    let wait = (self.buffered - BUFFER * 2.0 / 3.0) / self.rate().max(1.0);
                    self.pass(wait.clamp(1e-7, 0.05));
                }
            }
        }
    }

    /// Also returns the client if its result ends.
    fn take_chunk(&mut self) -> Option<(usize, Option<usize>)> {
        let count = self.clients.len();
        let index = (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|index| self.clients[*index].1 <= self.now)?;
        self.turn = index + 1;
        let left = &mut self.clients[index].0;
        let length = (*left).min(CHUNK);
        *left -= length;
        Some((length, (*left == 0).then_some(index)))
    }

    /// The client requests again after its result has arrived, and after its pause.
    fn end_result(&mut self, index: usize) {
        let Demand::Clients { result, think, .. } = self.demand else {
            return;
        };
        let asks_at = self.now + self.buffered / self.rate() + self.rtt + think.as_secs_f64();
        self.clients[index] = (result, asks_at);
    }

    /// The best rate of bursts, until a better one or a lane that is never empty, as in Linux
    /// (net/ipv4/tcp_rate.c).
    fn end_burst(&mut self) {
        if self.burst > 0.0 {
            self.delivered = self
                .delivered
                .max(self.burst / (self.rtt + self.burst / self.rate()));
            self.burst = 0.0;
        }
    }

    fn pass(&mut self, seconds: f64) {
        self.buffered = (self.buffered - self.rate() * seconds).max(0.0);
        self.now += seconds;
    }

    fn rate(&self) -> f64 {
        self.rates
            .iter()
            .rev()
            .find(|(from, _)| *from <= self.now)
            .unwrap()
            .1
    }

    fn data(&self) -> Data {
        self.data
            .iter()
            .rev()
            .find(|(from, _)| *from <= self.now)
            .unwrap()
            .1
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_nanos((self.now * 1e9) as u64)
    }
}
