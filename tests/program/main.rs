//! The program run as a whole on files: every command that takes no network interface.

#[cfg(feature = "cluster")]
mod cluster;
mod compare;
mod compare_page;
mod corpus;
mod generate;
mod kv;
mod plan;
mod replay;
mod reproduce;
mod rules_command;
mod runner;
mod seeds;
#[cfg(not(feature = "cluster"))]
mod without_cluster;
#[cfg(not(feature = "live"))]
mod without_libpcap;
