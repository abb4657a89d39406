//! `longwire demo`: the whole story on one machine with nothing installed.

use crate::output::{self, Status};
use crate::pipeline::outbox::Outboxes;
use crate::pipeline::tally::{Tally, Wanted};
use analysis::operations::rule::Rule;
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use demo::{Application, Page, Server, Variant};
use live::{Clock, RelayOptions, Target};
use model::Endpoint;
use report::text::DemoOutcome;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// See the whole story in a few seconds, with nothing installed.
///
/// An embedded SQL server, an application that asks it too often, and a relay between them: measured at distance 0,
/// predicted further away, then the same page with its queries joined.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Write records (JSON Lines) instead of the story.
    #[arg(long)]
    pub json: bool,
}

/// Pages of each variant that are measured.
const PAGES: usize = 40;

/// Pages of each variant before that, so that caches and connections of the machine are warm.
const WARM_UP: usize = 3;

/// The distances that are predicted.
const DISTANCES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(120),
];

/// Runs it.
///
/// # Errors
/// When loopback sockets cannot be used.
pub fn run(args: &Args) -> Result<Status> {
    let chatty = Stage::set(Variant::Chatty, "page, 1 + N look-ups")?;
    let joined = Stage::set(Variant::Joined, "page, one join")?;
    let wanted = Wanted {
        rule: Rule::Connection,
        targets: super::predict::distances(&DISTANCES),
        names: vec![
            (chatty.server, chatty.name.clone()),
            (joined.server, joined.name.clone()),
        ],
        json: args.json,
        ..Wanted::default()
    };
    let conditions = output::conditions(
        "longwire demo".to_owned(),
        "kernel receive timestamps where the socket gives them, else the monotonic clock",
        "relay on loopback, in front of an embedded SQL server".to_owned(),
    );
    let mut tally = Tally::new(&wanted, conditions)?;
    let names = [chatty.name.clone(), joined.name.clone()];
    let (before, after) = alternate(&chatty, &joined)?;
    ensure!(
        before.checksum == after.checksum,
        "the two variants of the page show different content"
    );
    for stage in [chatty, joined] {
        stage.strike(&mut tally);
    }
    let (outcome, _) = tally.finish(Vec::new(), None)?;
    if !args.json {
        let [chatty, joined] = names;
        let story = DemoOutcome {
            pages: PAGES,
            rows: before.rows,
            chatty,
            joined,
            outcome,
        };
        output::print(&report::text::demo_view(&story, &output::style()))?;
    }
    Ok(Status::Done)
}

/// Fetches the pages, one of each in turn, so that whatever else the machine does meets both.
fn alternate(chatty: &Stage, joined: &Stage) -> Result<(Page, Page)> {
    for _ in 0..WARM_UP {
        chatty.page_unseen()?;
        joined.page_unseen()?;
    }
    let mut pages = (chatty.page()?, joined.page()?);
    for _ in 1..PAGES {
        pages = (chatty.page()?, joined.page()?);
    }
    Ok(pages)
}

/// A server, a relay in front of it, and the application that uses them.
struct Stage {
    variant: Variant,
    name: Arc<str>,
    server: Endpoint,
    relay: live::Relay,
    outboxes: Arc<Outboxes>,
    /// Stops when dropped.
    database: Server,
}

impl Stage {
    fn set(variant: Variant, name: &str) -> Result<Self> {
        let database = Server::start()?;
        let address = database.address();
        let target = Target::parse(&format!("postgres://{address}/shop"))?;
        let outboxes = Arc::new(Outboxes::new(false));
        let options = RelayOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            target,
            link: None,
        };
        let relay = live::relay::start(options, Clock::anchored_now(), outboxes.clone())
            .context("could not relay on loopback")?;
        let server = Endpoint {
            address: address.ip(),
            port: address.port(),
        };
        Ok(Self {
            variant,
            name: Arc::from(name),
            server,
            relay,
            outboxes,
            database,
        })
    }

    fn page(&self) -> Result<Page> {
        Ok(Application::new().page(self.relay.local_addr(), self.variant)?)
    }

    fn page_unseen(&self) -> Result<Page> {
        Ok(Application::new().page(self.database.address(), self.variant)?)
    }

    /// Ends the relay and hands what it saw to `tally`.
    fn strike(self, tally: &mut Tally) {
        self.relay.stop(LAST_BYTES);
        for fact in self.outboxes.drain() {
            tally.fact(fact);
        }
    }
}

/// How long connections may take to end by themselves.
const LAST_BYTES: Duration = Duration::from_secs(1);
