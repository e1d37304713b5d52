use crate::app::App;
use crate::error::CommandError;
use crate::output::fields;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    app.output.result(&app.repo()?, |repo| {
        fields(&[
            ("vcs", repo.vcs.to_string()),
            ("root", repo.root_path.clone().unwrap_or_default()),
            ("remote", repo.remote_url.clone().unwrap_or_default()),
            ("default branch", repo.default_branch.clone().unwrap_or_default()),
        ])
    })
}
