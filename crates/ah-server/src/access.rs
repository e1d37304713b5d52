//! Who may use a route.

use ah_model::TokenRole;

/// What a route asks of its caller. Every route says it; there is no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    roles: &'static [TokenRole],
    scope: Scope,
    open: bool,
}

/// What of a route an agent's token reaches. Agents are in no list of roles: they may only do what
/// is about themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing.
    Nothing,
    /// All of it: it tells nothing of others, or shows an agent only what is its own.
    Anything,
    /// The agent whose id is in the path, if it is itself.
    Agent,
    /// The agent whose name is in the query, if it is itself.
    AgentName,
    /// The session whose id is in the path, if it is one of its own.
    Session,
    /// What it does as itself, and what concerns it: the handler looks at both.
    Party,
}

impl Access {
    /// Everybody, also without a token.
    pub const OPEN: Self = Self { roles: &[], scope: Scope::Anything, open: true };
    /// Whoever may look.
    pub const LOOK: Self =
        Self::of(&[TokenRole::Admin, TokenRole::Operator, TokenRole::Viewer, TokenRole::Executor]);
    /// Whoever may change things.
    pub const OPERATE: Self = Self::of(&[TokenRole::Admin, TokenRole::Operator]);
    /// Whoever may change things, and who takes runs and reports of them.
    pub const EXECUTE: Self =
        Self::of(&[TokenRole::Admin, TokenRole::Operator, TokenRole::Executor]);
    /// Whoever may look into mail, approvals and questions. Executors have no part in them.
    pub const OVERSEE: Self = Self::of(&[TokenRole::Admin, TokenRole::Operator, TokenRole::Viewer]);
    /// Whoever may make and end tokens.
    pub const ADMIN: Self = Self::of(&[TokenRole::Admin]);

    const fn of(roles: &'static [TokenRole]) -> Self {
        Self { roles, scope: Scope::Nothing, open: false }
    }

    /// And the agent whose session is in the path.
    pub const fn of_session(self) -> Self {
        Self { scope: Scope::Session, ..self }
    }

    /// And the agent that is in the path.
    pub const fn of_agent(self) -> Self {
        Self { scope: Scope::Agent, ..self }
    }

    /// And the agent whose name is in the query.
    pub const fn of_agent_name(self) -> Self {
        Self { scope: Scope::AgentName, ..self }
    }

    /// And an agent, as itself.
    pub const fn of_party(self) -> Self {
        Self { scope: Scope::Party, ..self }
    }

    /// And every agent.
    pub const fn or_any_agent(self) -> Self {
        Self { scope: Scope::Anything, ..self }
    }

    /// Whether nobody is asked for a token.
    pub fn is_open(self) -> bool {
        self.open
    }

    /// The roles that may, agents aside.
    pub fn roles(self) -> &'static [TokenRole] {
        self.roles
    }

    /// What agents may.
    pub fn scope(self) -> Scope {
        self.scope
    }

    /// Whether `role` may, whatever the request is about.
    pub fn allows(self, role: TokenRole) -> bool {
        self.open || self.roles.contains(&role)
    }

    /// The roles in words: `admin or operator`.
    pub(crate) fn words(self) -> String {
        let mut words: Vec<_> = self.roles.iter().map(|role| role.as_str()).collect();
        match words.pop() {
            Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
            last => last.unwrap_or("none").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_names_its_roles() {
        for (access, words) in [
            (Access::LOOK, "admin, operator, viewer or executor"),
            (Access::OPERATE.of_session(), "admin or operator"),
            (Access::EXECUTE, "admin, operator or executor"),
            (Access::OVERSEE.of_party(), "admin, operator or viewer"),
            (Access::ADMIN, "admin"),
        ] {
            assert_eq!(access.words(), words);
        }
    }

    #[test]
    fn no_list_of_roles_lets_an_agent_in() {
        for access in
            [Access::LOOK, Access::OPERATE, Access::EXECUTE, Access::OVERSEE, Access::ADMIN]
        {
            assert!(!access.allows(TokenRole::Agent));
            assert!(access.allows(TokenRole::Admin));
        }
    }
}
