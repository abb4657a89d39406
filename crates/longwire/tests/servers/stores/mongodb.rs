//! PyMongo with mongo-java-server.

use super::{Store, answers, is_right};
use testbed::{Mongodb, python};

const PYMONGO: [&str; 1] = ["pymongo==4.10.1"];

#[test]
fn a_page_of_pymongo() {
    let server = Mongodb::start();
    let store = Store {
        protocol: "mongodb",
        scheme: "mongodb",
        port: server.port(),
        script: "mongodb.py",
        python: python::environment(&PYMONGO).join("python3"),
    };
    is_right(&store, &["n+1 of find items {_id}", "$in"]);
    answers(&server.url());
}
