//! TLS connections at an interface, decrypted with keys logged by the command.

use super::statements;
use serde_json::Value;
use testbed::Postgres;
use testbed::binary::{done, of_type, records};
use testbed::capture::may_capture;

fn asked(server: &Postgres, sslmode: &str, options: &[&str]) -> Vec<Value> {
    let port = server.port().to_string();
    let url = format!("{}?sslmode={sslmode}", server.url());
    let watch = ["watch", "--interface", "lo", "--port", &port, "--json"];
    let psql = ["--", "psql", "-X", "-q", "-o", "/dev/null", "-d", &url];
    let statements = ["-c", "select 1 as one", "-c", "select count(*) from pg_class"];
    let output = may_capture(&[&watch[..], options, &psql, &statements].concat()).output();
    let output = output.expect("the binary starts");
    done(&output);
    records(&output)
}

#[test]
fn a_commands_own_tls_is_opened_without_a_file_of_keys() {
    for version in ["TLSv1.2", "TLSv1.3"] {
        let options = Postgres::options().tls();
        let options = options.setting("ssl_min_protocol_version", version);
        let server = options.setting("ssl_max_protocol_version", version).start();
        let plain = asked(&server, "disable", &[]);
        let opened = asked(&server, "require", &["--keys-from-command"]);
        assert_eq!(statements(&opened).len(), 2, "{version}");
        assert_eq!(statements(&opened), statements(&plain), "{version}");
        let closed = asked(&server, "require", &[]);
        assert_eq!(statements(&closed), [], "{version}");
        assert_eq!(of_type(&closed, "connection").len(), 1, "{version}");
    }
}
