//! Phases of a run, with one kind of fault each.

use crate::crowd::{Crowd, Epoch, Tally, listen, serve, settle};
use crate::ends::{Tunnel, Wanted};
use crate::pace::{Pace, measure, read_until};
use crate::plan::Plan;
use crate::table::{Watch, row};
use link::LinkDescription;
use netns::{HostId, LinkId, Network, Sandbox};
use std::io::Result;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Levels of [`mixed`] with their share of its payload; slower levels have less.
pub(crate) const LEVELS: [(&str, f64); 5] = [("0", 0.3), ("1", 0.3), ("6", 0.15), ("9", 0.05), ("auto", 0.2)];

type Phase = fn(&Plan, &Sandbox) -> u64;

pub(crate) const OTHERS: [(&str, Phase); 4] = [
    ("killed", killed),
    ("slow", slow),
    ("outage", outage),
    ("beside", beside),
];

struct Sides {
    address: SocketAddr,
    client: Tally,
    server: Arc<Tally>,
    epoch: Epoch,
}

impl Sides {
    fn here() -> Self {
        Self::at(listen((Ipv4Addr::LOCALHOST, 0)))
    }

    fn at(listener: std::net::TcpListener) -> Self {
        let sides = Self {
            address: listener.local_addr().expect("it listens"),
            client: Tally::default(),
            server: Arc::default(),
            epoch: Arc::new(AtomicU64::new(0)),
        };
        serve(listener, Arc::clone(&sides.server), Arc::clone(&sides.epoch));
        sides
    }

    fn crowd<'a>(&'a self, plan: &Plan, connect: &'a (dyn Fn() -> Result<TcpStream> + Sync)) -> Crowd<'a> {
        Crowd {
            connect,
            tally: &self.client,
            epoch: &self.epoch,
            streams: plan.streams,
            payload: plan.payload,
            longest: Duration::MAX,
            largest: plan.largest,
            seed: plan.seed,
        }
    }
}

pub(crate) fn mixed(plan: &Plan, (level, share): (&str, f64)) -> u64 {
    let sides = Sides::here();
    let tunnel = Tunnel::start(&Wanted::to_port(sides.address.port(), &["--level", level]));
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, tunnel.port()));
    let mut crowd = sides.crowd(plan, &connect);
    crowd.payload = (plan.payload as f64 * share) as u64;
    let start = Instant::now();
    crowd.run();
    settle(&sides.server);
    let took = start.elapsed();
    let mut watch = Watch::default();
    watch.sample_tunnel(&tunnel);
    row("mixed", level, [&sides.client, &sides.server], took, &watch)
}

/// Kills the far end repeatedly while streams are active.
fn killed(plan: &Plan, _: &Sandbox) -> u64 {
    let sides = Sides::here();
    let mut tunnel = Tunnel::start(&Wanted::to_port(sides.address.port(), &[]));
    let port = tunnel.port();
    let connect = move || TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    let mut crowd = sides.crowd(plan, &connect);
    crowd.streams = plan.streams.div_ceil(4);
    crowd.payload = u64::MAX;
    crowd.longest = plan.life * (plan.kills + 1);
    let (mut watch, start) = (Watch::default(), Instant::now());
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| crowd.run());
        for _ in 0..plan.kills {
            std::thread::sleep(plan.life);
            watch.sample_tunnel(&tunnel);
            sides.epoch.fetch_add(1, SeqCst);
            tunnel.far.kill();
            let dead = Instant::now();
            let probe = scope.spawn(move || until_one_works(&connect, dead));
            tunnel.far.start_again(&crate::ends::here);
            waits.push(probe.join().expect("a probe does not panic"));
            sides.epoch.fetch_add(1, SeqCst);
        }
    });
    settle(&sides.server);
    watch.sample_tunnel(&tunnel);
    let faults = row(
        "killed",
        "auto",
        [&sides.client, &sides.server],
        start.elapsed(),
        &watch,
    );
    waits.sort_unstable();
    println!(
        "         killed {} times; from a kill to the end of the first new stream: median {:?}, longest {:?}",
        plan.kills,
        waits.get(waits.len() / 2).copied().unwrap_or_default(),
        waits.last().copied().unwrap_or_default()
    );
    faults
}

/// Time from `since` to the successful end of a new stream.
fn until_one_works(connect: &dyn Fn() -> Result<TcpStream>, since: Instant) -> Duration {
    loop {
        let exchanged = connect().and_then(|socket| crate::pace::exchange_once(&socket));
        if exchanged.is_ok() {
            return since.elapsed();
        }
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "no new stream works: {exchanged:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Fast clients with and without a slow one on the same lane.
fn slow(plan: &Plan, _: &Sandbox) -> u64 {
    let sides = Sides::here();
    let tunnel = Tunnel::start(&Wanted::to_port(sides.address.port(), &["--lanes", "1"]));
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, tunnel.port()));
    let mut paces = [Vec::new(), Vec::new()];
    for _ in 0..plan.rounds {
        for (has_slow, found) in paces.iter_mut().enumerate() {
            let over = AtomicBool::new(false);
            let pace = std::thread::scope(|scope| {
                let reader = (has_slow == 1).then(|| scope.spawn(|| read_until(&connect, &over, SLOWLY)));
                let pace = measure(&connect, plan.measure, true);
                over.store(true, SeqCst);
                if let Some(reader) = reader {
                    reader.join().expect("it does not panic").expect("it reads");
                }
                pace.expect("the tunnel carries")
            });
            found.push(pace);
        }
    }
    for (name, found) in ["without", "with"].iter().zip(&paces) {
        println!("slow     {name} a slow reader: {}", rates_and_times(found));
    }
    let [without, with] = paces.map(|found| middle(&found));
    println!(
        "         with over without: rate {:.2}, median round trip {:.2}",
        with.0 / without.0,
        with.1 / without.1
    );
    0
}

/// Median bytes per second and median round-trip time in seconds.
fn middle(found: &[Pace]) -> (f64, f64) {
    let median = |of: &dyn Fn(&Pace) -> f64| {
        let mut values: Vec<f64> = found.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    (
        median(&|pace| pace.rate.unwrap_or_default()),
        median(&|pace| pace.trip(0.5).as_secs_f64()),
    )
}

fn rates_and_times(found: &[Pace]) -> String {
    let (rate, trip) = middle(found);
    let worst = found.iter().map(|pace| pace.trip(0.99)).max().unwrap_or_default();
    let trips: usize = found.iter().map(|pace| pace.trips.len()).sum();
    format!(
        "{:.2} MB/s, round trips median {:.3} ms, 99 % {:.3} ms ({trips})",
        rate / 1e6,
        trip * 1e3,
        worst.as_secs_f64() * 1e3
    )
}

struct Stand {
    network: Network,
    near: HostId,
    far: HostId,
    link: LinkId,
    sides: Sides,
}

impl Stand {
    fn new(sandbox: &Sandbox, link: &str) -> Self {
        let mut network = Network::new(sandbox).expect("a network");
        let near = network.add_host("near").expect("a host");
        let far = network.add_host("far").expect("a host");
        let link: LinkDescription = link.parse().expect("a link");
        let link = network.add_link(near, far, &link).expect("a link");
        let address = network.address(far, near).expect("they are linked");
        let listener = network.within(far, || listen((address, 0)));
        Self {
            network,
            near,
            far,
            link,
            sides: Sides::at(listener),
        }
    }

    fn tunnel(&self, near_options: &[&str]) -> Tunnel {
        let place_near = |command: &mut Command| self.network.run_in(self.near, command);
        let place_far = |command: &mut Command| self.network.run_in(self.far, command);
        Tunnel::start(&Wanted {
            to: self.sides.address,
            far: self.far_address(),
            near_options,
            place_near: &place_near,
            place_far: &place_far,
        })
    }

    fn far_address(&self) -> IpAddr {
        self.sides.address.ip()
    }

    fn connect(&self, to: SocketAddr) -> Result<TcpStream> {
        self.network.within(self.near, || TcpStream::connect(to))
    }
}

/// Streams over a link with repeated outages.
fn outage(plan: &Plan, sandbox: &Sandbox) -> u64 {
    let stand = Stand::new(sandbox, "rate=200mbit rtt=10ms outage=300ms@300ms/900ms");
    let tunnel = stand.tunnel(&[]);
    let connect = || stand.connect(tunnel.near.address);
    let mut crowd = stand.sides.crowd(plan, &connect);
    crowd.payload = plan.payload / 10;
    crowd.streams = plan.streams.div_ceil(4);
    let start = Instant::now();
    crowd.run();
    settle(&stand.sides.server);
    let took = start.elapsed();
    let mut watch = Watch::default();
    watch.sample_tunnel(&tunnel);
    let faults = row(
        "outage",
        "auto",
        [&stand.sides.client, &stand.sides.server],
        took,
        &watch,
    );
    let outcome = stand.network.outcome(stand.link);
    let dropped = outcome.directions.map(|way| way.dropped_by_outage);
    println!("         packets lost in outages, each way: {dropped:?}");
    faults
}

/// Small exchanges during a large transfer: on one lane, and on separate connections.
fn beside(plan: &Plan, sandbox: &Sandbox) -> u64 {
    let stand = Stand::new(sandbox, "rate=1MB/s rtt=20ms");
    let direct = || stand.connect(stand.sides.address);
    let span = plan.measure * 4;
    let alone = measure(&direct, span, false).expect("the link carries");
    println!("beside   alone, direct: {}", rates_and_times(&[alone]));
    let pace = measure(&direct, span, true).expect("the link carries");
    println!("beside   two connections, direct: {}", rates_and_times(&[pace]));
    for level in ["0", "1"] {
        let tunnel = stand.tunnel(&["--lanes", "1", "--level", level]);
        let through = || stand.connect(tunnel.near.address);
        let alone = measure(&through, span, false).expect("the tunnel carries");
        println!(
            "beside   alone, tunnel at level {level}: {}",
            rates_and_times(&[alone])
        );
        let pace = measure(&through, span, true).expect("the tunnel carries");
        println!(
            "beside   two streams on one lane at level {level}: {}",
            rates_and_times(&[pace])
        );
    }
    0
}

/// Pause between reads of 4 KiB, for 80 kB/s.
const SLOWLY: Duration = Duration::from_millis(50);
