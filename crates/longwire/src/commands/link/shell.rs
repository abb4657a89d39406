use anyhow::{Context, Result};
use link::LinkDescription;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::Command;

/// The user's shell, with the link in its prompt.
///
/// bash reads our file after the user's own. Other shells get PS1; those that set their own prompt
/// do not show it.
pub(super) fn behind(link: &LinkDescription) -> Result<Command> {
    let shell = std::env::var_os("SHELL").filter(|shell| Path::new(shell).exists());
    let shell = shell.unwrap_or_else(|| OsString::from("/bin/sh"));
    let mark = format!("[{link}] ");
    let mut command = Command::new(&shell);
    if std::io::stdin().is_terminal() {
        pipeline::output::print_note(&format!("a shell behind {link}; exit ends it"));
    }
    if Path::new(&shell).file_name().is_some_and(|name| name == "bash") {
        let settings = netns::sandbox::file_for_child(&format!(
            "[ -f ~/.bashrc ] && . ~/.bashrc\nPS1='{mark}'\"${{PS1-\\$ }}\"\n"
        ))
        .context("could not make the settings of the shell")?;
        command.arg("--rcfile").arg(settings);
    } else {
        command.env("PS1", format!("{mark}$ "));
    }
    Ok(command)
}
