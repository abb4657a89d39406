//! The network behind a link, and its cleanup.

mod ends;
mod reach;
mod rights;
mod run;
