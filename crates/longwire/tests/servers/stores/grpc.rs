//! grpcio's client with its server.

use super::{Store, answers, is_right};
use std::process::Command;
use testbed::{Started, python};

#[test]
fn a_page_of_grpcio() {
    let python = python::environment(&["grpcio==1.85.3"]).join("python3");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stores/grpc_server.py");
    let (_server, address) = Started::listening(Command::new(&python).arg(script), "listening on ");
    let store = Store {
        protocol: "http2",
        scheme: "http2",
        port: address.port(),
        script: "grpc_pages.py",
        python,
    };
    is_right(&store, &["n+1 of /shop.Cart/Get"]);
    answers(&store.url());
}
