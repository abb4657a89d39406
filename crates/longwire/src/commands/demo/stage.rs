//! Runs the demo's server, a relay in front of it, and the application.

use anyhow::{Context, Result};
use demo::{FetchedPage, PageVariant, Server, ShopApplication};
use model::Endpoint;
use pipeline::aggregator::Aggregator;
use pipeline::fact_channel::FactChannel;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::listening::on_loopback;
use sys::{Clock, Target};

pub struct DemoSetup {
    pub variant: PageVariant,
    pub name: Arc<str>,
    pub server: Endpoint,
    relay: relay::Relay,
    channel: Arc<FactChannel>,
    database: Server,
}

impl DemoSetup {
    pub fn set(variant: PageVariant, name: &str) -> Result<Self> {
        let database = Server::start(on_loopback().context("could not listen on a port of 127.0.0.1")?)?;
        let address = database.address();
        let channel = Arc::new(FactChannel::new(false)?);
        let options = relay::Options::new(target_at(address)?);
        let relay = relay::start(options, Clock::anchored_now(), channel.clone())
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
            channel,
            database,
        })
    }

    pub fn page(&self) -> Result<FetchedPage> {
        Ok(ShopApplication::new().page(self.relay.local_addr(), self.variant)?)
    }

    pub fn page_unseen(&self) -> Result<FetchedPage> {
        Ok(ShopApplication::new().page(self.database.address(), self.variant)?)
    }

    pub fn target(&self) -> Result<Target> {
        target_at(self.database.address())
    }

    pub fn strike(self, aggregator: &mut Aggregator) {
        self.relay.stop(LAST_BYTES);
        for fact in self.channel.facts() {
            aggregator.fact(fact);
        }
        aggregator.lost(self.channel.take_losses());
    }
}

fn target_at(address: SocketAddr) -> Result<Target> {
    Ok(Target::parse(&format!(
        "postgres://{address}/shop?sslmode=disable"
    ))?)
}

/// Time limit for connections to close.
const LAST_BYTES: Duration = Duration::from_secs(1);
