//! `longwire generate`: shell completions and man pages, made from the same definitions as the
//! help.

use anyhow::{Context, Result};
use clap::{Args as ClapArgs, Command, Subcommand};
use clap_complete::{Shell, generate};
use pipeline::output::Status;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write completions for a shell, or the man pages; packages install them.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire generate bash > ~/.local/share/bash-completion/completions/longwire
  longwire generate fish > ~/.config/fish/completions/longwire.fish
  longwire generate man --directory ~/.local/share/man/man1

In a directory of fpath:
  longwire generate zsh > ~/.zfunc/_longwire")]
pub struct Args {
    #[command(subcommand)]
    product: Product,
}

#[derive(Debug, Subcommand)]
enum Product {
    /// Completions for bash, on stdout.
    #[command(after_help = "Examples:
  longwire generate bash > ~/.local/share/bash-completion/completions/longwire")]
    Bash,
    /// Completions for zsh, on stdout.
    #[command(after_help = "Examples:
  longwire generate zsh > ~/.zfunc/_longwire")]
    Zsh,
    /// Completions for fish, on stdout.
    #[command(after_help = "Examples:
  longwire generate fish > ~/.config/fish/completions/longwire.fish")]
    Fish,
    /// Man pages, one for each command.
    #[command(after_help = "Examples:
  longwire generate man --directory ~/.local/share/man/man1")]
    Man {
        /// Directory for the pages; created if it does not exist.
        #[arg(long, value_name = "DIRECTORY")]
        directory: PathBuf,
    },
}

pub fn run(args: &Args, mut command: Command) -> Result<Status> {
    match &args.product {
        Product::Bash => completions(Shell::Bash, &mut command)?,
        Product::Zsh => completions(Shell::Zsh, &mut command)?,
        Product::Fish => completions(Shell::Fish, &mut command)?,
        Product::Man { directory } => man_pages(directory, command)?,
    }
    Ok(Status::Done)
}

fn completions(shell: Shell, command: &mut Command) -> Result<()> {
    // clap_complete panics if it cannot write, so it writes to memory.
    let mut text = Vec::new();
    generate(shell, command, "longwire", &mut text);
    let written = io::stdout().lock().write_all(&text);
    written.context("could not write the completions")
}

fn man_pages(folder: &Path, command: Command) -> Result<()> {
    let into = || format!("could not write man pages into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(into)?;
    clap_mangen::generate_to(command, folder).with_context(into)
}
