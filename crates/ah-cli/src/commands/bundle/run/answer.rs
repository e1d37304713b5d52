//! What a pre-stage said, checked before anything is saved.

use ah_bundle::{Bundle, scope_key};

use super::super::place::Identity;
use super::TOOL_VERSION;
use crate::error::{CommandError, Exit};

/// The bundle that the answer makes of what was there. Parts the answer does not name stay as they
/// were; what a bundle is for may be repeated, not changed.
pub(super) fn bundle(
    identity: &Identity,
    current: Option<Bundle>,
    answer: &[u8],
) -> Result<Bundle, CommandError> {
    let said = Bundle::draft(answer).map_err(|problem| refused(&problem.to_string()))?;
    repeats(identity, &said)?;
    let parts = [&said.prompts, &said.prep_settings, &said.context, &said.tool_caps, &said.custom];
    if parts.iter().all(|part| part.is_none()) {
        return Err(refused(
            "it has none of prompts, prep_settings, context, tool_caps and custom",
        ));
    }
    let mut bundle = current.unwrap_or_default();
    bundle.tool_version = match said.tool_version.is_empty() {
        true => TOOL_VERSION.to_owned(),
        false => said.tool_version,
    };
    bundle.model_id.clone_from(&identity.model_id);
    bundle.base_url.clone_from(&identity.base_url);
    bundle.toolset_hash.clone_from(&identity.toolset_hash);
    bundle.scope_key.clone_from(&identity.scope);
    bundle.prompts = said.prompts.or(bundle.prompts);
    bundle.prep_settings = said.prep_settings.or(bundle.prep_settings);
    bundle.context = said.context.or(bundle.context);
    bundle.tool_caps = said.tool_caps.or(bundle.tool_caps);
    bundle.custom = said.custom.or(bundle.custom);
    for (key, value) in said.unknown.iter() {
        bundle.unknown.insert(key.to_owned(), value.clone());
    }
    Ok(bundle)
}

/// An answer must not be for something else.
fn repeats(identity: &Identity, said: &Bundle) -> Result<(), CommandError> {
    // A scope that was left out is filled in from the rest.
    let default = scope_key(&said.model_id, &said.base_url, &said.toolset_hash);
    let scope = if said.scope_key == default { "" } else { &said.scope_key };
    let keys = [
        ("model_id", said.model_id.as_str(), &identity.model_id),
        ("toolset_hash", &said.toolset_hash, &identity.toolset_hash),
        ("scope_key", scope, &identity.scope),
    ];
    match keys.iter().find(|(_, said, asked)| !said.is_empty() && said != asked) {
        Some((key, said, asked)) => {
            Err(refused(&format!("its {key} is {said:?}, asked was {asked:?}")))
        }
        None => Ok(()),
    }
}

fn refused(reason: &str) -> CommandError {
    let message = format!("the pre-stage's answer cannot be saved, nothing was: {reason}");
    CommandError::new(Exit::Failed, message).hint(
        "it must print one JSON object with prompts, prep_settings, context, tool_caps or custom",
    )
}
