//! One connection of an executor: dialled, and frames both ways until it is over.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ah_model::RequestId;
use tokio::sync::mpsc::{Receiver as Orders, UnboundedSender};
use tokio::time::timeout;

use super::core::{Input, Said, Stream};
use super::serve::{Message, Servers};
use crate::frame::{Frame, Lane};
use crate::link::{Closed, Dialer, Link, ReceiveError, Receiver, Sender};
use crate::talk::{self, Over, next_of};

/// How long a link whose streams ended may take to say why.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// What the agent wants of a connection.
pub(super) enum Order {
    Send { stream: Stream, frame: Frame },
    Close { word: &'static str },
}

/// A connection to be made.
pub(super) struct Dialling {
    pub(super) dial: u64,
    pub(super) dialer: Arc<Dialer>,
    pub(super) servers: Arc<Servers>,
    pub(super) messages: UnboundedSender<Message>,
}

/// A request that came: its stream's halves and its frame.
type Came = (RequestId, Frame, Sender, Receiver);

pub(super) async fn converse(dialling: Dialling, orders: Orders<Order>) {
    let Dialling { dial, messages, .. } = &dialling;
    let (dial, messages) = (*dial, messages.clone());
    match connect(&dialling).await {
        Ok((host, link, sender, receiver)) => {
            let (requests, requested) = tokio::sync::mpsc::channel(16);
            let mut conversation = Conversation {
                link,
                dial,
                messages: messages.clone(),
                control: sender,
                reports: None,
                asked: HashMap::new(),
                requests,
                has_heard: false,
            };
            conversation.tell(Input::Dialled { dial });
            let over = conversation.go_on(receiver, orders, requested).await;
            if matches!(over, Over::There) {
                conversation.say_why(&host).await;
            }
            talk::end(&conversation.link, conversation.control, over).await;
        }
        Err(detail) => {
            let said = Said::Unreachable { detail };
            let _ = messages.send(Message::Input(Input::Heard { said }));
        }
    }
    // The executor may have stopped.
    let _ = messages.send(Message::Input(Input::Closed { dial, retry_after_ms: None }));
}

async fn connect(dialling: &Dialling) -> Result<(String, Link, Sender, Receiver), String> {
    let Servers { hosts, way, terms } = &*dialling.servers;
    let count = u64::try_from(hosts.len().max(1)).unwrap_or(1);
    let place = usize::try_from((dialling.dial - 1) % count).unwrap_or(0);
    let host = hosts.get(place).ok_or("there is no server to dial")?;
    let link =
        dialling.dialer.dial(host, *way, &terms()).await.map_err(|error| error.to_string())?;
    let opened = link.open(&[Lane::ServerControl]).await;
    let (sender, receiver) = opened.map_err(|closed| format!("{host}: {closed}"))?;
    Ok((host.clone(), link, sender, receiver))
}

struct Conversation {
    link: Link,
    dial: u64,
    messages: UnboundedSender<Message>,
    control: Sender,
    reports: Option<Sender>,
    /// Requests that are not answered.
    asked: HashMap<RequestId, Sender>,
    requests: tokio::sync::mpsc::Sender<Came>,
    /// Whether the access point said anything.
    has_heard: bool,
}

impl Conversation {
    async fn go_on(
        &mut self,
        mut control: Receiver,
        mut orders: Orders<Order>,
        mut requested: Orders<Came>,
    ) -> Over {
        let mut acks = None;
        loop {
            let next = tokio::select! {
                frame = control.next() => self.came(Stream::Control, frame),
                frame = next_of(&mut acks) => self.came(Stream::Reports, frame),
                stream = self.link.accept(&[Lane::Request]) => match stream {
                    Ok((sender, receiver)) => {
                        tokio::spawn(first_frame(sender, receiver, self.requests.clone()));
                        Ok(())
                    }
                    Err(_) => Err(Over::There),
                },
                Some((id, frame, sender, receiver)) = requested.recv() => {
                    self.asked.insert(id.clone(), sender);
                    tokio::spawn(watch(receiver, self.dial, id.clone(), self.messages.clone()));
                    self.came(Stream::Request(id), Ok(Some(frame)))
                }
                order = orders.recv() => match order {
                    Some(order) => self.obey(order, &mut acks).await,
                    None => Err(Over::Here { word: "shutdown" }),
                },
            };
            if let Err(over) = next {
                return over;
            }
        }
    }

    /// A side that dials hears only after the handshake that its certificate is not let in.
    async fn say_why(&self, host: &str) {
        let Ok(closed) = timeout(LAST_WORDS_WITHIN, self.link.closed()).await else { return };
        // Whoever takes its leave in order has said why.
        if self.has_heard && matches!(closed, Closed::There(_)) {
            return;
        }
        self.tell(Input::Heard { said: Said::Unreachable { detail: format!("{host}: {closed}") } });
    }

    fn came(
        &mut self,
        stream: Stream,
        frame: Result<Option<Frame>, ReceiveError>,
    ) -> Result<(), Over> {
        let Some(frame) = frame? else { return Err(Over::There) };
        self.has_heard = true;
        self.tell(Input::Frame { dial: self.dial, stream, frame });
        Ok(())
    }

    fn tell(&self, input: Input) {
        // The executor may have stopped.
        let _ = self.messages.send(Message::Input(input));
    }

    async fn obey(&mut self, order: Order, acks: &mut Option<Receiver>) -> Result<(), Over> {
        match order {
            Order::Send { stream: Stream::Control, frame } => self.control.send(&frame).await?,
            Order::Send { stream: Stream::Reports, frame } => {
                if self.reports.is_none() {
                    let opened = self.link.open(&[Lane::ReportAck]).await;
                    let (sender, receiver) = opened.map_err(|_| Over::There)?;
                    (self.reports, *acks) = (Some(sender), Some(receiver));
                }
                if let Some(reports) = &mut self.reports {
                    reports.send(&frame).await?;
                }
            }
            Order::Send { stream: Stream::Request(id), frame } => self.answer(id, frame).await,
            Order::Close { word } => return Err(Over::Here { word }),
        }
        Ok(())
    }

    /// A request that the access point gave up meanwhile is no trouble.
    async fn answer(&mut self, id: RequestId, frame: Frame) {
        let is_last = matches!(frame, Frame::Reply(_));
        if !is_last {
            if let Some(sender) = self.asked.get_mut(&id) {
                let _ = sender.send(&frame).await;
            }
        } else if let Some(mut sender) = self.asked.remove(&id) {
            let _ = sender.send(&frame).await;
            let _ = sender.finish();
        }
    }
}

/// Reads what a request's stream begins with.
async fn first_frame(
    sender: Sender,
    mut receiver: Receiver,
    requests: tokio::sync::mpsc::Sender<Came>,
) {
    // A stream that brings nothing whole is dropped, and with it reset.
    let Ok(Some(frame)) = receiver.next().await else { return };
    let Some(id) = frame.request_head().map(|head| head.id.clone()) else { return };
    let _ = requests.send((id, frame, sender, receiver)).await;
}

/// Waits until the access point takes a request back.
async fn watch(
    mut receiver: Receiver,
    dial: u64,
    request: RequestId,
    messages: UnboundedSender<Message>,
) {
    if let Err(ReceiveError::Reset) = receiver.next().await {
        let _ = messages.send(Message::Input(Input::RequestDropped { dial, request }));
    }
}
