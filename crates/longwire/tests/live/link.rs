//! `longwire link`: what a command behind a link sees, and that nothing is left of it.

mod ends;
mod reach;
mod rights;
mod run;
