//! Hours of an agent, by a clock that moves only while the agent waits.

use super::*;
use std::cell::Cell;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use sys::arguments::CommandLine;
use sys::listening::PlainClients;

const RELAY: &str = "[[relay]]\ntarget = 'redis://127.0.0.1:6379'\nlisten = '127.0.0.1:0'\n";

/// Traffic of which nothing is seen, until a time.
struct Silence<'a> {
    clock: &'a Cell<Instant>,
    until: Instant,
    manager: Option<&'a UnixDatagram>,
    alive: Vec<Instant>,
}

impl LiveTraffic for Silence<'_> {
    fn collect(&mut self, limit: WaitLimit<'_>, _aggregator: &mut Aggregator) {
        let mut text = [0; 200];
        while let Some(Ok(length)) = self.manager.map(|manager| manager.recv(&mut text)) {
            if &text[..length] == b"WATCHDOG=1" {
                self.alive.push(self.clock.get());
            }
        }
        self.clock.set(self.clock.get() + limit.longest);
    }

    fn ended(&self, _is_wanted: bool) -> Option<Status> {
        None
    }

    fn open_connections(&self) -> u64 {
        0
    }

    fn over(&self) -> Option<&'static str> {
        (self.clock.get() >= self.until).then_some("the test is over")
    }
}

/// Begins an agent with this configuration in `folder`.
fn with_agent(folder: &Path, config: &str, act: impl FnOnce(Agent<'_>, Aggregator, &Cell<Instant>)) {
    let plan = AgentPlan {
        config: folder.join("agent.toml"),
        plain_clients: PlainClients::default(),
        records: None,
    };
    std::fs::write(&plan.config, config).expect("written");
    let config = AgentConfig::read_file(&plan.config, plan.plain_clients).expect("valid");
    let clock = Cell::new(Instant::now());
    let now = || clock.get();
    let conditions = output::conditions(
        &CommandLine::from_arguments(&["longwire"]),
        "a test's",
        "nowhere".to_owned(),
    );
    let end = EndRequest::on_signals().expect("handlers");
    let (agent, aggregator) = Agent::start(&now, &plan, config, conditions, end).expect("it starts");
    act(agent, aggregator, &clock);
}

fn observe<'a>(
    agent: &mut Agent<'_>,
    aggregator: &mut Aggregator,
    clock: &'a Cell<Instant>,
    span: Duration,
    manager: Option<&'a UnixDatagram>,
) -> Vec<Instant> {
    let mut traffic = Silence {
        clock,
        until: clock.get() + span,
        manager,
        alive: Vec::new(),
    };
    let error = agent.observe(&mut traffic, aggregator).expect_err("it ends");
    assert_eq!(error.to_string(), "the test is over");
    traffic.alive
}

#[test]
fn windows_end_at_their_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = format!("{RELAY}[windows]\nlength = '90s'\n");
    with_agent(folder.path(), &config, |mut agent, mut aggregator, clock| {
        let began = clock.get();
        for (minutes, windows) in [(1, 0), (1, 1), (1, 2), (57, 40)] {
            observe(
                &mut agent,
                &mut aggregator,
                clock,
                Duration::from_secs(60 * minutes),
                None,
            );
            assert_eq!(agent.window_began - began, Duration::from_secs(90 * windows));
        }
    });
}

#[test]
fn a_watchdog_hears_twice_in_its_interval_and_once_a_second_at_least() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("bound");
    manager.set_nonblocking(true).expect("set");
    with_agent(folder.path(), RELAY, |mut agent, mut aggregator, clock| {
        for (watchdog, every) in [(None, 1_000), (Some(60_000), 1_000), (Some(1_000), 500)] {
            agent.manager = ServiceManager::new(Some(path.as_os_str()), watchdog.map(Duration::from_millis));
            let span = Duration::from_secs(20);
            let alive = observe(&mut agent, &mut aggregator, clock, span, Some(&manager));
            assert!(alive.len() >= 18, "{}", alive.len());
            let apart = alive.windows(2).map(|pair| pair[1] - pair[0]);
            assert_eq!(apart.max(), Some(Duration::from_millis(every)));
        }
    });
}

#[test]
fn a_valid_configuration_is_taken_and_an_invalid_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    with_agent(folder.path(), RELAY, |mut agent, mut aggregator, _| {
        for (text, length) in [("'90s'", 90), ("'no time'", 90), ("'7m'", 420)] {
            let config = format!("{RELAY}[windows]\nlength = {text}\n");
            std::fs::write(&agent.plan.config, config).expect("written");
            agent.begin_reload();
            while agent.reload.is_some() {
                agent.end_reload(&mut aggregator);
            }
            assert_eq!(agent.config.window, Duration::from_secs(length), "{text}");
        }
    });
}
