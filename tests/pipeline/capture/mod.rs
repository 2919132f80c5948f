//! From bytes to packets: file formats, compression and damage; link types, network headers and tunnels.

mod frames;
mod parse;
mod parse_oracle;
mod readers;
