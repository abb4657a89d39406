//! `longwire tunnel keygen`: keys for the ends of a tunnel.

use anyhow::Result;
use clap::Args as ClapArgs;
use pipeline::output::{self, Status};
use tunnel_io::keys;

/// Make a key for an end of a tunnel, or a pre-shared key for both.
///
/// Writes FILE, the secret, readable only by its owner, and FILE.pub for the other end. Existing
/// files are not overwritten.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples, one key for each end: far.key stays there, far.key.pub goes to the near end
  longwire tunnel keygen far.key

One secret for both ends:
  longwire tunnel keygen --psk tunnel.psk"
)]
pub(super) struct Args {
    /// The file for the secret.
    #[arg(value_name = "FILE")]
    file: String,
    /// Make one secret for both ends, instead of a key for one.
    #[arg(long)]
    psk: bool,
}

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
