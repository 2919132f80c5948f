//! Live capture with libpcap.

mod interface_handle;
mod interface_set;
mod interfaces;
mod linux_sockets;
mod source;
mod threads;

pub use interfaces::interfaces;
pub use source::LiveSource;
