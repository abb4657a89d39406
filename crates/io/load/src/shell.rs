//! The script commands `\shell` and `\setshell`.

use std::process::{Child, Command, Stdio};

/// Runs `line` in a shell and returns the output if `wanted`. Blocks the client's thread, and so
/// the other clients of that thread, as in pgbench.
///
/// # Errors
/// Returns the reason in words.
pub fn run(line: &str, wanted: bool) -> Result<String, String> {
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(line)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    // Standard output belongs to the results of this run.
    shell.stdout(if wanted { Stdio::piped() } else { Stdio::null() });
    let output = shell.spawn().and_then(Child::wait_with_output);
    let output = output.map_err(|error| format!("could not be run: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("ended with {}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn a_program_gives_what_it_prints_or_why_not() {
        assert_eq!(run("expr 20 + 22", true), Ok("42\n".to_owned()));
        assert_eq!(run("echo hidden", false), Ok(String::new()));
        assert_eq!(run("false", true), Err("ended with exit status: 1".to_owned()));
    }
}
