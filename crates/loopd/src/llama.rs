//! The model server as a turn uses it: blocking, patient while a model loads. The wire is `model`'s.

use std::time::Duration;

use model::{
    Cancel, ModelError,
    chat::{self, ChatConfig, Completion, Delta},
};
use tokio::{runtime, time};

use crate::config::ModelConfig;

/// Waits between tries, milliseconds: four tries, five and a half seconds in all.
const BACKOFF_MS: [u64; 4] = [200, 500, 1_500, 3_500];
/// Wait between looks at a model that loads, milliseconds.
const LOADING_MS: u64 = 250;

/// A client of the model server.
#[derive(Clone, Debug)]
pub struct Client {
    chat: chat::Client,
    config: ModelConfig,
}

/// Why a server is not one for agents.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It did not answer.
    #[error("the model server cannot be asked what it is")]
    Model(#[from] ModelError),
    /// Its template drops tools without a word.
    #[error("the model's chat template knows no tools: start the server with a template that does")]
    NoTools,
    /// It runs tools by itself, past the broker.
    #[error(
        "the model server runs tools of its own, past the broker: start it without `--tools` and `--agent`"
    )]
    RunsTools,
    /// The slot does not exist; the server would silently take another one.
    #[error("slot {slot} was configured and the server has {slots}")]
    Slot {
        /// The configured slot.
        slot: u32,
        /// How many there are.
        slots: u32,
    },
}

impl Client {
    /// A client; nothing is sent yet.
    #[must_use]
    pub fn new(config: ModelConfig) -> Self {
        let chat = chat::Client::new(ChatConfig { endpoint: config.endpoint.clone(), idle_s: config.idle_s });
        Self { chat, config }
    }

    /// How the server is spoken to.
    #[must_use]
    pub const fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Checks that the server shows tools to its model, runs none itself, and has `slot`.
    ///
    /// # Errors
    /// [`Unfit`]; a session with such a server would go wrong silently.
    pub fn check(&self, slot: u32, cancel: &Cancel) -> Result<(), Unfit> {
        block_on(async {
            let props = self.patiently(cancel, &mut |_| (), async || self.chat.props().await).await?;
            if !(props.chat_template_caps.supports_tools && props.chat_template_caps.supports_tool_calls) {
                return Err(Unfit::NoTools);
            }
            if self.chat.runs_tools().await? {
                return Err(Unfit::RunsTools);
            }
            if slot >= props.total_slots {
                return Err(Unfit::Slot { slot, slots: props.total_slots });
            }
            Ok(())
        })
    }

    /// Sends a request body and waits for the whole answer. Waits for a loading model and tries again where nothing was heard.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn complete(
        &self,
        body: &str,
        cancel: &Cancel,
        heard: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Completion, ModelError> {
        block_on(async {
            let mut tries = BACKOFF_MS.into_iter();
            loop {
                let mut spoke = false;
                let outcome = self.once(body, cancel, heard, &mut spoke).await;
                let error = match outcome {
                    // What was shown cannot be unshown: a second try would say everything twice.
                    Err(error) if error.may_retry() && !spoke => error,
                    other => return other,
                };
                let Some(wait) = tries.next() else { return Err(error) };
                heard(Heard::Waiting(&error.to_string()));
                pause(wait, cancel).await?;
            }
        })
    }

    async fn once(
        &self,
        body: &str,
        cancel: &Cancel,
        heard: &mut dyn FnMut(Heard<'_>),
        spoke: &mut bool,
    ) -> Result<Completion, ModelError> {
        let deadline = time::Instant::now() + Duration::from_secs(self.config.ready_s);
        loop {
            let outcome = self
                .chat
                .complete(body.to_owned(), cancel, &mut |delta| {
                    *spoke = true;
                    heard(Heard::Delta(delta));
                })
                .await;
            match outcome {
                Err(ModelError::Loading) if time::Instant::now() < deadline => {
                    heard(Heard::Waiting("the model is loading"));
                    pause(LOADING_MS, cancel).await?;
                }
                other => return other,
            }
        }
    }

    async fn patiently<T>(
        &self,
        cancel: &Cancel,
        heard: &mut dyn FnMut(Heard<'_>),
        ask: impl AsyncFn() -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let deadline = time::Instant::now() + Duration::from_secs(self.config.ready_s);
        loop {
            match ask().await {
                Err(error) if error.may_retry() && time::Instant::now() < deadline => {
                    heard(Heard::Waiting(&error.to_string()));
                    pause(LOADING_MS, cancel).await?;
                }
                other => return other,
            }
        }
    }
}

/// What is heard while an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A piece of the answer.
    Delta(Delta<'a>),
    /// The server is not ready; why.
    Waiting(&'a str),
}

async fn pause(millis: u64, cancel: &Cancel) -> Result<(), ModelError> {
    tokio::select! {
        () = cancel.cancelled() => Err(ModelError::Cancelled),
        () = time::sleep(Duration::from_millis(millis)) => Ok(()),
    }
}

/// Runs one exchange on a runtime of its own: turns are blocking, and many of them run on threads of their own.
pub(crate) fn block_on<T, E: From<ModelError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(|source| {
        E::from(ModelError::Unreachable { endpoint: "this process' own event loop".to_owned(), source })
    })?;
    runtime.block_on(work)
}
