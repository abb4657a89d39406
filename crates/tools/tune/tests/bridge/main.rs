//! The JDBC bridge with real drivers and servers: results, counts, and error messages.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod derby;
mod drivers;
mod faults;
mod informix;
mod oracle;
mod tuning;

use client::bridge::{
    Bridge, BridgeConnection, BridgeError, BridgeOptions, DriverFiles, Introduction, JdbcUrl, Login, Wait,
};
use std::sync::Arc;
use std::time::Duration;
use sys::StopToken;
use testbed::java;

static NEVER: StopToken = StopToken::never();

const WAIT: Wait<'static> = Wait {
    timeout: Duration::from_secs(30),
    stop: &NEVER,
};

fn driver(coordinates: &[&str]) -> DriverFiles {
    let jars: Vec<String> = java::jars(coordinates)
        .iter()
        .map(|jar| jar.display().to_string())
        .collect();
    DriverFiles::find(jars.iter().map(String::as_str)).unwrap()
}

fn options(coordinates: &[&str]) -> BridgeOptions {
    BridgeOptions {
        jar: Some(java::bridge()),
        ..BridgeOptions::new(driver(coordinates))
    }
}

fn start(coordinates: &[&str]) -> Arc<Bridge> {
    Bridge::start(&options(coordinates), &NEVER).unwrap()
}

fn connect(bridge: &Arc<Bridge>, url: &str) -> Result<(BridgeConnection, Introduction), BridgeError> {
    let login = Login {
        url: JdbcUrl::parse(url).unwrap(),
        properties: Vec::new(),
        class: None,
    };
    bridge.connect(&login, WAIT)
}

const PGJDBC: &str = "org.postgresql:postgresql:42.7.4";

/// Converts `scheme://user:password@host/db` for drivers that accept no user there.
fn jdbc(url: &str, scheme: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap();
    let (user, rest) = rest.split_once('@').unwrap();
    let (user, password) = user.split_once(':').unwrap();
    format!("jdbc:{scheme}://{rest}?user={user}&password={password}")
}
