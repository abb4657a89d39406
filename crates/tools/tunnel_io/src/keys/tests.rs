use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn at(directory: &tempfile::TempDir, name: &str) -> String {
    directory.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_generated_key_is_read_again_and_its_secret_is_its_owners() {
    let directory = tempfile::tempdir().unwrap();
    let path = at(&directory, "tunnel.key");
    let fingerprint = generate_key_files(&path).unwrap();
    let key = SecretKey::load(&path).unwrap();
    assert_eq!(key.fingerprint(), fingerprint);
    assert_eq!(
        KeyFingerprint::of_peers(&format!("{path}.pub")).unwrap(),
        [fingerprint]
    );
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(format!("{key:?}"), format!("SecretKey({fingerprint})"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.lines().all(|line| line.len() <= 64), "{text}");
    assert_eq!(
        generate_key_files(&path),
        Err(KeyError::Exists {
            path: format!("{path}.pub")
        })
    );
    fs::remove_file(format!("{path}.pub")).unwrap();
    assert_eq!(
        generate_key_files(&path),
        Err(KeyError::Exists { path: path.clone() })
    );
    assert!(!fs::exists(format!("{path}.pub")).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_secret_that_others_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = at(&directory, "tunnel.key");
    generate_key_files(&path).unwrap();
    for mode in [0o640, 0o604, 0o660] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = SecretKey::load(&path).unwrap_err();
        assert_eq!(
            error,
            KeyError::OpenToOthers {
                path: path.clone(),
                mode
            }
        );
        assert_eq!(SharedKey::load(&path).unwrap_err(), error);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    SecretKey::load(&path).unwrap();
}

#[test]
fn fingerprints_have_one_text() {
    let directory = tempfile::tempdir().unwrap();
    let fingerprint = generate_key_files(&at(&directory, "k")).unwrap();
    let text = fingerprint.to_string();
    assert!(text.starts_with("SHA256:") && text.len() == 50, "{text}");
    assert_eq!(text.parse(), Ok(fingerprint));
    assert_eq!(format!("{text}=").parse(), Ok(fingerprint));
    assert_eq!(KeyFingerprint::of_peers(&text), Ok(vec![fingerprint]));
    for wrong in ["SHA256:", "SHA256:AAAA", "sha256:abc", "SHA256:!!!!", ""] {
        assert_eq!(
            wrong.parse::<KeyFingerprint>(),
            Err(KeyError::NotAFingerprint),
            "{wrong}"
        );
    }
}

#[test]
fn a_file_of_peers_may_hold_several() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two, all] = ["one", "two", "all"].map(|name| at(&directory, name));
    let known = [&one, &two].map(|path| generate_key_files(path).unwrap());
    let both = [&one, &two].map(|path| fs::read_to_string(format!("{path}.pub")).unwrap());
    fs::write(&all, both.concat()).unwrap();
    assert_eq!(KeyFingerprint::of_peers(&all).unwrap(), known);
    assert_eq!(
        KeyFingerprint::of_peers(&one),
        Err(KeyError::SecretOfPeer { path: one.clone() })
    );
    fs::write(&all, "nothing").unwrap();
    assert_eq!(
        KeyFingerprint::of_peers(&all),
        Err(KeyError::NoPublicKey { path: all.clone() })
    );
    assert_eq!(
        SecretKey::load(&format!("{one}.pub")).unwrap_err(),
        KeyError::NoSecretKey {
            path: format!("{one}.pub")
        }
    );
}

/// `openssl genpkey -algorithm ed25519` writes version 1 of PKCS #8; example from RFC 8410, section
/// 10.3.
#[test]
fn a_key_of_another_program_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = at(&directory, "k");
    let text = "-----BEGIN PRIVATE KEY-----\n\
                MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
                -----END PRIVATE KEY-----\n";
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let public = "-----BEGIN PUBLIC KEY-----\n\
                  MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
                  -----END PUBLIC KEY-----\n";
    let public_path = at(&directory, "k.pub");
    fs::write(&public_path, public).unwrap();
    let known = KeyFingerprint::of_peers(&public_path).unwrap();
    assert_eq!(known, [SecretKey::load(&path).unwrap().fingerprint()]);
}

#[test]
fn a_shared_key_gives_both_ends_the_same_two_keys() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two, short] = ["one", "two", "short"].map(|name| at(&directory, name));
    generate_shared_key_file(&one).unwrap();
    generate_shared_key_file(&two).unwrap();
    assert_eq!(
        generate_shared_key_file(&one),
        Err(KeyError::Exists { path: one.clone() })
    );
    assert_eq!(fs::metadata(&one).unwrap().mode() & 0o777, 0o600);
    // Editors add a final newline, copying may lose it.
    let text = fs::read_to_string(&one).unwrap();
    fs::write(&short, text.trim()).unwrap();
    fs::set_permissions(&short, fs::Permissions::from_mode(0o600)).unwrap();
    // The real number of rounds takes a second in unoptimized builds.
    let rounds = NonZeroU32::new(10).unwrap();
    let [a, b, other] = [&one, &short, &two]
        .map(|path| SharedKey::derive(&files::read_shared_key(path).unwrap(), rounds).unwrap());
    assert_eq!(a.near.fingerprint(), b.near.fingerprint());
    assert_eq!(a.far.fingerprint(), b.far.fingerprint());
    assert_ne!(a.near.fingerprint(), a.far.fingerprint());
    assert_ne!(a.near.fingerprint(), other.near.fingerprint());
    assert_eq!(format!("{a:?}"), "SharedKey");
    fs::write(&short, "  correct horse battery staple \n").unwrap();
    assert_eq!(
        SharedKey::load(&short).unwrap_err(),
        KeyError::TooShort {
            path: short,
            length: 28
        }
    );
}
