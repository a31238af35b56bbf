//! The broker as a turn uses it: a socket, one connection for each call. What the broker decides is none of our business.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use model::{Cancel, ModelError};
use proto::{
    broker::{
        Assurance, BrokerFrame, CallEvent, CallRequest, CallResult, ClientDecision, ClientFrame, ToolInfo,
        VERSION,
    },
    limits,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    time::timeout,
};

use crate::llama::block_on;

/// What a turn needs of whoever holds the powers.
pub trait Port: Send + Sync {
    /// Makes one call and waits for its result. `event` hears what happens on the way.
    ///
    /// # Errors
    /// [`PortError`]: the call's fate is then not known here.
    fn call(
        &self,
        request: &CallRequest,
        cancel: &Cancel,
        event: &mut dyn FnMut(&CallEvent),
    ) -> Result<CallResult, PortError>;

    /// What a model may call.
    ///
    /// # Errors
    /// [`PortError`].
    fn tools(&self) -> Result<Vec<ToolInfo>, PortError>;
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Whoever drives the loop withdrew.
    #[error("cancelled")]
    Cancelled,
    /// The broker went away; whether the call ran is not known.
    #[error("the broker went away in the middle of a call")]
    Died(#[source] Option<io::Error>),
    /// The broker says something we do not understand.
    #[error("the broker answered something that is no answer: {detail}")]
    Garbage {
        /// What was wrong with it.
        detail: String,
    },
    /// The call does not fit a frame.
    #[error("the call needs {0} bytes, over the limit of a frame")]
    TooLarge(usize),
    /// Nobody decided in time.
    #[error("the broker did not answer within {seconds} s")]
    TimedOut {
        /// How long was waited, seconds.
        seconds: u64,
    },
    /// The broker cannot be reached.
    #[error("the broker at `{socket}` cannot be reached: is it running?")]
    Unreachable {
        /// Where it was looked for.
        socket: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl From<ModelError> for PortError {
    fn from(error: ModelError) -> Self {
        Self::Died(Some(io::Error::other(error)))
    }
}

/// Who clicks, where a grant takes a click in the program that drives the loop.
pub trait Person: Send + Sync + fmt::Debug {
    /// Shows the call and waits for the click. It ends by itself when the turn is cancelled.
    fn ask(&self, request: &CallRequest) -> ClientDecision;
}

/// The broker behind a Unix socket.
#[derive(Clone, Debug)]
pub struct BrokerPort {
    socket: PathBuf,
    timeout: Duration,
    person: Option<Arc<dyn Person>>,
}

impl BrokerPort {
    /// A port to the broker at `socket`; a call may take `timeout`, a person's answer included.
    #[must_use]
    pub fn new(socket: impl AsRef<Path>, timeout: Duration) -> Self {
        Self { socket: socket.as_ref().to_owned(), timeout, person: None }
    }

    /// The same with somebody to click; without one every such question is answered with no.
    #[must_use]
    pub fn with_person(self, person: Arc<dyn Person>) -> Self {
        Self { person: Some(person), ..self }
    }

    async fn connect(&self) -> Result<Connection, PortError> {
        let stream = UnixStream::connect(&self.socket)
            .await
            .map_err(|source| PortError::Unreachable { socket: self.socket.clone(), source })?;
        let mut connection = Connection(BufReader::new(stream));
        connection.send(&ClientFrame::Hello { version: VERSION }).await?;
        match connection.receive().await? {
            BrokerFrame::Hello { version: VERSION } => Ok(connection),
            other @ (BrokerFrame::Hello { .. }
            | BrokerFrame::Tools { .. }
            | BrokerFrame::Event { .. }
            | BrokerFrame::Result { .. }
            | BrokerFrame::Error { .. }) => Err(unexpected(&other)),
        }
    }

    async fn make(
        &self,
        request: &CallRequest,
        cancel: &Cancel,
        event: &mut dyn FnMut(&CallEvent),
    ) -> Result<CallResult, PortError> {
        let mut connection = self.connect().await?;
        connection.send(&ClientFrame::Call(Box::new(request.clone()))).await?;
        loop {
            let frame = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    connection.send(&ClientFrame::Cancel { call: request.id }).await?;
                    return Err(PortError::Cancelled);
                }
                frame = connection.receive() => frame?,
            };
            match frame {
                BrokerFrame::Event { id, event: happened } if id == request.id => {
                    event(&happened);
                    if happened == (CallEvent::WaitingForPerson { assurance: Assurance::Client }) {
                        // Nobody there to click is a no.
                        let person = self.person.as_ref();
                        let decision = person.map_or(ClientDecision::Decline, |person| person.ask(request));
                        connection.send(&ClientFrame::Answer { call: request.id, decision }).await?;
                    }
                }
                BrokerFrame::Result { id, result } if id == request.id => return Ok(result),
                other @ (BrokerFrame::Hello { .. }
                | BrokerFrame::Tools { .. }
                | BrokerFrame::Event { .. }
                | BrokerFrame::Result { .. }
                | BrokerFrame::Error { .. }) => return Err(unexpected(&other)),
            }
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, PortError>>) -> Result<T, PortError> {
        let late = PortError::TimedOut { seconds: self.timeout.as_secs() };
        timeout(self.timeout, work).await.unwrap_or(Err(late))
    }
}

impl Port for BrokerPort {
    fn call(
        &self,
        request: &CallRequest,
        cancel: &Cancel,
        event: &mut dyn FnMut(&CallEvent),
    ) -> Result<CallResult, PortError> {
        block_on(self.in_time(self.make(request, cancel, event)))
    }

    fn tools(&self) -> Result<Vec<ToolInfo>, PortError> {
        block_on(self.in_time(async {
            let mut connection = self.connect().await?;
            connection.send(&ClientFrame::ToolsList { id: 1 }).await?;
            match connection.receive().await? {
                BrokerFrame::Tools { id: 1, tools } => Ok(tools),
                other @ (BrokerFrame::Hello { .. }
                | BrokerFrame::Tools { .. }
                | BrokerFrame::Event { .. }
                | BrokerFrame::Result { .. }
                | BrokerFrame::Error { .. }) => Err(unexpected(&other)),
            }
        }))
    }
}

struct Connection(BufReader<UnixStream>);

impl Connection {
    async fn send(&mut self, frame: &ClientFrame) -> Result<(), PortError> {
        let mut line = serde_json::to_vec(frame).map_err(|error| PortError::Garbage {
            detail: format!("a frame that cannot be written: {error}"),
        })?;
        line.push(b'\n');
        if line.len() > limits::FRAME_BYTES {
            return Err(PortError::TooLarge(line.len()));
        }
        self.0.get_mut().write_all(&line).await.map_err(|error| PortError::Died(Some(error)))
    }

    async fn receive(&mut self) -> Result<BrokerFrame, PortError> {
        let limit = u64::try_from(limits::FRAME_BYTES).unwrap_or(u64::MAX);
        let mut line = Vec::new();
        let read = (&mut self.0).take(limit).read_until(b'\n', &mut line).await;
        read.map_err(|error| PortError::Died(Some(error)))?;
        if line.pop() != Some(b'\n') {
            return Err(PortError::Died(None));
        }
        serde_json::from_slice(&line)
            .map_err(|error| PortError::Garbage { detail: format!("a frame that does not parse: {error}") })
    }
}

fn unexpected(frame: &BrokerFrame) -> PortError {
    let detail = match frame {
        BrokerFrame::Error { detail } => detail.clone(),
        BrokerFrame::Hello { version } => format!("a hello of version {version}"),
        BrokerFrame::Tools { .. } => "tools that nobody asked for".to_owned(),
        BrokerFrame::Event { id, .. } | BrokerFrame::Result { id, .. } => format!("a frame for call {id}"),
    };
    PortError::Garbage { detail }
}
