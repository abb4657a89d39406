//! Options of `ping`, `load` and `tune` for a JDBC driver.

use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use client::bridge::{Bridge, BridgeOptions, DriverFiles, JdbcUrl, Login, Wait};
use pipeline::output;
use std::path::PathBuf;
use std::sync::Arc;
use sys::Secret;
use sys::StopToken;

#[derive(Debug, ClapArgs)]
pub struct DriverArgs {
    /// Use this JDBC driver: FILE.jar, several with colons between them, or group:artifact:version
    /// of the local Maven repository. Can be repeated.
    #[arg(id = "driver", long = "driver", value_name = "JAR|COORDINATE")]
    drivers: Vec<String>,
    /// The driver's class, if its jar does not name it.
    #[arg(long = "driver-class", value_name = "CLASS", requires = "driver")]
    class: Option<String>,
    /// A property of the connection; can be repeated. Other users of this machine can read it: pass
    /// passwords in LONGWIRE_JDBC_PASSWORD.
    #[arg(long = "property", value_name = "NAME=VALUE", requires = "driver")]
    properties: Vec<String>,
    /// Path of longwire-jdbc.jar, if it is not in the directory of longwire.
    #[arg(long, value_name = "FILE", requires = "driver")]
    bridge: Option<PathBuf>,
}

impl DriverArgs {
    /// Whether `target` needs a driver.
    pub fn takes(&self, target: &str) -> bool {
        !self.drivers.is_empty() && target.trim_start().starts_with("jdbc:")
    }

    pub fn is_given(&self) -> bool {
        !self.drivers.is_empty()
    }

    /// # Errors
    /// When a jar is missing, or none is given.
    pub fn options(&self) -> Result<BridgeOptions> {
        let drivers = DriverFiles::find(self.drivers.iter().map(String::as_str))?;
        Ok(BridgeOptions {
            jar: self.bridge.clone(),
            ..BridgeOptions::new(drivers)
        })
    }

    /// Starts the bridge and reports the time it adds.
    ///
    /// # Errors
    /// As [`DriverArgs::options`]; when it cannot be started.
    pub fn start(&self, stop: &StopToken) -> Result<Arc<Bridge>> {
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

    /// # Errors
    /// When `url` is not a JDBC URL, or a property has no value.
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
