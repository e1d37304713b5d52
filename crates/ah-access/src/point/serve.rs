//! An access point on real sockets and a real store.
//!
//! One task owns the [`Point`]; each connection has a task of its own, and nothing a peer does or
//! does not do makes the first wait: what cannot be sent at once ends that connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ah_model::{Change, ChangeKind, ExecutorPresence, FeedEntry, Happening};
use ah_store::{Clock, Store, StoreError};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::converse::{Order, converse};
use super::fleet::drive;
use super::input::{Answer, Ask, Asked, ConnectionId, Input, Output};
use super::view::identity_of;
use super::work::{Work, perform};
use super::{Counts, Point, PointOptions};
use crate::link::{Link, Listener};
use crate::moment::{Began, Moment};

/// What comes before whoever sends it has to wait.
const INPUTS_MAX: usize = 4_096;
/// Frames on their way to one executor; one that does not take them is closed.
const ORDERS_MAX: usize = 256;
/// Questions to the store at a time.
const WORK_MAX: usize = 512;
const TICK: Duration = Duration::from_millis(500);
/// When a feed that failed is followed again.
const FEED_AGAIN: Duration = Duration::from_secs(1);

/// Something for the task that owns the point.
pub(super) enum Message {
    Input(Input),
    Linked(Link),
    Ask { ask: AskOf, answers: Sender<Answer> },
    View(oneshot::Sender<(Counts, Vec<ExecutorPresence>)>),
}

/// An [`Ask`] before it has a token.
pub(super) struct AskOf {
    run_id: ah_model::RunId,
    actor: Option<String>,
    deadline_ms: u64,
    what: Asked,
}

/// Speaks with an access point that serves.
#[derive(Debug, Clone)]
pub struct PointHandle(Sender<Message>);

impl PointHandle {
    /// Who is connected, and what was counted. Nothing when the access point has stopped.
    pub async fn view(&self) -> Option<(Counts, Vec<ExecutorPresence>)> {
        let (answer, answered) = oneshot::channel();
        self.0.send(Message::View(answer)).await.ok()?;
        answered.await.ok()
    }

    /// Wants something of the holder of a run; answers come until the last of them. Who drops them
    /// wants it no more.
    pub async fn ask(
        &self,
        run_id: ah_model::RunId,
        actor: Option<String>,
        deadline: Duration,
        what: Asked,
    ) -> Receiver<Answer> {
        let (answers, answered) = channel(64);
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let ask = AskOf { run_id, actor, deadline_ms, what };
        // An access point that has stopped answers nothing: the channel ends.
        let _ = self.0.send(Message::Ask { ask, answers }).await;
        answered
    }
}

/// An access point that is about to serve.
pub struct AccessPoint {
    listener: Arc<Listener>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    options: PointOptions,
    messages: (Sender<Message>, Receiver<Message>),
}

impl AccessPoint {
    /// One that takes executors from `listener`.
    pub fn new(
        listener: Arc<Listener>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: PointOptions,
    ) -> Self {
        Self { listener, store, clock, options, messages: channel(INPUTS_MAX) }
    }

    /// Speaks with it while it serves.
    pub fn handle(&self) -> PointHandle {
        PointHandle(self.messages.0.clone())
    }

    /// Serves until `stop`; then everybody is told to come again.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let (sender, mut messages) = self.messages;
        // They end with this, however it ends.
        let mut hands = JoinSet::new();
        hands.spawn(accept(Arc::clone(&self.listener), sender.clone()));
        let stirs = Arc::new(Notify::new());
        hands.spawn(follow(Arc::clone(&self.store), sender.clone(), Arc::clone(&stirs)));
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        hands.spawn(drive(store, clock, PointHandle(sender.clone()), stirs));
        let mut serving = Serving {
            point: Point::new(self.options),
            began: Began::now(),
            clock: self.clock,
            store: self.store,
            works: Arc::new(Semaphore::new(WORK_MAX)),
            sender,
            orders: HashMap::new(),
            asks: HashMap::new(),
            talks: JoinSet::new(),
            connections: 0,
            asked: 0,
        };
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = ticks.tick() => serving.tick(),
                Some(message) = messages.recv() => serving.handle(message),
            }
        }
        hands.abort_all();
        serving.tell(Input::Leave);
        serving.farewell().await;
        self.listener.close("shutdown", "the access point stops").await;
    }
}

async fn accept(listener: Arc<Listener>, messages: Sender<Message>) {
    while let Some(link) = listener.accept().await {
        if messages.send(Message::Linked(link)).await.is_err() {
            return;
        }
    }
}

/// Wakes the point when the store says that there is something to do.
async fn follow(store: Arc<dyn Store>, messages: Sender<Message>, stirs: Arc<Notify>) {
    loop {
        // What failed is tried again; the point looks now and then without it.
        let _ = follow_once(&*store, &messages, &stirs).await;
        stirs.notify_one();
        if messages.send(Message::Input(Input::Stirred)).await.is_err() {
            return;
        }
        sleep(FEED_AGAIN).await;
    }
}

async fn follow_once(
    store: &dyn Store,
    messages: &Sender<Message>,
    stirs: &Notify,
) -> Result<(), StoreError> {
    let mut feed = store.watch_feed(store.feed_end().await?).await?;
    loop {
        for entry in feed.next().await? {
            if stirs_fleets(&entry) {
                stirs.notify_one();
            }
            let Some(input) = stirred_by(&entry) else { continue };
            if messages.send(Message::Input(input)).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Whether a fence may have something to do: a member's run that is queued again was lost.
fn stirs_fleets(entry: &FeedEntry) -> bool {
    let Happening::Change(Change { kind, .. }) = &entry.happening else { return false };
    matches!(kind, ChangeKind::FleetUpdated | ChangeKind::FenceUpdated | ChangeKind::RunQueued)
}

fn stirred_by(entry: &FeedEntry) -> Option<Input> {
    let Happening::Change(Change { kind, executor_id, .. }) = &entry.happening else { return None };
    match (kind, executor_id) {
        (ChangeKind::RunQueued | ChangeKind::RunStopping, _) => Some(Input::Stirred),
        (ChangeKind::ExecutorUpdated, Some(executor)) => {
            Some(Input::Changed { executor: executor.clone() })
        }
        _ => None,
    }
}

/// The task that owns the point.
struct Serving {
    point: Point,
    began: Began,
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    works: Arc<Semaphore>,
    sender: Sender<Message>,
    orders: HashMap<ConnectionId, (Link, Sender<Order>)>,
    asks: HashMap<u64, Sender<Answer>>,
    /// A task for each connection.
    talks: JoinSet<()>,
    connections: u64,
    asked: u64,
}

impl Serving {
    fn handle(&mut self, message: Message) {
        match message {
            Message::Input(input) => {
                if let Input::Closed { connection } = &input {
                    self.orders.remove(connection);
                }
                self.tell(input);
            }
            Message::Linked(link) => self.linked(link),
            Message::Ask { ask, answers } => {
                self.asked += 1;
                let token = self.asked;
                self.asks.insert(token, answers);
                let AskOf { run_id, actor, deadline_ms, what } = ask;
                self.tell(Input::Ask(Ask { token, run_id, actor, deadline_ms, what }));
            }
            Message::View(answer) => {
                let now = self.now();
                let views = self.point.present().map(|one| self.point.view(one, now)).collect();
                // Whoever asked may have gone.
                let _ = answer.send((self.point.counts(), views));
            }
        }
    }

    fn tick(&mut self) {
        // Whoever has dropped its end of an ask wants it no more.
        let dropped = self.asks.extract_if(|_, asker| asker.is_closed()).map(|(token, _)| token);
        for token in dropped.collect::<Vec<_>>() {
            self.tell(Input::TakeBack { token });
        }
        self.tell(Input::Tick);
    }

    fn linked(&mut self, link: Link) {
        let peer = match link.peer().executor_id() {
            Ok(peer) => peer,
            Err(invalid) => return link.close("identity", &invalid.to_string()),
        };
        self.connections += 1;
        let connection = ConnectionId(self.connections);
        let (orders, ordered) = channel(ORDERS_MAX);
        self.orders.insert(connection, (link.clone(), orders));
        let identity = identity_of(&link);
        self.tell(Input::Connected { connection, peer, identity });
        // Those that are over are let go here, so that there are never many.
        while self.talks.try_join_next().is_some() {}
        self.talks.spawn(converse(link, connection, self.sender.clone(), ordered));
    }

    /// Waits until everybody was told, or does not listen.
    async fn farewell(&mut self) {
        self.orders.clear();
        while self.talks.join_next().await.is_some() {}
    }

    fn now(&self) -> Moment {
        Moment { ms: self.began.elapsed_ms(), wall: self.clock.now() }
    }

    fn tell(&mut self, input: Input) {
        for output in self.point.on(self.now(), input) {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Send { connection, stream, frame } => {
                self.order(connection, Order::Send { stream, frame });
            }
            Output::DropRequest { connection, request } => {
                self.order(connection, Order::Drop { request });
            }
            Output::Close { connection, word } => {
                self.order(connection, Order::Close { word });
                self.orders.remove(&connection);
            }
            Output::Work(work) => self.work(work),
            Output::Answer { token, answer } => self.answer(token, answer),
        }
    }

    fn order(&mut self, connection: ConnectionId, order: Order) {
        let Some((link, orders)) = self.orders.get(&connection) else { return };
        if orders.try_send(order).is_err() {
            link.close("slow", "it does not take what is sent to it");
        }
    }

    fn work(&self, work: Work) {
        let (store, works) = (Arc::clone(&self.store), Arc::clone(&self.works));
        let sender = self.sender.clone();
        tokio::spawn(async move {
            let Ok(_place) = works.acquire_owned().await else { return };
            let done = perform(&*store, work).await;
            // Nobody is left to be told when the access point has stopped.
            let _ = sender.send(Message::Input(Input::Done(Box::new(done)))).await;
        });
    }

    fn answer(&mut self, token: u64, answer: Answer) {
        let is_last = !matches!(answer, Answer::Progress(_));
        if let Some(asker) = self.asks.get(&token) {
            // Whoever asked may have gone, or not care for progress.
            let _ = asker.try_send(answer);
        }
        if is_last {
            self.asks.remove(&token);
        }
    }
}
