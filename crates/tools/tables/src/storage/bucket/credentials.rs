//! Credentials from the variables of AWS's tools, then from their file.

use rusty_s3::Credentials;
use std::env;
use std::io;
use std::path::PathBuf;

/// Credentials of the environment, or of the profile in the file of credentials (AWS SDKs and Tools
/// Reference Guide, "Configuration and credential files"). `None` if there are none: requests are
/// then not signed.
pub(super) fn credentials() -> io::Result<Option<Credentials>> {
    if let (Some(key), Some(secret)) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        return Ok(Some(made(key, secret, variable("AWS_SESSION_TOKEN"))));
    }
    let in_home = || Some(env::home_dir()?.join(".aws/credentials"));
    let Some(path) = variable("AWS_SHARED_CREDENTIALS_FILE")
        .map(PathBuf::from)
        .or_else(in_home)
    else {
        return Ok(None);
    };
    let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    match sys::files::read_small_text(&path, sys::files::MAX_CONFIG_BYTES) {
        Ok(text) => Ok(of_profile(&text, &profile)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", path.display()),
        )),
    }
}

fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let (mut key, mut secret, mut token) = (None, None, None);
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_ours = name.trim() == profile;
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_ours) {
            let value = Some(value.trim().to_owned());
            match name.trim() {
                "aws_access_key_id" => key = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    Some(made(key?, secret?, token))
}

fn made(key: String, secret: String, token: Option<String>) -> Credentials {
    match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found() {
        let text = "[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n# theirs\n[other]\naws_access_key_id = C\naws_secret_access_key = D\naws_session_token = E\n";
        let found = |profile| {
            let found = of_profile(text, profile)?;
            Some((
                found.key().to_owned(),
                found.secret().to_owned(),
                found.token().map(str::to_owned),
            ))
        };
        assert_eq!(found("default"), Some(("A".into(), "B=".into(), None)));
        assert_eq!(found("other"), Some(("C".into(), "D".into(), Some("E".into()))));
        assert_eq!(found("none"), None);
    }
}
