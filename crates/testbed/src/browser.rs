//! Headless Chromium from Debian, driven by chromedriver.
//!
//! chromedriver speaks WebDriver, which is JSON over HTTP (W3C WebDriver, section 6), on a private
//! port. Chromium has a private profile; dropping the value ends both.

use crate::process::{free_port, given, require};
use serde_json::{Value, json};
use servers::{Account, Here, Process, Readiness};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[derive(Debug)]
pub struct Browser {
    port: u16,
    session: String,
    driver: Process,
    /// Profile and log, removed after the processes have ended.
    directory: tempfile::TempDir,
}

impl Browser {
    /// The window has `width` by `height` CSS pixels.
    pub fn start(width: u32, height: u32) -> Self {
        let directory = tempfile::tempdir().expect("a private directory can be made");
        write_launcher(&directory.path().join(LAUNCHER));
        let (driver, port) = start_driver(directory.path());
        let mut browser = Self {
            port,
            session: String::new(),
            driver,
            directory,
        };
        let answer = browser.post("/session", &browser.capabilities(width, height));
        browser.session = answer["sessionId"]
            .as_str()
            .expect("a session has a number")
            .to_owned();
        browser.resize(width, height);
        browser
    }

    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    pub fn open(&self, file: &Path) {
        let file = file
            .canonicalize()
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.command("url", &json!({ "url": format!("file://{}", file.display()) }));
    }

    /// Runs the body of a function in the page and returns its result.
    pub fn run(&self, body: &str) -> Value {
        self.command("execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// The visible text of the first element matching `selector`.
    pub fn text(&self, selector: &str) -> String {
        let element = self.element(selector);
        let answer = self.get(&format!("/session/{}/element/{element}/text", self.session));
        answer.as_str().unwrap_or_default().to_owned()
    }

    /// Presses keys, such as [`RIGHT`], while the first element matching `selector` has the focus.
    pub fn press(&self, selector: &str, keys: &str) {
        let element = self.element(selector);
        self.command(&format!("element/{element}/value"), &json!({ "text": keys }));
    }

    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command(
            "goog/cdp/execute",
            &json!({ "cmd": command, "params": parameters }),
        )
    }

    /// Console messages since the last call, including errors of scripts and of the content
    /// security policy.
    pub fn console(&self) -> Vec<String> {
        self.log("browser")
    }

    /// Addresses requested by pages since the last call, without the browser's own.
    pub fn requested(&self) -> Vec<String> {
        let messages = self.log("performance");
        let parsed = messages
            .iter()
            .filter_map(|message| serde_json::from_str::<Value>(message).ok());
        parsed
            .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
            .filter_map(|event| Some(event["message"]["params"]["request"]["url"].as_str()?.to_owned()))
            .filter(|address| !address.starts_with("chrome:"))
            .collect()
    }

    fn log(&self, kind: &str) -> Vec<String> {
        let entries = self.command("se/log", &json!({ "type": kind }));
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| Some(entry["message"].as_str()?.to_owned()))
            .collect()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.command("element", &json!({ "using": "css selector", "value": selector }));
        let id = found
            .as_object()
            .and_then(|found| found.values().next())
            .and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("no element {selector}")).to_owned()
    }

    fn capabilities(&self, width: u32, height: u32) -> Value {
        let profile = self.directory.path().join("profile");
        let mut arguments: Vec<String> = QUIET.iter().map(|argument| (*argument).to_owned()).collect();
        arguments.push(format!("--user-data-dir={}", profile.display()));
        arguments.push(format!("--window-size={width},{height}"));
        json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "binary": self.directory.path().join(LAUNCHER), "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } })
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.post(&format!("/session/{}/{path}", self.session), body)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.send_command("POST", path, &body.to_string())
    }

    fn get(&self, path: &str) -> Value {
        self.send_command("GET", path, "")
    }

    fn send_command(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.exchange(method, path, body);
        let answer =
            answer.unwrap_or_else(|error| panic!("chromedriver: {path}: {error}\n{}", self.driver.log()));
        assert!(
            answer["value"]["error"].is_null(),
            "chromedriver: {path} {body}: {}",
            answer["value"]
        );
        answer["value"].clone()
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<Value> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium and its children; the driver ends with the field.
        if !self.session.is_empty() {
            self.exchange("DELETE", &format!("/session/{}", self.session), "")
                .ok();
        }
        self.driver.stop();
    }
}

/// A program that becomes Chromium and ends with chromedriver, which ends with this process.
/// Without it, Chromium outlives a killed chromedriver.
fn write_launcher(path: &Path) {
    let script = format!(
        "#!/bin/sh\nexec '{}' --pdeathsig KILL '{}' \"$@\"\n",
        require("setpriv").display(),
        require("chromium").display()
    );
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::write(path, script)
        .and_then(|()| std::fs::set_permissions(path, executable))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Retries with another port if the chosen one was taken.
fn start_driver(directory: &Path) -> (Process, u16) {
    let program = require("chromedriver");
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let port = free_port();
        let mut command = Command::new(&program);
        command.arg(format!("--port={port}")).current_dir(directory);
        // Chromium writes crash reports and settings here; the real home is not touched.
        command
            .env("HOME", directory)
            .env("XDG_CONFIG_HOME", directory)
            .env("XDG_CACHE_HOME", directory);
        let log = directory.join("chromedriver.log");
        let mut driver = given(Process::start(command, &Here, Account::Own, &log, libc::SIGTERM));
        let ready = Readiness::Log("started successfully".to_owned());
        match ready.wait("chromedriver", &mut driver, &Here, Account::Own, TIMEOUT) {
            Ok(()) => return (driver, port),
            Err(error) => last = error.to_string(),
        }
    }
    panic!("chromedriver does not start: {last}");
}

pub const RIGHT: &str = "\u{e014}";
pub const LEFT: &str = "\u{e012}";
pub const END: &str = "\u{e010}";
pub const HOME: &str = "\u{e011}";

/// No window, no sandbox (root cannot have one), no background traffic.
const QUIET: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

const LAUNCHER: &str = "chromium-launcher";
const TIMEOUT: Duration = Duration::from_secs(90);
const ATTEMPTS: usize = 5;
