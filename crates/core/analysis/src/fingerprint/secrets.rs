//! Names of settings, columns and parameters with secret values.

/// Whether the name denotes a credential: `password`, `apiKey`, `x-auth-token`, `"SESSION_KEY"`.
///
/// Short words ([`AS_LAST_WORD`]) count only as the last of a name: `sort_key` matches, `monkey`
/// does not.
pub(super) fn is_secret_name(name: &[u8]) -> bool {
    let name = name.trim_ascii();
    let contains = |word: &&str| {
        name.windows(word.len())
            .any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    let last = last_word(name);
    ANYWHERE.iter().any(contains)
        || AS_LAST_WORD
            .iter()
            .any(|word| word.as_bytes().eq_ignore_ascii_case(last))
}

fn last_word(name: &[u8]) -> &[u8] {
    let end = name
        .iter()
        .rposition(u8::is_ascii_alphabetic)
        .map_or(0, |last| last + 1);
    let letters = &name[..end];
    let from = letters.iter().enumerate().rev().find_map(|(at, byte)| {
        let is_small = |at: usize| letters.get(at).is_some_and(u8::is_ascii_lowercase);
        match byte {
            b'A'..=b'Z' if is_small(at.wrapping_sub(1)) => Some(at),
            byte if byte.is_ascii_alphabetic() => None,
            _ => Some(at + 1),
        }
    });
    &letters[from.unwrap_or(0)..]
}

const ANYWHERE: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "accesskey",
    "access_key",
    "privatekey",
    "private_key",
    "authkey",
    "credential",
    "authorization",
    "bearer",
    "jwt",
];

const AS_LAST_WORD: [&str; 9] = [
    "key",
    "pass",
    "pw",
    "auth",
    "otp",
    "sig",
    "signature",
    "cookie",
    "sid",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_every_spelling() {
        for name in [
            "password",
            "PASSWORD",
            "user_password",
            "db.pwd",
            "token",
            "x-auth-token",
            "accessToken",
            "key",
            "api_key",
            "apiKey",
            "sessionKey",
            "KEY",
            "\"key\"",
            "[Token]",
            "`secret`",
            "Authorization",
            "bearer",
            "key2",
            "AWS_SECRET_ACCESS_KEY",
            "pass",
            "sig",
        ] {
            assert!(is_secret_name(name.as_bytes()), "{name}");
        }
        for name in [
            "monkey", "turkey", "name", "compass", "id", "", "keys", "batch", "keyboard", "bypass", "author",
            "design",
        ] {
            assert!(!is_secret_name(name.as_bytes()), "{name}");
        }
    }
}
