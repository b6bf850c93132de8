//! What a registration needs, gathered from the configuration and the places of the token.

use meshward_core::{
    agent::{Gathered, TokenSources},
    wire::grammar::Uuid,
};

use crate::{config::Registration, tokens::TokenPlaces};

/// Where the inputs of a registration come from.
#[derive(Clone, Debug)]
pub(crate) struct RegistrationSources {
    places: TokenPlaces,
    project_id: Option<String>,
    resource_handle: Option<String>,
    requested_resource_id: Option<String>,
}

impl RegistrationSources {
    pub(crate) fn of(config: &Registration) -> Self {
        Self {
            places: TokenPlaces {
                value: config.token_value.clone(),
                file: config.token_file.clone(),
                variable: config.token_env.clone(),
            },
            project_id: config.project_id.clone(),
            resource_handle: config.resource_handle.clone(),
            requested_resource_id: config.requested_resource_id.clone(),
        }
    }

    /// Looks in all places, on a thread that may block.
    pub(crate) async fn gather(&self, nonce: Uuid) -> Gathered {
        let places = self.places.clone();
        let looked = tokio::task::spawn_blocking(move || places.look()).await;
        Gathered {
            token: looked.unwrap_or_else(|broken| TokenSources {
                tried: vec![broken.to_string()],
                ..TokenSources::default()
            }),
            project_id: self.project_id.clone().unwrap_or_default(),
            resource_handle: self.resource_handle.clone().unwrap_or_default(),
            requested_resource_id: self.requested_resource_id.clone().unwrap_or_default(),
            nonce,
        }
    }
}
