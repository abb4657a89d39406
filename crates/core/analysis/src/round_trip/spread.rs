//! Bounds of the round trip to a server, from the samples of all its connections.

use foldhash::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Paths of a run by hosts, shared by clones.
#[derive(Debug, Clone, Default)]
pub struct Paths(Arc<Mutex<HashMap<(IpAddr, IpAddr), Path>>>);

/// The path between the observation point and a server, for one client's connections; clones share
/// it.
///
/// A connection shows few round trips without application time: its handshake, and acknowledgements
/// without payload. All connections between two hosts share a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path(Arc<Mutex<Recent>>);

#[derive(Debug, Default)]
struct Recent {
    samples: Vec<Duration>,
    next: usize,
    bounds: Option<[Duration; 2]>,
}

impl Paths {
    /// Beyond the limit of hosts, returns an unshared path.
    pub(crate) fn between(&self, client: IpAddr, server: IpAddr) -> Path {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if paths.len() >= MAXIMUM_PATHS && !paths.contains_key(&(client, server)) {
            return Path::default();
        }
        paths.entry((client, server)).or_default().clone()
    }
}

impl Path {
    pub(crate) fn sample(&self, rtt: Duration) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.sample(rtt);
    }

    /// Expected minimum and maximum; `None` before the first sample.
    pub(crate) fn bounds(&self) -> Option<[Duration; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bounds
    }
}

impl Recent {
    fn sample(&mut self, rtt: Duration) {
        match self.samples.get_mut(self.next) {
            Some(oldest) => *oldest = rtt,
            None => self.samples.push(rtt),
        }
        self.next = (self.next + 1) % SAMPLES;
        self.bounds = bounds(&self.samples);
    }
}

/// Expected minimum and maximum after `samples`.
///
/// 1. Of n independent samples the next lies within their range in n - 1 of n + 1 cases: nine in ten from 19
///    on. So the range is widened by two spreads over n - 1 each way.
/// 2. Few samples may be alike by chance: the spread is at least a host's wake-up time and a sixteenth of the
///    round trip.
/// 3. One sample shows no spread: half of it, as in TCP (RFC 6298 section 2.2).
fn bounds(samples: &[Duration]) -> Option<[Duration; 2]> {
    let (shortest, longest) = (*samples.iter().min()?, *samples.iter().max()?);
    let further = match u32::try_from(samples.len() - 1) {
        Ok(0) => shortest / 2 + WAKE_UP,
        others => {
            let spread = (longest - shortest) * 2;
            spread.max(WAKE_UP + shortest / 16) / others.unwrap_or(u32::MAX)
        }
    };
    Some([shortest.saturating_sub(further), longest.saturating_add(further)])
}

const SAMPLES: usize = 64;
/// They take some 20 MB.
const MAXIMUM_PATHS: usize = 16_384;
/// Maximum time of a host to wake up and answer.
const WAKE_UP: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    fn after(samples: &[u64]) -> [Duration; 2] {
        let path = Path::default();
        samples.iter().for_each(|sample| path.sample(us(*sample)));
        path.bounds().expect("samples")
    }

    #[test]
    fn bounds_come_nearer_to_the_samples_the_more_there_are() {
        assert_eq!(after(&[10_000]), [us(4_950), us(15_050)]);
        assert_eq!(after(&[10_000, 10_000]), [us(9_325), us(10_675)]);
        assert_eq!(after(&[10_000, 10_400, 10_200]), [us(9_600), us(10_800)]);
        let many: Vec<u64> = (0..41).map(|number| 10_000 + 10 * number).collect();
        assert_eq!(after(&many), [us(9_980), us(10_420)]);
        assert_eq!(Path::default().bounds(), None);
    }

    #[test]
    fn old_samples_are_forgotten() {
        let moved: Vec<u64> = std::iter::once(1_000).chain([20_000; 64]).collect();
        assert!(after(&moved)[0] > us(19_900));
    }

    #[test]
    fn connections_between_the_same_hosts_share_a_path() {
        let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let paths = Paths::default();
        paths.between(host(1), host(2)).sample(us(100));
        assert!(paths.clone().between(host(1), host(2)).bounds().is_some());
        assert_eq!(paths.between(host(2), host(1)).bounds(), None);
    }

    /// With random variation, the next round trip lies within the bounds in nine of ten cases,
    /// however few the samples.
    #[test]
    fn nine_of_ten_round_trips_lie_within_the_bounds() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for seen in [1_usize, 2, 3, 5, 10, 30, 64] {
            let mut within = 0;
            for _ in 0..2_000 {
                // 10 ms, and each way up to 1 ms more.
                let mut draw = || Duration::from_secs_f64(0.010 + 0.001 * (uniform() + uniform()));
                let samples: Vec<Duration> = (0..seen).map(|_| draw()).collect();
                let [shortest, longest] = bounds(&samples).expect("samples");
                let next = draw();
                within += u32::from(shortest <= next && next <= longest);
            }
            assert!(within >= 1_800, "{within} of 2000 after {seen}");
        }
    }
}
