//! `longwire tunnel keygen`: keys for the ends of a tunnel.

use anyhow::Result;
use clap::Args as ClapArgs;
use pipeline::output::{self, Status};
use tunnel_io::keys;

/// Make a key for an end of a tunnel, or a pre-shared key for both.
///
/// Writes FILE, the secret, which only its owner may read, and FILE.pub, which the other end is given.
/// Neither is overwritten.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire tunnel keygen far.key           # far.key stays, far.key.pub goes to the near end\n  \
                        longwire tunnel keygen --psk tunnel.psk  # one secret, to be copied to the other end"
)]
pub(super) struct Args {
    /// The file for the secret.
    #[arg(value_name = "FILE")]
    file: String,
    /// One secret for both ends, instead of a key for one.
    #[arg(long)]
    psk: bool,
}

/// Runs it.
pub(super) fn run(args: &Args) -> Result<Status> {
    let file = &args.file;
    let shown = report::text::escape::printable(file);
    let text = if args.psk {
        keys::generate_shared_key_file(file)?;
        format!(
            "{shown}: a pre-shared key. Copy it to the other end by a way that keeps it secret, and start both ends with\n  \
             --psk-file {shown}\n"
        )
    } else {
        let fingerprint = keys::generate_key_files(file)?;
        format!(
            "{shown}: this end's secret key; it stays here: --key {shown}\n\
             {shown}.pub: its public key, for the other end: --peer {shown}.pub\n\
             {fingerprint}: its fingerprint, instead of that file: --peer {fingerprint}\n"
        )
    };
    output::print(&text)?;
    Ok(Status::Done)
}
