use std::path::PathBuf;

use ah_model::{
    AgentKindRef, Invalid, Labels, NewSession, Origin, RuntimeSpec, RuntimeType, SessionDetails,
};
use ah_store::block_on;

use crate::app::App;
use crate::environment;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent kind; repo.default-agent of the configuration when absent
    #[arg(long, value_name = "KIND[@VERSION]")]
    agent: Option<String>,
    /// Its id, instead of a fresh one
    #[arg(long)]
    id: Option<String>,
    /// The session that starts it
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// The tool it comes from; needs --external-id
    #[arg(long, requires = "external_id")]
    source: Option<String>,
    /// Its id in that tool
    #[arg(long, value_name = "ID", requires = "source")]
    external_id: Option<String>,
    #[command(flatten)]
    session: SessionArgs,
}

/// What is said of a session that begins, whoever begins it.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// What to call the session in lists
    #[arg(long)]
    title: Option<String>,
    /// A label to find the session by; may be given several times
    #[arg(long = "label", value_name = "K=V")]
    labels: Vec<String>,
    /// The directory the agent works in; the current one when absent
    #[arg(long, value_name = "DIR")]
    project_dir: Option<PathBuf>,
    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// Where the agent executes.
#[derive(Debug, clap::Args)]
pub(crate) struct RuntimeArgs {
    /// Where the agent executes: local, devcontainer or disabled
    #[arg(long, value_name = "TYPE", default_value = "local")]
    runtime: String,
    /// The container's definition, for --runtime devcontainer
    #[arg(long, value_name = "FILE")]
    devcontainer_path: Option<String>,
}

impl Default for RuntimeArgs {
    fn default() -> Self {
        Self { runtime: RuntimeType::Local.to_string(), devcontainer_path: None }
    }
}

impl RuntimeArgs {
    pub(crate) fn spec(&self) -> Result<RuntimeSpec, Invalid> {
        let kind: RuntimeType = self.runtime.parse()?;
        let spec = RuntimeSpec { kind, devcontainer_path: self.devcontainer_path.clone() };
        spec.check().map(|()| spec)
    }
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let origin = args.source.clone().zip(args.external_id.clone());
    let mut wanted = NewSession {
        id: args.id.as_deref().map(str::parse).transpose()?,
        origin: origin.map(|(source, external_id)| Origin { source, external_id }),
        ..args.session.wanted(app, args.agent.as_deref())?
    };
    let store = app.store()?;
    wanted.repo = app.settled(&*store, wanted.repo)?;
    wanted.parent = args.parent.as_deref().map(|id| app.session_id(&*store, id)).transpose()?;
    let session = block_on(store.create_session(wanted))?;
    app.output.result(&session, |session| session.id.to_string())
}

impl SessionArgs {
    /// A session to create here, of `kind` or the kind that the configuration names.
    pub(crate) fn wanted(&self, app: &App, kind: Option<&str>) -> Result<NewSession, CommandError> {
        let kind: AgentKindRef = match kind {
            Some(kind) => kind.parse()?,
            None => app.config()?.default_agent().parse()?,
        };
        let project_dir = match &self.project_dir {
            Some(directory) => app.environment.absolute(directory)?,
            None => app.current_dir()?.to_owned(),
        };
        Ok(NewSession {
            runtime: self.runtime.spec()?,
            workspace: app.global.workspace.clone(),
            title: self.title.clone(),
            labels: Labels::from_pairs(&self.labels)?,
            details: SessionDetails {
                project_dir: Some(project_dir.to_string_lossy().into_owned()),
                hostname: environment::hostname(),
                ..SessionDetails::default()
            },
            ..NewSession::new(app.repo_or_directory()?, kind)
        })
    }
}
