//! The shop and its application from outside: pages, other people's clients, the messages themselves.

mod clients;
mod extended;
mod pages;
mod raw;
