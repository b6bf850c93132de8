//! What a registration is made of, and what it lacks.

use alloc::string::String;

use super::{Before, Draft, TOKEN_MAX};
use crate::{
    agent::facts::{Gathered, TokenFile, TokenSource, TokenSources, Unprepared, Wanted},
    secret::Secret,
};

const PROJECT_ID: &str = "registration.project_id";
const RESOURCE_HANDLE: &str = "registration.resource_handle";
const REQUESTED_RESOURCE_ID: &str = "registration.requested_resource_id";

pub(super) fn draft(gathered: Gathered, before: Before) -> Result<Draft, Unprepared> {
    let (bootstrap_token, source) = choose(gathered.token)?;
    Ok(Draft {
        project_id: needed(PROJECT_ID, gathered.project_id)?,
        resource_handle: needed(RESOURCE_HANDLE, gathered.resource_handle)?,
        requested_resource_id: Some(wanted(REQUESTED_RESOURCE_ID, gathered.requested_resource_id)?)
            .filter(|id| !id.is_empty()),
        bootstrap_token,
        source,
        nonce: gathered.nonce.map_err(Unprepared::Nonce)?,
        before,
    })
}

/// The value of an input, which may be empty.
fn wanted(setting: &'static str, wanted: Wanted) -> Result<String, Unprepared> {
    match wanted {
        Wanted::Unset => Ok(String::new()),
        Wanted::Set(value) => Ok(value),
        Wanted::Metadata { answer: Ok(value), .. } => Ok(value.trim_ascii().into()),
        Wanted::Metadata { answer: Err(cause), .. } => Err(Unprepared::Metadata { setting, cause }),
    }
}

fn needed(setting: &'static str, input: Wanted) -> Result<String, Unprepared> {
    let lacking = match &input {
        Wanted::Unset | Wanted::Set(_) => Unprepared::Unset(setting),
        Wanted::Metadata { path, .. } => Unprepared::Nowhere { setting, path: path.clone() },
    };
    let value = wanted(setting, input)?;
    if value.is_empty() { Err(lacking) } else { Ok(value) }
}

/// The first non-empty source: direct value, file, environment, metadata.
fn choose(sources: TokenSources) -> Result<(Secret<String>, TokenSource), Unprepared> {
    let present = |token: &Secret<String>| !token.expose().is_empty();
    let trimmed = |text: Secret<String>| Secret::new(text.expose().trim().into());
    let value = sources.value.filter(present);
    let file = match sources.file {
        TokenFile::Missing => None,
        TokenFile::Text(text) => Some(trimmed(text)).filter(present),
        TokenFile::Unreadable(reason) if value.is_none() => {
            return Err(Unprepared::TokenFile(reason));
        }
        TokenFile::Unreadable(_) => None,
    };
    let metadata = sources.metadata.map(trimmed).filter(present);
    let found = [
        (value, TokenSource::Value),
        (file, TokenSource::File),
        (sources.environment.filter(present), TokenSource::Environment),
        (metadata, TokenSource::Metadata),
    ];
    let first = found.into_iter().find_map(|(token, source)| Some((token?, source)));
    let Some((token, source)) = first else {
        return Err(Unprepared::NoToken(sources.tried.join(", ")));
    };
    let legal = token.expose().len() <= TOKEN_MAX
        && token.expose().bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if legal { Ok((token, source)) } else { Err(Unprepared::TokenRule(source)) }
}
