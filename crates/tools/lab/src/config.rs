//! Parses a lab's file: hosts, links, services, workload, sweeps.
//!
//! The language is documented in docs/lab.md. [`tree`] keeps the position of every value, so that
//! errors have line and column, also for values of a sweep.

mod links;
mod section;
mod services;
mod sweep;
pub mod tree;
mod variants;
mod workload;

pub use model::ConfigError;
pub use sweep::{Axis, SettingSweep, VARIANT};
pub use variants::LabVariant;

use analysis::operations::rule::Rule;
use anyhow::{Context, Result};
use link::LinkDescription;
use model::ConfigFile as File;
pub use section::advice;
use section::{Section, text};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::files::{MAX_CONFIG_BYTES, read_small_text};
use tree::{ConfigNode, ConfigValue, FileSpan, Table};

/// A checked lab in which every name exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    pub name: String,
    /// Directory of the file, in which commands run and paths start.
    pub home: PathBuf,
    /// Determines the order of points, loss and jitter.
    pub seed: u64,
    pub hosts: Vec<String>,
    pub links: Vec<LabLink>,
    /// In the order in which they start.
    pub services: Vec<Service>,
    /// The work to run and measure.
    pub workload: WorkloadSettings,
    /// The amount of work.
    pub measure: MeasureSettings,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LabLink {
    pub name: String,
    /// The client's side comes first.
    pub between: [String; 2],
    pub link: LinkDescription,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    pub name: String,
    /// Position of its table, for errors.
    pub place: FileSpan,
    pub host: String,
    pub kind: ServiceKind,
    /// Always present for [`ServiceKind::Command`].
    pub command: Option<CommandLine>,
    /// As written, with positions.
    pub settings: Table,
    pub environment: Vec<(String, String)>,
    /// Checked in addition to the kind's own check.
    pub ready: Option<ReadinessCheck>,
    /// Time limit for getting ready.
    pub ready_timeout: Duration,
    /// Run one after another on its host once it is ready.
    pub setup: Vec<CommandLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceKind {
    /// The system's `mariadbd` with a private data directory.
    Mariadb,
    /// The system's `postgres` with a private data directory.
    Postgres,
    /// The system's `nginx` with a private directory.
    Nginx,
    /// The system's `php-fpm` with a private directory.
    PhpFpm,
    Command,
}

impl ServiceKind {
    pub const ALL: [Self; 5] = [
        Self::Mariadb,
        Self::Postgres,
        Self::Nginx,
        Self::PhpFpm,
        Self::Command,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Postgres => "postgres",
            Self::Nginx => "nginx",
            Self::PhpFpm => "php-fpm",
            Self::Command => "command",
        }
    }
}

/// A program with its arguments. A string in the file runs with `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    pub words: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadinessCheck {
    /// A TCP connection to this port succeeds.
    Port(u16),
    /// This URL returns no error status.
    Url(String),
    /// This command exits with status 0.
    Command(CommandLine),
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSettings {
    pub kind: WorkloadKind,
    pub host: String,
    /// Concurrent clients in a closed loop.
    pub clients: u32,
    /// Unit that is counted and compared; `None` means one run of the command.
    pub operation: Option<Rule>,
    /// Longer operations count as failed.
    pub timeout: Duration,
}

impl WorkloadSettings {
    pub fn words(&self) -> String {
        let what = match &self.kind {
            WorkloadKind::Http { .. } => "HTTP requests".to_owned(),
            WorkloadKind::Sql { .. } => "SQL statements".to_owned(),
            WorkloadKind::Command { .. } => "a command".to_owned(),
        };
        let plural = if self.clients == 1 { "" } else { "s" };
        format!(
            "{what} from {}, {} client{plural} at once",
            self.host, self.clients
        )
    }
}

impl Amount {
    pub fn words(&self) -> String {
        let duration = self.duration.map(model::format_duration);
        let operations = self
            .operations
            .map(|count| model::counted(count, "operation", "operations"));
        match (operations, duration) {
            (Some(operations), Some(duration)) => format!("{operations} each, at most {duration}"),
            (Some(operations), None) => format!("{operations} each"),
            (None, Some(duration)) => format!("{duration} each"),
            (None, None) => "nothing each".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadKind {
    Http {
        url: String,
        /// Requests of a client share a connection.
        keep_alive: bool,
    },
    Sql {
        target: String,
        /// Executed in order by one operation; each is a statement or a whole script.
        statements: Vec<String>,
        /// Reconnect for each operation.
        reconnect: bool,
    },
    Command {
        command: CommandLine,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureSettings {
    pub amount: Amount,
    /// Uncounted operations at zero distance.
    pub warmup: u64,
    /// Uncounted operations at each point.
    pub settle: u64,
    /// Operations in the capture without distance, if different from a point.
    pub baseline_operations: Option<u64>,
    /// Measurements of each point.
    pub repeat: u32,
    /// Points between repeated measurements of the baseline.
    pub baseline_every: u32,
    /// Addresses are assigned to hosts from the lab's file; otherwise captures must show the
    /// assignment.
    pub hosts_known: bool,
}

/// The workload ends at the first of these limits, after operations in progress complete. At least
/// one is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Total over all clients.
    pub operations: Option<u64>,
    pub duration: Option<Duration>,
}

/// A lab's file with its tree and sweeps.
#[derive(Debug, Clone)]
pub struct LabFile {
    path: PathBuf,
    text: String,
    root: Table,
    pub lab: Lab,
    /// In the order of the file.
    pub variants: Vec<LabVariant>,
    /// In the order of the file.
    pub sweeps: Vec<SettingSweep>,
}

impl LabFile {
    /// # Errors
    /// If it cannot be read, or is invalid ([`ConfigError`]).
    pub fn read_file(path: &Path) -> Result<Self> {
        let text = read_small_text(path, MAX_CONFIG_BYTES)
            .with_context(|| format!("could not read {}", path.display()))?;
        Ok(Self::parse(path, text)?)
    }

    /// `path` is used in errors.
    pub fn parse(path: &Path, text: String) -> Result<Self, ConfigError> {
        let file = file(path, &text);
        let mut root = tree::parse(file)?;
        let sweeps = sweep::parse_sweeps(file, &mut root)?;
        let variants = variants::parse_variants(file, &mut root)?;
        let lab = lab(file, &root)?;
        sweep::check(file, &sweeps, &lab)?;
        variants::check(file, &variants, &sweeps, &lab)?;
        let path = path.to_owned();
        Ok(Self {
            path,
            text,
            root,
            lab,
            variants,
            sweeps,
        })
    }

    /// The variant selected by these settings of a sweep.
    pub fn variant(&self, settings: &[(Vec<String>, ConfigNode)]) -> Option<&LabVariant> {
        let (_, node) = settings.iter().find(|(path, _)| is_variant(path))?;
        let name = node.value.text()?;
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Expands a variant into its settings.
    fn spelled_out<'a>(&'a self, setting: &'a (Vec<String>, ConfigNode)) -> &'a [(Vec<String>, ConfigNode)] {
        if is_variant(&setting.0) {
            let chosen = self.variant(std::slice::from_ref(setting));
            chosen.map(LabVariant::settings).unwrap_or_default()
        } else {
            std::slice::from_ref(setting)
        }
    }

    /// Overrides settings of the file.
    ///
    /// # Errors
    /// If a value is invalid. The error has the position in the sweep.
    pub fn with(&self, settings: &[(Vec<String>, ConfigNode)]) -> Result<Lab, ConfigError> {
        let mut root = self.root.clone();
        for (path, node) in settings.iter().flat_map(|setting| self.spelled_out(setting)) {
            if matches!(path.as_slice(), [links, all, _] if links == "links" && all == ALL_LINKS) {
                for link in &self.lab.links {
                    let path = [path[0].clone(), link.name.clone(), path[2].clone()];
                    root.set(&path, node);
                }
            } else {
                root.set(path, node);
            }
        }
        let file = file(&self.path, &self.text);
        lab(file, &root)
    }
}

const fn file<'a>(path: &'a Path, text: &'a str) -> File<'a> {
    File {
        path,
        text,
        reference: "docs/lab.md has every key of a lab's file",
    }
}

fn is_variant(path: &[String]) -> bool {
    matches!(path, [word] if word == VARIANT)
}

/// Stands for every link in a sweep.
pub const ALL_LINKS: &str = "all";

fn lab(file: File<'_>, root: &Table) -> Result<Lab, ConfigError> {
    let section = Section::root(file, root);
    let hosts = hosts(file, section.required("hosts", "[\"client\", \"server\"]")?)?;
    let seed = section
        .number("seed", 0, i64::MAX as u64)?
        .unwrap_or(link::DEFAULT_SEED);
    let Some(workload) = section.entry("workload") else {
        return Err(file.error(
            &FileSpan::default(),
            "the file has no workload: add a table [workload]",
        ));
    };
    let lab = Lab {
        name: name(file, section.text("name")?)?,
        home: home(file.path),
        seed,
        links: links::parse_links(file, section.entry("links"), &hosts, seed)?,
        services: services::parse_services(file, section.entry("services"), &hosts)?,
        workload: workload::parse_workload(file, workload, &hosts)?,
        measure: measure(file, section.entry("measure"))?,
        hosts,
    };
    section.finish()?;
    Ok(lab)
}

fn home(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Defaults to the name of the file. It becomes a directory.
fn name(file: File<'_>, given: Option<(&str, &FileSpan)>) -> Result<String, ConfigError> {
    match given {
        None => Ok(file
            .path
            .file_stem()
            .filter(|stem| *stem != ".." && *stem != ".")
            .map_or_else(|| "lab".to_owned(), |stem| stem.to_string_lossy().into_owned())),
        Some((name, place)) => {
            check_name(file, name, place)?;
            Ok(name.to_owned())
        }
    }
}

/// Names become directories, namespaces and hosts.
fn check_name(file: File<'_>, name: &str, place: &FileSpan) -> Result<(), ConfigError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if (1..=32).contains(&name.len()) && name.chars().all(fits) && !name.starts_with('-') {
        return Ok(());
    }
    let what = format!("{name:?} is no name: write 1 to 32 of the letters a-z, A-Z, 0-9, - and _");
    Err(file.error(place, what))
}

fn hosts(file: File<'_>, node: &ConfigNode) -> Result<Vec<String>, ConfigError> {
    let mut hosts: Vec<String> = Vec::new();
    for (host, place) in texts(file, "hosts", node)? {
        check_name(file, host, place)?;
        if hosts.iter().any(|other| other == host) {
            return Err(file.error(place, format!("host '{host}' is listed twice: leave one out")));
        }
        if host == "localhost" {
            let what = "every host calls itself localhost: give this one another name";
            return Err(file.error(place, what));
        }
        hosts.push(host.to_owned());
    }
    if hosts.is_empty() {
        return Err(file.error(
            &node.place,
            "hosts is empty: write hosts = [\"client\", \"server\"]",
        ));
    }
    Ok(hosts)
}

fn texts<'a>(
    file: File<'_>,
    key: &str,
    node: &'a ConfigNode,
) -> Result<Vec<(&'a str, &'a FileSpan)>, ConfigError> {
    match &node.value {
        ConfigValue::List(nodes) => nodes.iter().map(|node| text(file, key, node)).collect(),
        other => {
            let what = format!(
                "{key} is {}: write a list of texts, {key} = [\"...\"]",
                other.kind()
            );
            Err(file.error(&node.place, what))
        }
    }
}

fn host(section: &Section<'_>, key: &'static str, hosts: &[String]) -> Result<String, ConfigError> {
    let example = hosts.first().map_or("client", String::as_str);
    let node = section.required(key, &format!("{example:?}"))?;
    let (name, place) = text(section.file, key, node)?;
    known_host(section.file, name, place, hosts)?;
    Ok(name.to_owned())
}

fn known_host(file: File<'_>, name: &str, place: &FileSpan, hosts: &[String]) -> Result<(), ConfigError> {
    if hosts.iter().any(|host| host == name) {
        return Ok(());
    }
    let advice = advice(name, hosts.iter().map(String::as_str));
    Err(file.error(place, format!("there is no host '{name}': {advice}")))
}

/// A string for `sh -c`, or a list of program and arguments.
fn command_line(file: File<'_>, key: &str, node: &ConfigNode) -> Result<CommandLine, ConfigError> {
    let words: Vec<String> = match &node.value {
        ConfigValue::Text(text) if !text.trim().is_empty() => ["sh", "-c", text].map(str::to_owned).to_vec(),
        ConfigValue::List(_) => texts(file, key, node)?
            .into_iter()
            .map(|(word, _)| word.to_owned())
            .collect(),
        _ => Vec::new(),
    };
    if words.first().is_none_or(|program| program.is_empty()) {
        let what = format!(
            "{key} is no command: write a text for the shell, {key} = \"program argument\", or a list, {key} = \
             [\"program\", \"argument\"]"
        );
        return Err(file.error(&node.place, what));
    }
    Ok(CommandLine { words })
}

fn measure(file: File<'_>, entry: Option<&tree::Entry>) -> Result<MeasureSettings, ConfigError> {
    let empty = Table::default();
    let section = match entry {
        Some(entry) => Section::new(file, entry, "[measure]".to_owned())?,
        None => Section::root(file, &empty),
    };
    let operations = section.number("operations", 1, 100_000_000)?;
    let duration = section.duration("duration")?;
    if let (Some(Duration::ZERO), Some(node)) = (duration, section.node("duration")) {
        return Err(section.wrong("duration", node, "more than nothing, such as \"10s\""));
    }
    let measure = MeasureSettings {
        amount: Amount {
            operations: operations.or(duration.is_none().then_some(100)),
            duration,
        },
        warmup: section.number("warmup", 0, 100_000_000)?.unwrap_or(10),
        settle: section.number("settle", 0, 100_000_000)?.unwrap_or(0),
        baseline_operations: section.number("baseline_operations", 1, 100_000_000)?,
        repeat: section.number("repeat", 1, 1000)?.unwrap_or(1) as u32,
        baseline_every: section.number("baseline_every", 1, 1_000_000)?.unwrap_or(8) as u32,
        hosts_known: section.boolean("hosts_known", true)?,
    };
    section.finish()?;
    Ok(measure)
}
