//! One connection's task: frames from the peer to the point, and back.

use std::collections::HashMap;

use ah_model::RequestId;
use tokio::sync::mpsc::{Receiver as Orders, Sender as Messages};
use tokio::task::AbortHandle;

use super::input::{ConnectionId, Input, Stream};
use super::serve::Message;
use crate::frame::{Frame, Lane};
use crate::link::{Link, ReceiveError, Receiver, Sender};
use crate::talk::{self, Over, next_of};

/// So many tasks of requests are kept before those that are over are let go.
const REQUESTS_SWEPT: usize = 32;

/// What the point wants of a connection.
pub(super) enum Order {
    Send { stream: Stream, frame: Frame },
    Drop { request: RequestId },
    Close { word: &'static str },
}

pub(super) async fn converse(
    link: Link,
    connection: ConnectionId,
    messages: Messages<Message>,
    orders: Orders<Order>,
) {
    if let Ok((sender, receiver)) = link.accept(&[Lane::ExecutorControl]).await {
        let mut conversation = Conversation {
            link: link.clone(),
            connection,
            messages: messages.clone(),
            control: sender,
            reports: None,
            requests: HashMap::new(),
        };
        let over = conversation.go_on(receiver, orders).await;
        conversation.end(over).await;
    }
    // The access point may have stopped.
    let _ = messages.send(Message::Input(Input::Closed { connection })).await;
}

struct Conversation {
    link: Link,
    connection: ConnectionId,
    messages: Messages<Message>,
    control: Sender,
    reports: Option<Sender>,
    requests: HashMap<RequestId, AbortHandle>,
}

impl Conversation {
    async fn go_on(&mut self, mut control: Receiver, mut orders: Orders<Order>) -> Over {
        let mut reports = None;
        loop {
            let next = tokio::select! {
                frame = control.next() => self.came(Stream::Control, frame).await,
                frame = next_of(&mut reports) => self.came(Stream::Reports, frame).await,
                stream = self.link.accept(&[Lane::Report]) => match (stream, &reports) {
                    (Ok((sender, receiver)), None) => {
                        (self.reports, reports) = (Some(sender), Some(receiver));
                        Ok(())
                    }
                    (Ok(_), Some(_)) => Err(Over::Here { word: "too-many-streams" }),
                    (Err(_), _) => Err(Over::There),
                },
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => Err(Over::Here { word: "shutdown" }),
                },
            };
            if let Err(over) = next {
                return over;
            }
        }
    }

    async fn came(
        &self,
        stream: Stream,
        frame: Result<Option<Frame>, ReceiveError>,
    ) -> Result<(), Over> {
        let Some(frame) = frame? else { return Err(Over::There) };
        let connection = self.connection;
        if let (Frame::Heartbeat(_), Some(rtt)) = (&frame, self.link.rtt()) {
            let rtt_ms = u32::try_from(rtt.as_millis()).unwrap_or(u32::MAX);
            self.tell(Input::Measured { connection, rtt_ms }).await?;
        }
        self.tell(Input::Frame { connection, stream, frame }).await
    }

    async fn tell(&self, input: Input) -> Result<(), Over> {
        let told = self.messages.send(Message::Input(input)).await;
        told.map_err(|_| Over::Here { word: "shutdown" })
    }

    async fn obey(&mut self, order: Order) -> Result<(), Over> {
        match order {
            Order::Send { stream: Stream::Control, frame } => self.control.send(&frame).await?,
            Order::Send { stream: Stream::Reports, frame } => {
                if let Some(reports) = &mut self.reports {
                    reports.send(&frame).await?;
                }
            }
            Order::Send { stream: Stream::Request(request), frame } => self.request(request, frame),
            Order::Drop { request } => {
                if let Some(task) = self.requests.remove(&request) {
                    task.abort();
                }
            }
            Order::Close { word } => return Err(Over::Here { word }),
        }
        Ok(())
    }

    fn request(&mut self, request: RequestId, frame: Frame) {
        if self.requests.len() >= REQUESTS_SWEPT {
            self.requests.retain(|_, task| !task.is_finished());
        }
        let asking = Asking {
            link: self.link.clone(),
            connection: self.connection,
            messages: self.messages.clone(),
            request: request.clone(),
        };
        let task = tokio::spawn(asking.ask(frame));
        self.requests.insert(request, task.abort_handle());
    }

    /// The peer hears why, if it still listens, before the connection is closed.
    async fn end(self, over: Over) {
        for task in self.requests.into_values() {
            task.abort();
        }
        talk::end(&self.link, self.control, over).await;
    }
}

/// One request, from its first frame to its reply. Given up, its stream is reset, and the executor
/// takes that as the end of the request.
struct Asking {
    link: Link,
    connection: ConnectionId,
    messages: Messages<Message>,
    request: RequestId,
}

impl Asking {
    async fn ask(self, frame: Frame) {
        if self.exchange(frame).await.is_none() {
            let (connection, request) = (self.connection, self.request.clone());
            let input = Input::RequestDropped { connection, request };
            // The access point may have stopped.
            let _ = self.messages.send(Message::Input(input)).await;
        }
    }

    /// Until the reply; nothing if none comes.
    async fn exchange(&self, frame: Frame) -> Option<()> {
        let (mut sender, mut receiver) = self.link.open(&[Lane::Answer]).await.ok()?;
        sender.send(&frame).await.ok()?;
        loop {
            let frame = match receiver.next().await {
                Ok(frame) => frame?,
                Err(error) => {
                    self.link.close_for(&error);
                    return None;
                }
            };
            let is_last = matches!(frame, Frame::Reply(_));
            let (connection, stream) = (self.connection, Stream::Request(self.request.clone()));
            let input = Input::Frame { connection, stream, frame };
            self.messages.send(Message::Input(input)).await.ok()?;
            if is_last {
                return Some(());
            }
        }
    }
}
