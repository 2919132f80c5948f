//! Live capture of a build without libpcap: there is none.

use std::sync::Arc;

use super::{Interface, LiveCounts, LiveOptions};
use crate::capture::{CaptureError, Frame, LinkType, LiveError, PacketSource};

/// Frames from interfaces.
#[derive(Debug)]
pub struct LiveSource(std::convert::Infallible);

impl LiveSource {
    /// Always an error: this acsm has no libpcap.
    pub fn open(_options: LiveOptions) -> Result<LiveSource, LiveError> {
        Err(LiveError::NotBuilt)
    }

    /// Never called: there is no source to call it on.
    pub fn counts(&self) -> Arc<LiveCounts> {
        match self.0 {}
    }

    /// Never called either.
    pub fn link_types(&self) -> Vec<LinkType> {
        match self.0 {}
    }
}

impl PacketSource for LiveSource {
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        match self.0 {}
    }
}

/// Always an error: this acsm has no libpcap.
pub fn interfaces() -> Result<Vec<Interface>, LiveError> {
    Err(LiveError::NotBuilt)
}
