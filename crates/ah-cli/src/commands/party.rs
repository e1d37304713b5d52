//! Who acts: the flag, else the agent whose program this is, else the operator.
//!
//! A program that runs for an agent (`AH_AGENT`) acts as that agent and nobody else. That is a rail,
//! not a wall: who may read the database may do anything to it. Over a server, tokens are the wall.

use ah_model::Party;

use crate::app::App;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};

/// Names the agent on whose behalf a program runs; set for the turns of resident agents.
pub(crate) const AH_AGENT: &str = "AH_AGENT";

/// The party that `given` names, else the one of the environment, else that of the token, else the
/// operator.
pub(crate) fn acting(app: &App, given: Option<&str>) -> Result<Party, CommandError> {
    match (given, own(app)?) {
        (Some(name), Some(own)) if !own.is(name) => {
            // A name that is none is the first thing to correct.
            name.parse::<Party>()?;
            Err(only_itself(&own, &format!("act as {name}")))
        }
        (_, Some(own)) => Ok(own),
        (Some(name), None) => Ok(name.parse()?),
        (None, None) => of_token(app),
    }
}

/// Over a server the one whose token it is; on this machine's own database the operator.
fn of_token(app: &App) -> Result<Party, CommandError> {
    match app.remote()? {
        Some(server) => Ok(server.whoami()?.party),
        None => Ok(Party::Operator),
    }
}

/// The party that `name` names, whose mail an agent's program may take only if it is its own.
pub(crate) fn receiving(app: &App, name: &str) -> Result<Party, CommandError> {
    let party: Party = name.parse()?;
    match own(app)? {
        Some(own) if !own.is(name) => Err(only_itself(&own, &format!("read the mail of {party}"))),
        _ => Ok(party),
    }
}

/// Refuses the program of an agent what only the operator does.
pub(crate) fn require_operator(app: &App, what: &str) -> Result<(), CommandError> {
    match own(app)? {
        Some(own) => Err(only_itself(&own, what)),
        None => Ok(()),
    }
}

fn own(app: &App) -> Result<Option<Party>, CommandError> {
    Ok(app.environment.var(AH_AGENT).map(str::parse).transpose()?)
}

fn only_itself(own: &Party, what: &str) -> CommandError {
    CommandError::new(Exit::NotAllowed, format!("{own} may not {what}: {AH_AGENT} is {own}"))
        .hint(format!("this program runs for {own}; without {AH_AGENT} it runs for the operator"))
}

/// Which person on which machine this is, for those who look later.
pub(crate) fn label(app: &App) -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| app.environment.var(name));
    let host = hostname().unwrap_or_else(|| "localhost".to_owned());
    format!("{}@{host}", user.unwrap_or("somebody"))
}
