//! Going through a JDBC driver, as options of `ping`, `load` and `tune`.

use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use client::bridge::{Bridge, BridgeOptions, DriverFiles, JdbcUrl, Login, Wait};
use pipeline::output;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use sys::{Secret, Target};

/// Which driver, and with what.
#[derive(Debug, ClapArgs)]
pub struct DriverArgs {
    /// Go through this JDBC driver: FILE.jar, several with colons between them, or group:artifact:version of
    /// the local Maven repository; may be repeated.
    #[arg(id = "driver", long = "driver", value_name = "JAR|COORDINATE")]
    drivers: Vec<String>,
    /// The driver's class, where its jar does not say which it is.
    #[arg(long = "driver-class", value_name = "CLASS", requires = "driver")]
    class: Option<String>,
    /// A property of the connection; may be repeated. Everybody on this machine can read it: passwords are
    /// better in the environment, as LONGWIRE_JDBC_PASSWORD.
    #[arg(long = "property", value_name = "NAME=VALUE", requires = "driver")]
    properties: Vec<String>,
    /// Where longwire-jdbc.jar is, when it is not in the directory of longwire.
    #[arg(long, value_name = "FILE", requires = "driver")]
    bridge: Option<PathBuf>,
}

impl DriverArgs {
    /// Whether `target` is to be reached through a driver.
    pub fn takes(&self, target: &str) -> bool {
        !self.drivers.is_empty() && target.trim_start().starts_with("jdbc:")
    }

    /// Whether a driver was given at all.
    pub fn is_given(&self) -> bool {
        !self.drivers.is_empty()
    }

    /// The options that the bridge is started with.
    ///
    /// # Errors
    /// When a jar is missing, or none is given.
    pub fn options(&self) -> Result<BridgeOptions> {
        let drivers = DriverFiles::find(self.drivers.iter().map(String::as_str))?;
        Ok(BridgeOptions {
            jar: self.bridge.clone(),
            ..BridgeOptions::new(drivers)
        })
    }

    /// How reports name `url`, which led to `target`.
    pub fn shown(&self, url: &str, target: &Target) -> String {
        let url = JdbcUrl::parse(url).ok().filter(|_| self.is_given());
        url.map_or_else(|| target.to_string(), |url| url.to_string())
    }

    /// Starts the bridge, and reports the time it adds itself.
    ///
    /// # Errors
    /// As [`DriverArgs::options`]; when it cannot be started.
    pub fn start(&self, stop: &AtomicBool) -> Result<Arc<Bridge>> {
        let options = self.options()?;
        let bridge = Bridge::start(&options, stop)?;
        let timeout = options.timeout;
        let overhead = bridge.overhead(Wait { timeout, stop })?;
        output::print_note(&format!(
            "timed in Java {}, around the driver's calls: {} of that are the bridge's own; from one statement to the next it takes {}",
            bridge.java(),
            model::format_duration(overhead.call),
            model::format_duration(overhead.round_trip),
        ));
        Ok(bridge)
    }

    /// The server to connect to.
    ///
    /// # Errors
    /// When `url` is no JDBC URL, or a property has no value.
    pub fn login(&self, url: &str) -> Result<Login> {
        let url = JdbcUrl::parse(url)?;
        let properties = self.properties.iter().map(|text| {
            let (name, value) = text
                .split_once('=')
                .context("--property takes NAME=VALUE, and one has no `=`")?;
            Ok((name.to_owned(), Secret::new(value)))
        });
        let properties = properties.collect::<Result<_>>()?;
        Ok(Login::new(url, properties, self.class.clone()))
    }
}
