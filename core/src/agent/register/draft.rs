//! What a registration is made of, and what it lacks.

use alloc::string::String;

use super::{Draft, TOKEN_MAX};
use crate::{
    agent::facts::{Gathered, TokenFile, TokenSources, Unprepared},
    secret::Secret,
};

pub(super) fn draft(gathered: Gathered) -> Result<Draft, Unprepared> {
    let (bootstrap_token, token_in_file) = choose(gathered.token)?;
    if gathered.project_id.is_empty() {
        return Err(Unprepared::ProjectId);
    }
    if gathered.resource_handle.is_empty() {
        return Err(Unprepared::ResourceHandle);
    }
    Ok(Draft {
        project_id: gathered.project_id,
        resource_handle: gathered.resource_handle,
        requested_resource_id: Some(gathered.requested_resource_id).filter(|id| !id.is_empty()),
        bootstrap_token,
        token_in_file,
        nonce: gathered.nonce,
    })
}

/// The first non-empty source: direct value, file, environment, metadata; and whether it is the file.
fn choose(sources: TokenSources) -> Result<(Secret<String>, bool), Unprepared> {
    let present = |token: &Secret<String>| !token.expose().is_empty();
    let value = sources.value.filter(present);
    let file = match sources.file {
        TokenFile::Missing => None,
        TokenFile::Text(text) => Some(Secret::new(text.expose().trim().into())).filter(present),
        TokenFile::Unreadable(reason) if value.is_none() => {
            return Err(Unprepared::TokenFile(reason));
        }
        TokenFile::Unreadable(_) => None,
    };
    let in_file = value.is_none() && file.is_some();
    let elsewhere =
        || sources.environment.filter(present).or_else(|| sources.metadata.filter(present));
    let Some(token) = value.or(file).or_else(elsewhere) else {
        return Err(Unprepared::NoToken(sources.tried.join(", ")));
    };
    let legal = token.expose().len() <= TOKEN_MAX
        && token.expose().bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if legal { Ok((token, in_file)) } else { Err(Unprepared::TokenRule) }
}
