//! boto3 with moto, which emulates DynamoDB.

use super::{Store, answers, is_right};
use std::process::Command;
use testbed::{Started, python};

/// moto's extra `dynamodb`, less the packages of other services.
const PACKAGES: [&str; 7] = [
    "boto3==1.44.8",
    "moto==5.2.5",
    "flask==3.1.3",
    "flask-cors==6.0.5",
    "py-partiql-parser==0.6.3",
    "docker==7.2.0",
    "waitress==3.0.2",
];

#[test]
fn a_page_of_boto3() {
    let python = python::environment(&PACKAGES).join("python3");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stores/moto_server.py");
    let (_moto, address) = Started::listening(Command::new(&python).arg(script), "listening on ");
    let store = Store {
        protocol: "dynamodb",
        scheme: "dynamodb",
        port: address.port(),
        script: "dynamodb.py",
        python,
    };
    is_right(&store, &["n+1 of GetItem Orders", "BatchGetItem"]);
    answers(&format!("dynamodb://{address}"));
}
