//! What is an agent's own: whom it may be, and what it may see. Everybody else may be anybody.

use ah_model::{Party, TokenRole};

use super::{Caller, forbidden};
use crate::problem::Failure;

impl Caller {
    /// The agent that it is, by the name of its token; nothing for everybody else.
    pub(crate) fn party(&self) -> Option<Party> {
        match self {
            Self::Token(token) if token.role == TokenRole::Agent => {
                token.agent.clone().map(Party::Agent)
            }
            Self::Token(_) | Self::Open => None,
        }
    }

    /// The role of the token, where one is asked for.
    pub(crate) fn role(&self) -> Option<TokenRole> {
        match self {
            Self::Token(token) => Some(token.role),
            Self::Open => None,
        }
    }

    /// Who speaks when nobody says: the agent that it is, else the operator.
    pub(crate) fn speaker(&self) -> Party {
        self.party().unwrap_or(Party::Operator)
    }

    /// Refuses an agent that is not `party`; `doing` says what it may not, as in "write as".
    pub(crate) fn must_be(&self, party: &Party, doing: &str) -> Result<(), Failure> {
        self.must_be_one_of([party], doing)
    }

    /// As [`Self::must_be`], for the agent of that name.
    pub(crate) fn must_be_agent(&self, name: &str, doing: &str) -> Result<(), Failure> {
        self.must_be(&Party::Agent(name.to_owned()), doing)
    }

    /// As [`Self::must_be`], for what concerns several.
    pub(crate) fn must_be_one_of<const N: usize>(
        &self,
        parties: [&Party; N],
        doing: &str,
    ) -> Result<(), Failure> {
        let Some(own) = self.party() else { return Ok(()) };
        if parties.iter().any(|party| party.is(own.as_str())) {
            return Ok(());
        }
        let others = parties.map(Party::as_str).join(" and ");
        Err(forbidden(format!("the token is for the agent {own}, it may not {doing} {others}")))
    }

    /// The party whose things are listed, if `asked` are: of an agent only its own are.
    pub(crate) fn narrowed(&self, asked: Option<Party>) -> Result<Option<Party>, Failure> {
        let Some(own) = self.party() else { return Ok(asked) };
        asked.iter().try_for_each(|party| self.must_be(party, "list what belongs to"))?;
        Ok(Some(own))
    }

    /// Notes who speaks for `by`, unless somebody is named: the caller's token. Only agents speak for
    /// an agent.
    pub(crate) fn sign(&self, by: &Party, resolver: &mut Option<String>) -> Result<(), Failure> {
        let Self::Token(token) = self else { return Ok(()) };
        if token.role == TokenRole::Agent {
            return self.must_be(by, "speak as");
        }
        if *by != Party::Operator {
            let role = token.role;
            return Err(forbidden(format!(
                "a token of the role {role} speaks for the operator, not for the agent {by}"
            )));
        }
        let label = || token.name.clone().unwrap_or_else(|| token.id.to_string());
        resolver.get_or_insert_with(label);
        Ok(())
    }
}
