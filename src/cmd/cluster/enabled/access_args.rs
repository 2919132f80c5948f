//! Options: the cluster, the store in it, password and TLS.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;

use super::refused;
use crate::cluster::access::{Access, UrlError};
use crate::cluster::router::Router;
use crate::cluster::store::ClusterStore;
use crate::cmd::Usage;

/// The environment variable in place of --cluster.
const CLUSTER_VARIABLE: &str = "ACSM_CLUSTER";
/// That with the password: a command line can be read by everybody on the machine.
const PASSWORD_VARIABLE: &str = "ACSM_CLUSTER_PASSWORD";

/// Where the store is.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// The cluster: `redis://HOST:PORT` of one of its servers, or `HOST:PORT,HOST:PORT` of several;
    /// `rediss://` for TLS, `redis://USER@HOST:PORT` for a user
    /// [default: the environment variable ACSM_CLUSTER]
    #[arg(long, value_name = "URL")]
    cluster: Option<String>,

    /// What the keys of the store begin with; a cluster can have several stores
    #[arg(long, value_name = "PREFIX", default_value = "acsm")]
    prefix: String,

    /// Encrypt connections, as rediss:// does
    #[arg(long)]
    tls: bool,

    /// Check the servers' certificates with this one, in PEM format, not with the system's
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,

    /// A file with the password [default: the environment variable ACSM_CLUSTER_PASSWORD]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl AccessArgs {
    /// The prefix of the store's keys.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Connects to the cluster.
    pub fn connect(&self) -> anyhow::Result<Router> {
        if self.prefix.is_empty() || self.prefix.contains(['{', '}']) {
            let wanted = anyhow!("--prefix is empty or has braces, which choose a hash slot");
            return Err(Usage::new(wanted).into());
        }
        let url = self.cluster.clone().or_else(|| env::var(CLUSTER_VARIABLE).ok());
        let url = url.ok_or_else(|| {
            Usage::new(anyhow!("which cluster? give --cluster URL, or set {CLUSTER_VARIABLE}"))
        })?;
        let mut access = Access::from_url(&url).map_err(|error| match error {
            UrlError::Password => Usage::new(anyhow!(
                "{error} shows it to everybody on this machine: \
                 use --password-file or {PASSWORD_VARIABLE}"
            )),
            error => Usage::new(error),
        })?;
        access.has_tls |= self.tls || self.tls_ca.is_some();
        access.password = match &self.password_file {
            Some(path) => {
                let text = fs::read_to_string(path)
                    .with_context(|| format!("cannot read the password in {}", path.display()))?;
                Some(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            None => env::var(PASSWORD_VARIABLE).ok(),
        };
        access.root_certificate = match &self.tls_ca {
            Some(path) => Some(
                fs::read(path)
                    .with_context(|| format!("cannot read the certificate {}", path.display()))?,
            ),
            None => None,
        };
        Router::connect(access).map_err(refused)
    }

    /// The store.
    pub fn open(&self) -> anyhow::Result<ClusterStore> {
        ClusterStore::open(self.connect()?, &self.prefix).map_err(refused)
    }
}
