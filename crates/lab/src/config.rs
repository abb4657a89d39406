//! What a lab's file says: hosts, links, services, workload, sweeps.
//!
//! The language is documented in docs/lab.md. [`tree`] has every value with its place, so that every error
//! can give line and column, also for a sweep's values.

mod error;
mod links;
mod section;
mod services;
mod sweep;
pub mod tree;
mod variants;
mod workload;

pub use error::ConfigError;
pub use sweep::{Axis, SettingSweep};
pub use variants::{LabVariant, SETTING as VARIANT};

use analysis::operations::rule::Rule;
use anyhow::{Context, Result};
use link::LinkDescription;
pub use section::advice;
use section::{File, Section, text};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::files::{MAX_CONFIG_BYTES, read_small_text};
use tree::{ConfigNode, ConfigValue, FileSpan, Table};

/// A lab, checked: every name in it exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    /// What it is called.
    pub name: String,
    /// Directory of the file: commands run there, and paths in the file start there.
    pub home: PathBuf,
    /// What the order of points, loss and jitter are drawn from.
    pub seed: u64,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The links between them.
    pub links: Vec<LabLink>,
    /// The services, in the order in which they start.
    pub services: Vec<Service>,
    /// What is run and measured.
    pub workload: WorkloadSettings,
    /// How much of it.
    pub measure: MeasureSettings,
}

/// A link between two hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct LabLink {
    /// What it is called.
    pub name: String,
    /// Its hosts, the client's side first.
    pub between: [String; 2],
    /// What it is like.
    pub link: LinkDescription,
}

/// A program that runs while the workload is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// What it is called.
    pub name: String,
    /// The place of its table, for errors.
    pub place: FileSpan,
    /// The host it runs on.
    pub host: String,
    /// What it is.
    pub kind: ServiceKind,
    /// What to run; always present for [`ServiceKind::Command`].
    pub command: Option<CommandLine>,
    /// The kind's settings, as written, with their places.
    pub settings: Table,
    /// Added to the environment of its commands.
    pub environment: Vec<(String, String)>,
    /// How to check that it is ready, where the kind's own check is not enough.
    pub ready: Option<ReadinessCheck>,
    /// How long it may take to be ready.
    pub ready_timeout: Duration,
    /// Run on its host, one after another, once it is ready.
    pub setup: Vec<CommandLine>,
}

/// What a service is.
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
    /// Any command.
    Command,
}

impl ServiceKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Mariadb,
        Self::Postgres,
        Self::Nginx,
        Self::PhpFpm,
        Self::Command,
    ];

    /// The word for it in a lab's file.
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

/// A command: a program with its arguments. A text of the file is one for `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program and its arguments, at least one word.
    pub words: Vec<String>,
}

/// How to check that a service is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadinessCheck {
    /// A TCP connection to this port of its host succeeds.
    Port(u16),
    /// This URL is answered without an error status.
    Url(String),
    /// This command ends with status 0.
    Command(CommandLine),
}

/// What is run on the network, and by how many clients.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSettings {
    /// What is run.
    pub kind: WorkloadKind,
    /// The host it runs on.
    pub host: String,
    /// How many at once, each beginning its next operation when its last one has ended.
    pub clients: u32,
    /// What is counted and compared; absent: one run of the command.
    pub operation: Option<Rule>,
    /// An operation that takes longer has failed.
    pub timeout: Duration,
}

impl WorkloadSettings {
    /// What is run, where and by how many clients, for people; without anything secret.
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
    /// How much, for people.
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

/// What a workload runs.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadKind {
    /// Requests of one URL.
    Http {
        /// The URL; its host is one of the lab's.
        url: String,
        /// Whether the requests of a client share a connection.
        keep_alive: bool,
    },
    /// Statements.
    Sql {
        /// The database's URL; its host is one of the lab's.
        target: String,
        /// What one operation runs, in order: statements, or the text of a whole script.
        statements: Vec<String>,
        /// Whether each operation connects anew.
        reconnect: bool,
    },
    /// Any command.
    Command {
        /// What to run.
        command: CommandLine,
    },
}

/// How much is measured at each point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureSettings {
    /// How much at each point.
    pub amount: Amount,
    /// Operations at no distance before anything counts.
    pub warmup: u64,
    /// Operations at each point before anything counts there.
    pub settle: u64,
    /// Operations of the capture without distance, where they are not as many as at a point.
    pub baseline_operations: Option<u64>,
    /// How often all points are measured.
    pub repeat: u32,
    /// After this many points, no distance is measured again.
    pub baseline_every: u32,
    /// Whether it is known which addresses are the same host's. Otherwise the captures have to show it, as
    /// anywhere else.
    pub hosts_known: bool,
}

/// When a workload ends: at the first of these limits, after the operations in progress completed. At least
/// one is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// After this many operations of all clients together.
    pub operations: Option<u64>,
    /// After this long.
    pub duration: Option<Duration>,
}

/// A lab's file: its text, its tree, and what is swept.
#[derive(Debug, Clone)]
pub struct LabFile {
    path: PathBuf,
    text: String,
    root: Table,
    /// The lab as in the file, without any sweep.
    pub lab: Lab,
    /// Settings that change together, in the order of the file.
    pub variants: Vec<LabVariant>,
    /// What is swept, in the order of the file.
    pub sweeps: Vec<SettingSweep>,
}

impl LabFile {
    /// Reads and checks `path`.
    ///
    /// # Errors
    /// When it cannot be read, or with a [`ConfigError`] when something in it is wrong.
    pub fn read_file(path: &Path) -> Result<Self> {
        let text = read_small_text(path, MAX_CONFIG_BYTES)
            .with_context(|| format!("could not read {}", path.display()))?;
        Ok(Self::parse(path, text)?)
    }

    /// Checks `text`, which came from `path`.
    ///
    /// # Errors
    /// When something in it is wrong.
    pub fn parse(path: &Path, text: String) -> Result<Self, ConfigError> {
        let file = File { path, text: &text };
        let mut root = tree::parse(path, &text)?;
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

    /// The variant that these settings of a sweep choose, if they do.
    pub fn variant(&self, settings: &[(Vec<String>, ConfigNode)]) -> Option<&LabVariant> {
        let (_, node) = settings.iter().find(|(path, _)| is_variant(path))?;
        let name = node.value.text()?;
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// The settings that one of a sweep stands for: a variant's own, or itself.
    fn spelled_out<'a>(&'a self, setting: &'a (Vec<String>, ConfigNode)) -> &'a [(Vec<String>, ConfigNode)] {
        if is_variant(&setting.0) {
            let chosen = self.variant(std::slice::from_ref(setting));
            chosen.map(LabVariant::settings).unwrap_or_default()
        } else {
            std::slice::from_ref(setting)
        }
    }

    /// The lab with these settings instead of those in the file.
    ///
    /// # Errors
    /// When one of the values is wrong: the error gives its place in the sweep.
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
        let file = File {
            path: &self.path,
            text: &self.text,
        };
        lab(file, &root)
    }
}

fn is_variant(path: &[String]) -> bool {
    matches!(path, [word] if word == VARIANT)
}

/// In a sweep, represents every link.
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

/// The lab's name: that of its file when it has none. It becomes a directory.
fn name(file: File<'_>, given: Option<(&str, &FileSpan)>) -> Result<String, ConfigError> {
    match given {
        None => Ok(file
            .path
            .file_stem()
            // `...toml`
            .filter(|stem| *stem != ".." && *stem != ".")
            .map_or_else(|| "lab".to_owned(), |stem| stem.to_string_lossy().into_owned())),
        Some((name, place)) => {
            check_name(file, name, place)?;
            Ok(name.to_owned())
        }
    }
}

/// Names become those of directories, namespaces and hosts.
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

/// A list of texts.
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

/// The host named by `key`.
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

/// A text for `sh -c`, or a list of program and arguments.
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
