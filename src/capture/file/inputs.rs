//! What the user named, as a list of places to read in order.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open::{CaptureReader, Place, Purpose};
use super::progress::ReadProgress;
use crate::capture::{CaptureError, Damage};

/// Places to read, and what listing them brought to light.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub places: Vec<Place>,
    /// Unknown if a pipe is among them.
    pub total_bytes: Option<u64>,
    /// Files of directories that are compressed and cannot be decompressed.
    pub damages: Vec<Damage>,
}

impl Inputs {
    /// Lists `paths` in the order given, each directory as its captures in time order.
    ///
    /// Files are looked into and closed again: what cannot be read is known before work starts,
    /// and thousands of files need one file descriptor at a time. Pipes cannot be looked into;
    /// whether they hold a capture shows when their turn comes.
    pub fn list(paths: &[PathBuf]) -> Result<Inputs, CaptureError> {
        let mut inputs = Inputs { total_bytes: Some(0), ..Inputs::default() };
        for path in paths {
            if path.as_os_str() == "-" {
                inputs.add_standard_input()?;
                continue;
            }
            let place = Place::File(path.clone());
            let metadata = fs::metadata(path).map_err(|error| place.unreadable(error))?;
            if metadata.is_dir() {
                inputs.add_directory(path)?;
            } else if metadata.is_file() {
                sniff(&place)?;
                inputs.add(place, Some(metadata.len()));
            } else {
                inputs.add(place, None);
            }
        }
        Ok(inputs)
    }

    fn add(&mut self, place: Place, bytes: Option<u64>) {
        self.places.push(place);
        self.total_bytes =
            self.total_bytes.zip(bytes).map(|(total, bytes)| total.saturating_add(bytes));
    }

    fn add_standard_input(&mut self) -> Result<(), CaptureError> {
        if self.places.contains(&Place::StandardInput) {
            return Err(CaptureError::StandardInputTwice);
        }
        self.add(Place::StandardInput, None);
        Ok(())
    }

    /// Adds the captures that lie in a directory (not below it) by the time of their first packet,
    /// then by name; those without packets come first. Other files, and pipes, are passed over.
    fn add_directory(&mut self, directory: &Path) -> Result<(), CaptureError> {
        let unreadable = |source| CaptureError::Io { path: directory.to_owned(), source };
        let mut captures = Vec::new();
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            // a dangling link, or a file that was removed a moment ago, is no capture
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if !metadata.is_file() {
                continue;
            }
            let place = Place::File(path.clone());
            match sniff(&place) {
                Ok(mut reader) => {
                    let first_time = reader.advance().map(|record| record.time);
                    captures.push((first_time, path, metadata.len()));
                }
                Err(CaptureError::NotACapture { .. }) => {}
                Err(CaptureError::Undecodable { path, source }) => {
                    self.damages.push(Damage { path, offset: 0, what: source.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        if captures.is_empty() {
            return Err(CaptureError::EmptyDirectory { path: directory.to_owned() });
        }
        captures.sort();
        for (_, path, bytes) in captures {
            self.add(Place::File(path), Some(bytes));
        }
        Ok(())
    }
}

fn sniff(place: &Place) -> Result<CaptureReader, CaptureError> {
    CaptureReader::open(place, Purpose::Sniff, Arc::new(ReadProgress::default()))
}
