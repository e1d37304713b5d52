//! What an executor's core is told, and what it wants done.

use ah_model::{
    Ended, ExecutorId, Lease, Machine, MemberName, Offer, OutboxId, RawJson, ReportItem,
    ReportRefusal, RequestId, RunId, SessionId,
};

use crate::executor::ProgramId;
use crate::executor::outbox::Draft;
use crate::frame::{Dispatch, Fence, Frame, Launch, Load, ReplyCode};
pub use crate::point::Stream;

/// How an executor behaves, and who it is.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Who it is.
    pub executor_id: ExecutorId,
    /// Its program and version.
    pub software: String,
    /// Where its identity comes from.
    pub identity_provider: String,
    /// What runs may demand of it.
    pub offer: Offer,
    /// Its machine.
    pub machine: Option<Machine>,
    /// What else it says of itself.
    pub details: RawJson,
    /// How many runs it works on at a time; those that only hold it for a fleet are not counted.
    pub capacity: u32,
    /// The first pause before it dials again; doubled with every failure.
    pub retry_ms: u64,
    /// The longest.
    pub retry_max_ms: u64,
    /// How long an access point may take to answer Hello.
    pub greeting_ms: u64,
    /// How long programs that were found again go on before an access point has said that their
    /// runs are still its own.
    pub unsure_ms: u64,
    /// Sets it apart from others that dial at the same time.
    pub seed: u64,
}

/// What a machine has kept of an executor that ran before.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Its outbox.
    pub outbox: OutboxId,
    /// The report before the first of the outbox: numbers for the access point count from it.
    pub base: u64,
    /// What it has forgotten because an access point has it.
    pub through: u64,
    /// The newest report in it.
    pub last_seq: u64,
    /// Its runs.
    pub runs: Vec<RestoredRun>,
}

/// A run that a machine has kept.
#[derive(Debug, Clone)]
pub struct RestoredRun {
    /// The run.
    pub run_id: RunId,
    /// Of its claim.
    pub epoch: u64,
    /// The session.
    pub session_id: SessionId,
    /// The member of a fleet that it is for.
    pub member: Option<MemberName>,
    /// Whether it only holds this executor for that member.
    pub is_hold: bool,
    /// Whether its program has begun. That is said again: whoever was killed may not have kept it.
    pub has_begun: bool,
    /// How it is.
    pub process: Process,
    /// Where the report of its end is in the outbox, if it is there.
    pub end_seq: Option<u64>,
    /// What was started beside it; those that ended in the order in which they did.
    pub beside: Vec<RestoredBeside>,
}

/// A program beside a run that a machine has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredBeside {
    /// The request that started it.
    pub dispatch: RequestId,
    /// Whether it has begun; said again, as of a run.
    pub has_begun: bool,
    /// It has ended, and all that is to be said of it is in the outbox.
    pub is_told: bool,
}

/// How a program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Process {
    /// It runs.
    Started,
    /// It could not be started.
    Failed {
        /// Why.
        reason: String,
    },
    /// It ended.
    Exited {
        /// How.
        ended: Box<Ended>,
    },
    /// Its keeper ended it, because the lease was over.
    Lapsed {
        /// How it ended.
        ended: Box<Ended>,
    },
}

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// A connection is made and has its control stream.
    Dialled {
        /// By this dial.
        dial: u64,
    },
    /// A dial came to nothing, or its connection is gone.
    Closed {
        /// Which.
        dial: u64,
        /// When the other side wants to be asked again.
        retry_after_ms: Option<u64>,
    },
    /// A frame came.
    Frame {
        /// On the connection of this dial.
        dial: u64,
        /// On this stream.
        stream: Stream,
        /// The frame.
        frame: Frame,
    },
    /// The access point dropped the stream of a request.
    RequestDropped {
        /// On the connection of this dial.
        dial: u64,
        /// The request.
        request: RequestId,
    },
    /// The outbox has kept something.
    Kept {
        /// The newest report in it.
        last_seq: u64,
        /// The ends of runs among it, and their numbers.
        ends: Vec<(RunId, u64, u64)>,
    },
    /// Another outbox was begun with what is not reported.
    OutboxBegun {
        /// Which.
        outbox: OutboxId,
        /// The report before its first.
        base: u64,
    },
    /// What was read from the outbox.
    Read {
        /// The oldest that were asked for; none if there are none.
        items: Vec<ReportItem>,
    },
    /// Something about a program.
    Process {
        /// Which.
        program: ProgramId,
        /// What.
        process: Process,
    },
    /// A fence was reached, or was not.
    Fenced {
        /// The request that asked for it.
        request: RequestId,
        /// What came of it.
        verdict: Box<Verdict>,
    },
    /// How busy the machine is.
    Measured {
        /// Told with the next heartbeat.
        load: Load,
    },
    /// The identity is a new one: the connection is made again with it.
    Rotated,
    /// Something that only an operator wants to know.
    Heard {
        /// What.
        said: Said,
    },
    /// The executor is about to stop; its programs go on.
    Leave,
    /// Time has passed.
    Tick,
}

/// What comes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How it ended.
    pub code: ReplyCode,
    /// Why it did not end well.
    pub detail: Option<String>,
    /// What it gave.
    pub data: RawJson,
}

impl Verdict {
    /// It did not end well, for that reason.
    pub(crate) fn not(code: ReplyCode, detail: impl Into<String>) -> Self {
        Self { code, detail: Some(detail.into()), data: RawJson::null() }
    }
}

/// What a program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// End well, within so many milliseconds.
    Stop {
        /// How long it may take.
        grace_ms: u64,
    },
    /// End at once.
    Kill,
    /// Hold still.
    Pause,
    /// Go on.
    Resume,
}

/// Something to be done.
#[derive(Debug)]
pub enum Output {
    /// Connect, and open the control stream.
    Dial {
        /// The number of the dial.
        dial: u64,
    },
    /// Send a frame.
    Send {
        /// On the connection of this dial.
        dial: u64,
        /// On this stream; the stream of reports is opened by its first frame.
        stream: Stream,
        /// The frame.
        frame: Frame,
    },
    /// Close a connection once what was sent is on its way.
    Close {
        /// Which.
        dial: u64,
        /// Why, as one word.
        word: &'static str,
    },
    /// Start the program of a run.
    Spawn {
        /// The run.
        launch: Box<Launch>,
        /// Until when it is surely its own: without a word its keeper ends the program then.
        until_ms: u64,
    },
    /// Tell the keepers of these runs, and of what is beside them, that they are surely its own
    /// until then.
    Prolong {
        /// The runs.
        leases: Vec<Lease>,
        /// Until when; what a keeper was told before counts if it is later.
        until_ms: u64,
    },
    /// Start a program beside a run: [`Input::Process`] says what came of it.
    Dispatch {
        /// What, and beside which.
        dispatch: Box<Dispatch>,
        /// Until when the run is surely its own, as of [`Self::Spawn`].
        until_ms: u64,
    },
    /// Tell a program.
    Signal {
        /// Which.
        program: ProgramId,
        /// What.
        signal: Signal,
    },
    /// Move what a program writes into the outbox from here on, and say how it ended: that it began
    /// is there before.
    Watch {
        /// Which.
        program: ProgramId,
    },
    /// All that is to be said of a program beside a run is in the outbox: only that it was there has
    /// to be remembered.
    Told {
        /// Which.
        program: ProgramId,
    },
    /// Reach a fence: [`Input::Fenced`] says what came of it.
    Fence(Box<Fence>),
    /// A fence is not to be reached any more.
    Unfence {
        /// The request that asked for it.
        request: RequestId,
    },
    /// Write into the outbox.
    Keep(Draft),
    /// Read from the outbox, oldest first.
    Read {
        /// What follows this number.
        after: u64,
    },
    /// Begin another outbox with what is not reported.
    BeginOutbox {
        /// Which.
        outbox: OutboxId,
    },
    /// The outbox may forget.
    Forget {
        /// Everything up to this number.
        through: u64,
        /// Of it, what was refused: to be kept aside first.
        refused: Vec<ReportRefusal>,
    },
    /// Nothing more is to be known of a program; with that of a run, of all that was beside it.
    Drop {
        /// Which.
        program: ProgramId,
    },
    /// Tell the operator.
    Say(Said),
}

/// What an operator wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The access point has taken it.
    Connected {
        /// Its name.
        server: String,
        /// How far its clock is ahead of ours, in milliseconds.
        ahead_ms: i64,
    },
    /// The access point did not take it.
    Refused {
        /// The reason, as a word.
        word: &'static str,
        /// In words.
        detail: String,
    },
    /// The access point ended it.
    Goodbye {
        /// The reason, as a word.
        word: &'static str,
        /// In words.
        detail: String,
    },
    /// No access point could be reached.
    Unreachable {
        /// What was tried, and how it went.
        detail: String,
    },
    /// Something could not be done with a run.
    Trouble {
        /// The run.
        run_id: RunId,
        /// Why not.
        detail: String,
    },
    /// The outbox could not forget what is reported: it is reported again.
    OutboxTrouble {
        /// Why not.
        detail: String,
    },
    /// The access point has more of the outbox than it ever held here: an older state of it was
    /// restored. Another is begun with what is not reported.
    OutboxRolledBack {
        /// What the access point has.
        kept: u64,
        /// The newest report here.
        last: u64,
    },
    /// A run is no longer its own.
    Lost {
        /// The run.
        run_id: RunId,
    },
    /// The lease of a run could not be prolonged in time, so its program was ended.
    Fenced {
        /// The run.
        run_id: RunId,
    },
}
