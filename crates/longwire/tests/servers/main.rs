//! Longwire as a client of real servers: ping, load, split, tune, labs and the demo.

mod calibrate;
mod demo;
mod derby;
mod jdbc;
mod lab;
mod load;
mod password;
mod ping;
mod plan;
mod quiet;
mod screens;
mod split;
mod stores;
mod tables;
mod tune;
mod tune_capture;
mod tune_program;
mod verify;
