//! `longwire keys`: a program that writes the keys of its TLS sessions, for `read --keys`.

use anyhow::Result;
use clap::Args as ClapArgs;
use key_log::KeyCollection;
use live::child::Child;
use model::counted;
use pipeline::output::{EndRequest, Status};
use pipeline::output_health::OutputHealth;
use signal_hook::consts::SIGINT;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Start a program so that it writes the keys of its TLS sessions, to decrypt a capture of its
/// connections.
///
/// The keys go to a file that only its owner may read (key log format of NSS, RFC 9850). `longwire
/// read --keys FILE`, tshark and Wireshark read it. Anybody who has the keys can read the
/// connections: remove the file after use.
///
/// Programs that load OpenSSL or GnuTLS as a library write keys: psql and all of libpq, mariadb,
/// PHP, Ruby, Python. Node.js does too, and Java with --java-agent. See docs/keys.md for Go and
/// others.
///
/// The exit status is the command's, or 1 if it succeeded and wrote no keys.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire keys -o keys.log -- psql 'host=db1 sslmode=require' -c 'select 1'
  longwire keys -o keys.log -- ./manage.py runserver
  longwire keys -o keys.log --java-agent extract-tls-secrets-4.0.0.jar \
    -- java -jar shop.jar

With a capture of the same time:
  tcpdump -w shop.pcap port 5432
  longwire read --keys keys.log shop.pcap")]
pub struct Args {
    /// Append the keys to this file, which only its owner may read [default:
    /// longwire-keys-PID.log].
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Load this agent into Java programs to write their keys: a copy of extract-tls-secrets, under
    /// its own name.
    #[arg(long, value_name = "JAR")]
    pub java_agent: Option<PathBuf>,
    /// The command to run, behind `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// # Errors
/// When the file cannot be used for keys, or the command cannot be started.
pub fn run(args: &Args) -> Result<Status> {
    let asked = EndRequest::on_signals()?;
    let output_health = OutputHealth::default();
    let file = match &args.output {
        Some(file) => file.clone(),
        None => format!("longwire-keys-{}.log", std::process::id()).into(),
    };
    let mut keys = KeyCollection::into_file(&file)?;
    if let Some(jar) = &args.java_agent {
        keys = keys.with_java_agent(jar)?;
    }
    if let Some(reason) = keys.without_openssl() {
        output_health.print_line(&format!(
            "warning: programs that load OpenSSL will write no keys: {reason}"
        ));
    }
    let status = until_ended(&mut start(args, &keys)?, &asked);
    let sessions = keys.sessions()?;
    print_summary(&output_health, &file, sessions, &keys, args);
    Ok(match status {
        Status::Child(0) if sessions == 0 => Status::Negative,
        status => status,
    })
}

fn start(args: &Args, keys: &KeyCollection) -> Result<Child> {
    let mut words = args.command.iter();
    let mut command = Command::new(words.next().map_or_else(Default::default, OsString::as_os_str));
    command.args(words);
    keys.prepare(&mut command);
    Child::start_prepared(&mut command)
}

fn until_ended(child: &mut Child, asked: &EndRequest) -> Status {
    loop {
        // Ctrl-C at the terminal is for the command to handle: psql cancels a statement and
        // continues.
        let signal = asked
            .take_signal()
            .filter(|&signal| signal != SIGINT || !child.shares_terminal());
        if let Some(status) = child.ended(signal) {
            return status;
        }
        child.wait(asked);
    }
}

/// Prints one line, or the reason why there may be no keys.
fn print_summary(
    output_health: &OutputHealth,
    file: &Path,
    sessions: u64,
    keys: &KeyCollection,
    args: &Args,
) {
    if sessions > 0 {
        return output_health.print_unless_quiet(&format!(
            "keys of {} are in {}; whoever has this file can read these connections: remove it after use",
            counted(sessions, "TLS session", "TLS sessions"),
            file.display()
        ));
    }
    let java = match args.java_agent {
        Some(_) => "Java with TLS 1.2 or with another TLS than its own",
        None => "Java without --java-agent",
    };
    let lines = match keys.has_grown() {
        true => format!("; {} has other lines: remove it after use", file.display()),
        false => String::new(),
    };
    output_health.print_line(&format!(
        "warning: the command wrote no keys of TLS sessions{lines}"
    ));
    output_health.hint(&format!(
        "it opened no TLS connection, or does not write keys: OpenSSL linked into the program, Go, Rust, {java}, setuid programs. See \
         docs/keys.md for these"
    ));
}
