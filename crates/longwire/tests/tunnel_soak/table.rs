//! Prints one result line per phase.

use crate::crowd::Tally;
use crate::ends::Tunnel;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

pub(crate) const HEAD: &str = "phase    level  streams   whole   reset  broken    payload     time    MB/s  near peak  far peak  faults";

/// Prints both sides of a phase with the first faults; returns the number of faults.
pub(crate) fn row(phase: &str, level: &str, sides: [&Tally; 2], took: Duration, watch: &Watch) -> u64 {
    let [client, server] = sides;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(SeqCst);
    let payload = load(&client.bytes);
    let ended = load(&client.whole) + load(&client.reset) + load(&client.broken);
    watch.judge(client);
    let mut faults = 0;
    let mut told = Vec::new();
    for side in sides {
        let (count, first) = side.faults();
        faults += count;
        told.extend(first);
    }
    println!(
        "{phase:<8} {level:<5} {ended:>8} {:>7} {:>7} {:>7} {:>7} MB {:>7.2}s {:>7.1} {:>6} MiB {:>5} MiB {faults:>7}",
        load(&client.whole),
        load(&client.reset),
        load(&client.broken),
        payload / 1_000_000,
        took.as_secs_f64(),
        payload as f64 / took.as_secs_f64() / 1e6,
        watch.near >> 20,
        watch.far >> 20,
    );
    for fault in told {
        println!("         {fault}");
    }
    if faults > 0 {
        let [near, far] = &watch.told;
        println!("         the near end said:\n{near}         the far end said:\n{far}");
    }
    if load(&client.broken) == 0 && load(&client.whole) != load(&server.whole) {
        println!(
            "         clients saw {} whole streams, servers {}",
            load(&client.whole),
            load(&server.whole)
        );
        faults += 1;
    }
    faults
}

/// Maximum memory of both ends in bytes (resident sets, including code and shared pages), and their
/// output.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    near: u64,
    far: u64,
    told: [String; 2],
}

impl Watch {
    pub(crate) fn sample_tunnel(&mut self, tunnel: &Tunnel) {
        self.near = self.near.max(tunnel.near.memory("VmHWM").unwrap_or_default());
        self.far = self.far.max(tunnel.far.memory("VmHWM").unwrap_or_default());
        self.told = [tunnel.near.reported(), tunnel.far.reported()];
    }

    fn judge(&self, tally: &Tally) {
        for (end, most) in [("near", self.near), ("far", self.far)] {
            if most > MEMORY_BOUND {
                tally.fault(format!(
                    "the {end} end had {most} bytes of memory, more than {MEMORY_BOUND}"
                ));
            }
        }
    }
}

/// Memory limit for an end with two lanes. Each lane has the pool for slow readers, 32 KiB for each
/// of 1,024 streams, and the contexts of both directions at level 9.
const MEMORY_BOUND: u64 = (2 * (64 + 32 + 64)) << 20;
