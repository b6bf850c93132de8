//! What a registration needs, gathered from the configuration, the places of the token and the metadata service.

use std::path::PathBuf;

use meshward_core::agent::{Gathered, TokenSources, Wanted};

use crate::{
    chance,
    client::ClientError,
    config::Registration,
    metadata::{Metadata, Session},
    tokens::TokenPlaces,
};

/// Where the inputs of a registration come from.
#[derive(Clone, Debug)]
pub(crate) struct RegistrationSources {
    config: Registration,
    metadata: Option<Metadata>,
}

impl RegistrationSources {
    pub(crate) fn of(config: &Registration) -> Result<Self, ClientError> {
        Ok(Self { config: config.clone(), metadata: Metadata::of(config)? })
    }

    /// The file that a token may be in.
    pub(crate) fn token_file(&self) -> Option<PathBuf> {
        self.config.token_file.clone()
    }

    /// Looks in all places; the service is asked only for what is set nowhere else.
    pub(crate) async fn gather(&self) -> Gathered {
        let config = &self.config;
        let session = self.metadata.as_ref().map(Metadata::session);
        let session = session.as_ref();
        Gathered {
            token: self.token(session).await,
            project_id: wanted(
                config.project_id.as_deref(),
                session,
                &config.metadata_project_id_path,
            )
            .await,
            resource_handle: wanted(
                config.resource_handle.as_deref(),
                session,
                &config.metadata_resource_handle_path,
            )
            .await,
            requested_resource_id: wanted(
                config.requested_resource_id.as_deref(),
                session,
                &config.metadata_requested_resource_id_path,
            )
            .await,
            nonce: chance::uuid().map_err(|error| error.to_string()),
        }
    }

    async fn token(&self, session: Option<&Session<'_>>) -> TokenSources {
        let config = &self.config;
        let places = TokenPlaces {
            value: config.token_value.clone(),
            file: config.token_file.clone(),
            variable: config.token_env.clone(),
        };
        // A disk may be slow.
        let looked = tokio::task::spawn_blocking(move || places.look()).await;
        let mut sources = looked.unwrap_or_else(|broken| TokenSources {
            tried: vec![broken.to_string()],
            ..TokenSources::default()
        });
        let Some(session) = session else {
            sources.tried.push("metadata service (registration.use_metadata is false)".to_owned());
            return sources;
        };
        if sources.is_lacking() {
            let path = &config.metadata_token_path;
            let told = match session.read(path).await {
                Ok(held) => {
                    let told = if held.is_some() { "read" } else { "missing" };
                    sources.metadata = held;
                    format!("metadata service {path} ({told})")
                }
                Err(cause) => format!("metadata service {cause}"),
            };
            sources.tried.push(told);
        }
        sources
    }
}

/// What is set, or what the service has under the path; what it does not have is empty.
async fn wanted(set: Option<&str>, session: Option<&Session<'_>>, path: &str) -> Wanted {
    match (set.filter(|set| !set.is_empty()), session) {
        (Some(set), _) => Wanted::Set(set.to_owned()),
        (None, None) => Wanted::Unset,
        (None, Some(session)) => {
            let held = session.read(path).await;
            let text = held.map(|held| held.map_or_else(String::new, |held| held.expose().clone()));
            Wanted::Metadata { path: path.to_owned(), answer: text }
        }
    }
}
