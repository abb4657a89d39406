//! What longwire says of files, arguments and configurations: no server, no browser, no other language.

mod arguments;
mod captures;
mod content;
mod conversation;
mod errors;
mod evidence;
mod fastcgi;
mod generate;
mod grammar;
mod help;
mod http_endings;
mod identity;
mod inert;
mod interface_addresses;
mod joined;
mod key_logs;
mod keys_in_captures;
mod lab_config;
mod lost_packet;
mod mistakes;
mod observation;
mod parallel;
mod pcapng;
mod requests;
mod server_range;
mod waste;
