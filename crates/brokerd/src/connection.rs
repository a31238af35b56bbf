//! One connection: frames in, frames out, many calls at once. What happens to a call is `pipeline`'s.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use proto::{
    audit::DenyReason,
    broker::{BrokerFrame, CallEvent, CallRequest, CallResult, ClientDecision, ClientFrame, VERSION},
    limits,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinSet,
};

use crate::{broker::Broker, pipeline, tools};

/// Where a call's events go and its cancellation comes from.
#[derive(Debug)]
pub(crate) struct Link {
    id: u64,
    out: Out,
    cancel: watch::Receiver<bool>,
    clicks: mpsc::Receiver<ClientDecision>,
    wants_click: Arc<AtomicBool>,
}

impl Link {
    /// A link whose events nobody hears and that is never cancelled.
    #[cfg(test)]
    pub(crate) fn unheard() -> Self {
        let (frames, _) = mpsc::unbounded_channel();
        let (cancel, cancelled) = watch::channel(false);
        // Kept for ever: a sender that is gone would be a client that is gone.
        std::mem::forget(cancel);
        Self {
            id: 0,
            out: Out { frames, waiting: Arc::new(AtomicUsize::new(0)) },
            cancel: cancelled,
            clicks: mpsc::channel(1).1,
            wants_click: Arc::new(AtomicBool::new(false)),
        }
    }

    pub(crate) fn event(&self, event: CallEvent) {
        self.out.send(&BrokerFrame::Event { id: self.id, event });
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.cancel.borrow()
    }

    /// Returns once the call was withdrawn or its client is gone.
    pub(crate) async fn cancelled(&self) {
        let mut cancel = self.cancel.clone();
        // A sender that is gone is a client that is gone.
        drop(cancel.wait_for(|cancelled| *cancelled).await);
    }

    /// From now on a click is expected; before, an answer was a broken protocol.
    pub(crate) fn ask_for_click(&self) {
        self.wants_click.store(true, Ordering::Release);
    }

    /// The click, or `None` where the call was withdrawn or its client is gone.
    pub(crate) async fn click(&mut self) -> Option<ClientDecision> {
        tokio::select! {
            biased;
            _ = self.cancel.wait_for(|cancelled| *cancelled) => None,
            click = self.clicks.recv() => click,
        }
    }
}

/// A call in flight, as its connection knows it.
struct Flight {
    cancel: watch::Sender<bool>,
    clicks: mpsc::Sender<ClientDecision>,
    wants_click: Arc<AtomicBool>,
}

/// The way out. What is not read is kept up to a limit; over it the connection ends.
#[derive(Clone, Debug)]
struct Out {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

impl Out {
    fn send(&self, frame: &BrokerFrame) {
        let Ok(mut line) = serde_json::to_vec(frame) else { return };
        line.push(b'\n');
        self.waiting.fetch_add(line.len(), Ordering::AcqRel);
        // A writer that is gone has told everybody by closing the connection.
        drop(self.frames.send(line));
    }

    fn is_clogged(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > limits::UNREAD_BYTES
    }
}

/// Serves one connection until its client is gone or breaks the protocol. Calls that still wait are then cancelled and recorded.
///
/// `closing` becomes true when the broker stops.
pub(crate) async fn serve(stream: UnixStream, broker: Arc<Broker>, mut closing: watch::Receiver<bool>) {
    let (read, write) = stream.into_split();
    let (frames, outgoing) = mpsc::unbounded_channel();
    let out = Out { frames, waiting: Arc::new(AtomicUsize::new(0)) };
    let writer = tokio::spawn(write_frames(write, outgoing, Arc::clone(&out.waiting)));
    let mut connection = Connection {
        broker,
        out: out.clone(),
        flights: Flights::default(),
        calls: JoinSet::new(),
        greeted: false,
    };
    let broken = tokio::select! {
        biased;
        _ = closing.wait_for(|closing| *closing) => Ok(()),
        outcome = connection.read_frames(BufReader::new(read)) => outcome,
    };
    if let Err(detail) = broken {
        tracing::warn!(%detail, "a connection broke the protocol");
        out.send(&BrokerFrame::Error { detail });
    }
    connection.end().await;
    drop((connection, out));
    // The writer ends once nobody can send any more; its own failure is the client's absence.
    drop(writer.await);
}

async fn write_frames(
    mut write: OwnedWriteHalf,
    mut outgoing: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
) {
    while let Some(line) = outgoing.recv().await {
        if write.write_all(&line).await.is_err() {
            return;
        }
        waiting.fetch_sub(line.len(), Ordering::AcqRel);
    }
}

/// A call leaves the map before its result is sent, so that its id is free for whoever has read the result.
type Flights = Arc<Mutex<HashMap<u64, Flight>>>;

struct Connection {
    broker: Arc<Broker>,
    out: Out,
    flights: Flights,
    calls: JoinSet<()>,
    greeted: bool,
}

impl Connection {
    async fn read_frames(&mut self, mut read: BufReader<OwnedReadHalf>) -> Result<(), String> {
        let mut line = Vec::new();
        loop {
            tokio::select! {
                _ = self.calls.join_next(), if !self.calls.is_empty() => {}
                frame = read_line(&mut read, &mut line) => {
                    if !frame? {
                        return Ok(());
                    }
                    let frame = serde_json::from_slice(&line).map_err(|error| format!("no frame: {error}"))?;
                    line.clear();
                    self.take(frame)?;
                }
            }
            if self.out.is_clogged() {
                return Err(format!("over {} bytes were not read", limits::UNREAD_BYTES));
            }
        }
    }

    fn take(&mut self, frame: ClientFrame) -> Result<(), String> {
        match frame {
            ClientFrame::Hello { version: VERSION } if !self.greeted => {
                self.greeted = true;
                self.out.send(&BrokerFrame::Hello { version: VERSION });
                Ok(())
            }
            ClientFrame::Hello { version } => {
                Err(format!("hello of version {version}; {VERSION} once is spoken"))
            }
            _ if !self.greeted => Err("the first frame is a hello".to_owned()),
            ClientFrame::ToolsList { id } => {
                self.out.send(&BrokerFrame::Tools { id, tools: tools::list() });
                Ok(())
            }
            ClientFrame::Call(request) => self.call(*request),
            ClientFrame::Answer { call, decision } => {
                let flights = lock(&self.flights);
                let flight = flights.get(&call).ok_or_else(|| format!("no call {call} waits"))?;
                if !flight.wants_click.swap(false, Ordering::AcqRel) {
                    return Err(format!("call {call} asked for no click"));
                }
                flight.clicks.try_send(decision).map_err(|_| format!("call {call} was answered already"))
            }
            ClientFrame::Cancel { call } => {
                // It may have ended in the same moment, which is no fault.
                if let Some(flight) = lock(&self.flights).get(&call) {
                    flight.cancel.send_replace(true);
                }
                Ok(())
            }
        }
    }

    fn call(&mut self, request: CallRequest) -> Result<(), String> {
        let id = request.id;
        let mut flights = lock(&self.flights);
        if flights.contains_key(&id) {
            return Err(format!("call {id} is in flight already"));
        }
        if flights.len() >= limits::CALLS_IN_FLIGHT {
            let reason = DenyReason::Overloaded;
            let result = CallResult::Denied { text: reason.to_string(), reason };
            self.out.send(&BrokerFrame::Result { id, result });
            return Ok(());
        }
        let (cancel, cancelled) = watch::channel(false);
        let (clicks, clicked) = mpsc::channel(1);
        let wants_click = Arc::new(AtomicBool::new(false));
        let mut link = Link {
            id,
            out: self.out.clone(),
            cancel: cancelled,
            clicks: clicked,
            wants_click: Arc::clone(&wants_click),
        };
        flights.insert(id, Flight { cancel, clicks, wants_click });
        drop(flights);
        let (broker, flights) = (Arc::clone(&self.broker), Arc::clone(&self.flights));
        self.calls.spawn(async move {
            let result = pipeline::handle(&broker, request, &mut link).await;
            let done = lock(&flights).remove(&id);
            link.out.send(&BrokerFrame::Result { id, result });
            drop(done);
        });
        Ok(())
    }

    /// Withdraws what waits, and returns once everything is recorded.
    async fn end(&mut self) {
        for flight in lock(&self.flights).values() {
            flight.cancel.send_replace(true);
        }
        while self.calls.join_next().await.is_some() {}
    }
}

fn lock(flights: &Flights) -> MutexGuard<'_, HashMap<u64, Flight>> {
    flights.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one line without its end; `false` where the stream ended before one began.
async fn read_line(read: &mut BufReader<OwnedReadHalf>, line: &mut Vec<u8>) -> Result<bool, String> {
    // What was read before a cancelled wait stands in `line` already.
    let limit = limits::FRAME_BYTES.saturating_sub(line.len());
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let read = read.take(limit).read_until(b'\n', line).await;
    read.map_err(|error| format!("the stream broke: {error}"))?;
    match line.pop() {
        Some(b'\n') => Ok(true),
        None => Ok(false),
        Some(_) if line.len() + 1 >= limits::FRAME_BYTES => {
            Err(format!("a frame is over the limit of {} bytes", limits::FRAME_BYTES))
        }
        Some(_) => Err("the stream ended in the middle of a frame".to_owned()),
    }
}
