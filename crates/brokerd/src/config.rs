//! The broker's configuration: what was written, checked once at start. Grants have files of their own (`grants`).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use audit::Durability;
use serde::Deserialize;

/// A checked configuration.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) home: PathBuf,
    pub(crate) grants: Option<PathBuf>,
    pub(crate) durability: Durability,
    pub(crate) hub: Option<HubConfig>,
    pub(crate) sandbox: bool,
}

/// Where calls that need a person go.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HubConfig {
    pub(crate) url: String,
    pub(crate) token_file: PathBuf,
    pub(crate) identity: String,
}

/// Why a configuration is not one. The broker does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("`{path}` cannot be read")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{path}` does not parse")]
    Parse {
        path: PathBuf,
        #[source]
        source: Box<toml::de::Error>,
    },
    #[error("`{path}`: `{key}` must be an absolute path")]
    Relative { path: PathBuf, key: &'static str },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    paths: RawPaths,
    #[serde(default)]
    audit: RawAudit,
    hub: Option<HubConfig>,
    #[serde(default)]
    exec: RawExec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPaths {
    home: PathBuf,
    grants: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAudit {
    #[serde(default)]
    durability: RawDurability,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawDurability {
    #[default]
    Flush,
    None,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExec {
    sandbox: Option<RawSandbox>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawSandbox {
    Strict,
}

impl Config {
    /// Reads and checks a configuration file.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let raw: RawConfig = toml::from_str(&text)
            .map_err(|source| ConfigError::Parse { path: path.to_owned(), source: Box::new(source) })?;
        let RawConfig { paths: RawPaths { home, grants }, audit, hub, exec } = raw;
        let absolute = |key, given: &Path| {
            if given.is_absolute() {
                Ok(())
            } else {
                Err(ConfigError::Relative { path: path.to_owned(), key })
            }
        };
        absolute("paths.home", &home)?;
        if let Some(grants) = &grants {
            absolute("paths.grants", grants)?;
        }
        if let Some(hub) = &hub {
            absolute("hub.token_file", &hub.token_file)?;
        }
        let durability = match audit.durability {
            RawDurability::Flush => Durability::Flush,
            RawDurability::None => Durability::None,
        };
        let sandbox = exec.sandbox.is_some_and(|RawSandbox::Strict| true);
        Ok(Self { home, grants, durability, hub, sandbox })
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.home.join("run/loop-broker")
    }

    pub(crate) fn audit(&self) -> PathBuf {
        self.home.join("audit")
    }

    pub(crate) fn approvers(&self) -> PathBuf {
        self.home.join("approvers.json")
    }

    pub(crate) fn replay(&self) -> PathBuf {
        self.home.join("replay")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("brokerd.toml");
        fs::write(&path, text).unwrap();
        Config::read(&path)
    }

    #[test]
    fn a_home_is_enough() {
        let config = read("[paths]\nhome = '/var/lib/sealward'\n").unwrap();
        assert_eq!((config.durability, config.sandbox), (Durability::Flush, false));
        assert!(config.hub.is_none() && config.grants.is_none());
    }

    #[test]
    fn unknown_keys_and_relative_paths_are_named() {
        let unknown = read("[paths]\nhome = '/h'\ncolour = 1\n").unwrap_err();
        assert!(std::error::Error::source(&unknown).unwrap().to_string().contains("colour"));
        let relative = read("[paths]\nhome = 'h'\n").unwrap_err();
        assert!(matches!(relative, ConfigError::Relative { key: "paths.home", .. }));
        assert!(read("[paths]\nhome = '/h'\n[exec]\nsandbox = 'loose'\n").is_err());
    }
}
