//! The shop and its application from outside.

mod clients;
mod extended;
mod pages;
mod raw;

fn listener() -> std::net::TcpListener {
    std::net::TcpListener::bind("127.0.0.1:0").expect("a free port")
}
