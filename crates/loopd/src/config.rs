//! What a loop is told: where the model and the broker are, and its limits. Reading the file itself is the binary's.

use std::path::PathBuf;

use model::{BadEndpoint, Endpoint};
use serde::Deserialize;

/// Said to the model where the configuration says nothing.
const SYSTEM: &str = "You are a careful assistant. You may call the tools you are given. A call may be denied; then say so, and do \
not try to get round it.";

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The system prompt.
    pub system: String,
    /// Where sessions are kept.
    pub sessions: PathBuf,
    /// The model server.
    pub model: ModelConfig,
    /// Slots of the model server.
    pub slots: Slots,
    /// The broker.
    pub broker: BrokerConfig,
    /// Limits of a turn.
    pub limits: TurnLimits,
}

/// The model server.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// Where it listens.
    pub endpoint: Endpoint,
    /// The model's name, where the server has several.
    pub name: Option<String>,
    /// Longest silence, seconds.
    pub idle_s: u64,
    /// How long a model that loads is waited for, seconds.
    pub ready_s: u64,
    /// Tokens of one answer.
    pub max_tokens: u32,
    /// How freely it chooses its words, where the server's own setting is not wanted; 0 is least.
    pub temperature: Option<f64>,
}

/// Which slot of the server a conversation is pinned to, so that its prefix stays cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slots {
    /// Slot of the main conversation.
    pub main: u32,
}

/// The broker.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Its socket.
    pub socket: PathBuf,
    /// How long a call may take, a person's answer included, seconds.
    pub timeout_s: u64,
}

/// Limits of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnLimits {
    /// Answers of the model in one turn.
    pub answers: u32,
    /// Tool calls in one answer; further ones are not made.
    pub calls: usize,
    /// Equal calls in a row that end a turn.
    pub repeats: u32,
    /// Denials in a row that end a turn.
    pub denials: u32,
    /// Bytes of a result that the model reads.
    pub result_bytes: usize,
}

/// Why a configuration is not one.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It does not parse; the cause names key and line.
    #[error("the configuration does not parse")]
    Parse(#[source] Box<toml::de::Error>),
    /// The model server's address is none.
    #[error("`model.endpoint`")]
    Endpoint(#[source] BadEndpoint),
    /// A number that makes no sense.
    #[error("`{key}` must be at least 1")]
    Zero {
        /// The key.
        key: &'static str,
    },
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { answers: 50, calls: 16, repeats: 3, denials: 5, result_bytes: 16 * 1024 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    system: Option<String>,
    sessions: PathBuf,
    model: RawModel,
    #[serde(default)]
    slots: Slots,
    broker: RawBroker,
    #[serde(default)]
    limits: TurnLimits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    endpoint: String,
    name: Option<String>,
    idle_s: Option<u64>,
    ready_s: Option<u64>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBroker {
    socket: PathBuf,
    timeout_s: Option<u64>,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`ConfigError`], which names the key.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let RawConfig { system, sessions, model, slots, broker, limits } =
            toml::from_str(text).map_err(|error| ConfigError::Parse(Box::new(error)))?;
        let RawModel { endpoint, name, idle_s, ready_s, max_tokens, temperature } = model;
        let RawBroker { socket, timeout_s } = broker;
        let config = Self {
            system: system.unwrap_or_else(|| SYSTEM.to_owned()),
            sessions,
            model: ModelConfig {
                endpoint: Endpoint::parse(&endpoint).map_err(ConfigError::Endpoint)?,
                name,
                idle_s: idle_s.unwrap_or(120),
                ready_s: ready_s.unwrap_or(60),
                max_tokens: max_tokens.unwrap_or(2048),
                temperature,
            },
            slots,
            broker: BrokerConfig { socket, timeout_s: timeout_s.unwrap_or(3600) },
            limits,
        };
        let numbers = [
            ("limits.answers", u64::from(limits.answers)),
            ("limits.repeats", u64::from(limits.repeats)),
            ("limits.denials", u64::from(limits.denials)),
            ("model.idle_s", config.model.idle_s),
            ("broker.timeout_s", config.broker.timeout_s),
        ];
        match numbers.into_iter().find(|(_, number)| *number == 0) {
            Some((key, _)) => Err(ConfigError::Zero { key }),
            None => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_configuration_is_enough_and_an_unknown_key_is_named() {
        let small = "sessions = '/s'\n[model]\nendpoint = '/m.sock'\n[broker]\nsocket = '/b.sock'\n";
        let config = Config::from_toml(small).unwrap();
        assert_eq!((config.slots.main, config.limits.calls), (0, 16));
        let error = Config::from_toml(&format!("colour = 1\n{small}")).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("colour"));
        assert!(matches!(
            Config::from_toml(&format!("{small}[limits]\nanswers = 0\n")),
            Err(ConfigError::Zero { key: "limits.answers" })
        ));
    }
}
