//! The shop and its application from outside: pages, third-party clients, the messages themselves.

mod clients;
mod extended;
mod pages;
mod raw;
