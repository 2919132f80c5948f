//! The filter of a build without libpcap: it cannot be made.

use super::FilterError;
use crate::capture::LinkType;

/// Keeps frames that match an expression.
#[derive(Debug)]
pub struct Filter(std::convert::Infallible);

impl Filter {
    /// Always an error: this acsm has no libpcap.
    pub fn new(_expression: &str) -> Result<Filter, FilterError> {
        Err(FilterError::NotBuilt)
    }

    /// Never called: there is no filter to call it on.
    pub fn keeps(&mut self, _link_type: LinkType, _bytes: &[u8]) -> bool {
        match self.0 {}
    }
}
