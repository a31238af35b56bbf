//! Requests to a Chat Completions server. It never retries by itself: a caller knows what a retry would repeat.

use std::{io, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, body::Incoming, header};
use serde::Deserialize;
use tokio::time::timeout;

use super::stream::{Assembly, Completion, Delta};
use crate::{
    Cancel, Endpoint, ModelError,
    sse::{BadStream, SseParser},
};

/// Bytes of an answer that does not stream (`/props`, errors).
const PLAIN_BYTES: usize = 1024 * 1024;
/// Bytes of one event of a stream.
const EVENT_BYTES: usize = 1024 * 1024;
/// Bytes of an error's words that are kept.
const DETAIL_BYTES: usize = 500;

/// How a server is spoken to.
#[derive(Clone, Debug)]
pub struct ChatConfig {
    /// Where it listens.
    pub endpoint: Endpoint,
    /// Longest silence before a request is given up, seconds. A server sends a filler every 30 s.
    pub idle_s: u64,
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Props {
    /// Slots.
    #[serde(default)]
    pub total_slots: u32,
    /// What its template can do.
    #[serde(default)]
    pub chat_template_caps: Caps,
    /// Settings of a request that names none.
    #[serde(default)]
    pub default_generation_settings: GenerationSettings,
}

/// What a chat template can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Caps {
    /// It shows tools to the model.
    #[serde(default)]
    pub supports_tools: bool,
    /// It can write a call.
    #[serde(default)]
    pub supports_tool_calls: bool,
}

/// Settings that we read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct GenerationSettings {
    /// Tokens of the context of one slot.
    #[serde(default)]
    pub n_ctx: u64,
}

/// An error as the server words it.
#[derive(Debug, Deserialize)]
pub(super) struct ServerError {
    #[serde(default)]
    code: Option<u16>,
    #[serde(default)]
    message: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    n_prompt_tokens: u64,
    #[serde(default)]
    n_ctx: u64,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ServerError,
}

impl ServerError {
    pub(super) fn classify(self) -> ModelError {
        let Self { code, message, kind, n_prompt_tokens, n_ctx } = self;
        let detail: String = message.chars().take(DETAIL_BYTES).collect();
        match kind.as_str() {
            "unavailable_error" => ModelError::Loading,
            "exceed_context_size_error" => ModelError::Overflow { needed: n_prompt_tokens, context: n_ctx },
            // The server has no type of its own for this; its text is stable.
            "server_error" if message.contains("does not match the expected") => {
                ModelError::BadOutput { detail }
            }
            _ => ModelError::Refused { status: code.unwrap_or(500), detail },
        }
    }
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    config: ChatConfig,
}

impl Client {
    /// A client; nothing is sent yet.
    #[must_use]
    pub const fn new(config: ChatConfig) -> Self {
        Self { config }
    }

    /// Where the server is looked for.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.config.endpoint
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// [`ModelError`].
    pub async fn props(&self) -> Result<Props, ModelError> {
        let (status, body) = self.plain("/props").await?;
        if status != 200 {
            return Err(refused(status, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|error| ModelError::Garbage { detail: format!("its properties do not parse: {error}") })
    }

    /// Whether the server offers tools of its own, which would go round the broker.
    ///
    /// # Errors
    /// [`ModelError`].
    pub async fn runs_tools(&self) -> Result<bool, ModelError> {
        Ok(self.plain("/tools").await?.0 == 200)
    }

    /// Sends a whole request body and reads the streamed answer. `deltas` hears text as it comes.
    ///
    /// # Errors
    /// [`ModelError`]; after [`Cancel::cancel`] the connection is closed, which frees the server's slot.
    pub async fn complete(
        &self,
        body: String,
        cancel: &Cancel,
        deltas: &mut impl FnMut(Delta<'_>),
    ) -> Result<Completion, ModelError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            outcome = self.stream(body, deltas) => outcome,
        }
    }

    async fn stream(
        &self,
        body: String,
        deltas: &mut impl FnMut(Delta<'_>),
    ) -> Result<Completion, ModelError> {
        let request = self.request(Method::POST, "/v1/chat/completions", body.into())?;
        let response = self.patience(self.config.endpoint.send(request)).await?;
        let status = response.status().as_u16();
        if status != 200 {
            let body = self.patience(whole(response.into_body())).await?;
            return Err(refused(status, &body));
        }
        let mut body = response.into_body();
        let mut parser = SseParser::new(EVENT_BYTES);
        let mut assembly = Assembly::default();
        let mut events = Vec::new();
        while let Some(frame) = self.patience(async { Ok(body.frame().await) }).await? {
            let frame = frame.map_err(|error| ModelError::Died(Some(io::Error::other(error))))?;
            let Some(bytes) = frame.data_ref() else { continue };
            parser.feed(bytes, &mut |event| events.push(event)).map_err(|bad| match bad {
                BadStream::TooLong => ModelError::TooLarge { limit: EVENT_BYTES },
                BadStream::NotUtf8 => ModelError::Garbage { detail: bad.to_string() },
            })?;
            for event in events.drain(..) {
                assembly.take(&event.data, deltas)?;
            }
        }
        assembly.finish()
    }

    async fn plain(&self, path: &str) -> Result<(u16, Vec<u8>), ModelError> {
        let request = self.request(Method::GET, path, Bytes::new())?;
        let response = self.patience(self.config.endpoint.send(request)).await?;
        let status = response.status().as_u16();
        Ok((status, self.patience(whole(response.into_body())).await?))
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, ModelError> {
        Request::builder()
            .method(method)
            .uri(self.config.endpoint.path(path))
            .header(header::HOST, self.config.endpoint.authority())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream, application/json")
            .body(Full::new(body))
            .map_err(|error| ModelError::Garbage { detail: format!("no request can be made: {error}") })
    }

    async fn patience<T>(&self, wait: impl Future<Output = Result<T, ModelError>>) -> Result<T, ModelError> {
        let seconds = self.config.idle_s;
        timeout(Duration::from_secs(seconds), wait).await.unwrap_or(Err(ModelError::Silent { seconds }))
    }
}

async fn whole(body: Incoming) -> Result<Vec<u8>, ModelError> {
    match Limited::new(body, PLAIN_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes().to_vec()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(ModelError::TooLarge { limit: PLAIN_BYTES })
        }
        Err(error) => Err(ModelError::Died(Some(io::Error::other(error)))),
    }
}

fn refused(status: u16, body: &[u8]) -> ModelError {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) => body.error.classify(),
        Err(_) if status == 503 => ModelError::Loading,
        Err(_) => {
            let detail = String::from_utf8_lossy(body).chars().take(DETAIL_BYTES).collect();
            ModelError::Refused { status, detail }
        }
    }
}
