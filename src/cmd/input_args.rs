//! Options for the input, shared by all commands that read captures.

use std::path::{Path, PathBuf};
use std::slice;

use anyhow::Context as _;
use clap::Args;

use super::Usage;
use crate::capture::parse::{ParseOptions, Parser};
use crate::capture::{CaptureError, FileSource, Filter, FilterError, TimeWindow};
use crate::time::Timestamp;

/// Which packets to read.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Captures (pcap, pcapng; plain, gzip, zstd, xz, lz4), directories of them, or - for stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Only packets from this time on (RFC 3339, or seconds since 1970)
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,

    /// Only packets before this time
    #[arg(long, value_name = "TIME")]
    pub to: Option<Timestamp>,

    /// Only packets that match this filter expression, as tcpdump takes it
    #[arg(long, value_name = "BPF")]
    pub filter: Option<String>,

    /// Do not look into tunnels: count TCP only behind the outermost IP header
    #[arg(long)]
    pub no_tunnels: bool,
}

impl InputArgs {
    /// Opens the inputs.
    pub fn open(&self) -> anyhow::Result<FileSource> {
        let window = TimeWindow { from: self.from, to: self.to };
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            let empty =
                anyhow::anyhow!("--from {from} is not before --to {to}: nothing lies between");
            return Err(Usage::new(empty).into());
        }
        let filter = self.filter.as_deref().map(Filter::new).transpose().map_err(wrong_filter)?;
        let source = match FileSource::open(&self.files, window) {
            Err(error @ CaptureError::StandardInputTwice) => return Err(Usage::new(error).into()),
            result => result.context("cannot start reading")?,
        };
        Ok(source.filtered(filter))
    }

    /// What is read, in a few words.
    pub fn name(&self) -> String {
        match &self.files[..] {
            [only] if only.as_os_str() == "-" => "standard input".to_owned(),
            [only] => only.display().to_string(),
            [first, others @ ..] => format!("{} and {} more", first.display(), others.len()),
            [] => String::new(),
        }
    }

    /// Whether the file at `path` is read: as one of the inputs, under any name, or as a capture in an
    /// input directory.
    pub fn reads(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let is_capture = || FileSource::open(slice::from_ref(&real), TimeWindow::default()).is_ok();
        self.files
            .iter()
            .filter_map(|input| input.canonicalize().ok())
            .any(|input| input == real || Some(input.as_path()) == real.parent() && is_capture())
    }

    /// The parser with these options.
    pub fn parser(&self) -> Parser {
        Parser::new(ParseOptions { no_tunnels: self.no_tunnels })
    }
}

/// The error of a `--filter` that cannot be used.
pub fn wrong_filter(error: FilterError) -> anyhow::Error {
    let message = match error {
        FilterError::Expression { expression, message } => format!(
            "--filter `{expression}`: {message}; write it as for tcpdump, such as `tcp port 443`"
        ),
        FilterError::NotBuilt => {
            "--filter needs libpcap: build acsm with its default features (`live`)".to_owned()
        }
    };
    Usage::new(anyhow::anyhow!(message)).into()
}
