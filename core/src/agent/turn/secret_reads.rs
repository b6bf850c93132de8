//! A co-located program reads a secret: asked, fetched, opened, answered.

use alloc::{format, string::String, vec::Vec};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::{Answer, Caller, Effect},
        life::{Life, Question},
        local::{self, gate, secret},
        notice::Notice,
        secrets::{self, FETCH_MAX, Wish},
        verdict::secret::{Fetched, Sealed, Withheld, read},
    },
    ids::CallId,
    wire::{call::Call, grammar::SecretKey, http::Response},
};

impl Turn<'_> {
    /// The gate first: who may not read learns nothing else.
    pub(super) fn secret_asked(
        &mut self,
        asker: CallId,
        caller: &Caller,
        (key, query): (&str, Option<&str>),
    ) {
        if let Err(denied) = self.gate(caller) {
            return self.reply(asker, denied);
        }
        match secret::wanted(key, query) {
            Err(refused) => self.reply(asker, refused),
            Ok(_) if !self.fetches() => self.reply(asker, unavailable()),
            Ok((key, version)) => {
                self.secrets(secrets::Input::Asked(Wish { asker, key, version }));
            }
        }
    }

    /// Lets those pass that may read secrets.
    pub(super) fn gate(&self, caller: &Caller) -> Result<(), Response> {
        if gate::admits(self.settings.secret_auth_enabled, caller) {
            return Ok(());
        }
        Err(secret::hidden(local::refusal(403, gate::DENIED)))
    }

    fn fetches(&self) -> bool {
        self.agent.identity.is_some() && self.agent.life != Life::Over
    }

    pub(super) fn secrets(&mut self, input: secrets::Input) {
        let step = mem::take(&mut self.agent.secrets).step(self.now, input);
        self.agent.secrets = step.state;
        for effect in step.effects {
            match effect {
                secrets::Effect::Fetch(wish) => self.fetch_secret(&wish),
                secrets::Effect::Answer { asker, key, fetched } => {
                    self.secret_fetched(asker, &key, fetched);
                }
                secrets::Effect::Refuse(asker) => self.reply(asker, unavailable()),
            }
        }
    }

    fn fetch_secret(&mut self, wish: &Wish) {
        let call = Call::Secret { node: self.node(), key: wish.key.as_str().into() };
        let mut request = self.request(&call, Vec::new());
        request.query = wish.version.map(|version| format!("version={version}"));
        self.send_request(Question::Secret(wish.asker), &call, request, Some(FETCH_MAX));
    }

    pub(super) fn secret_answered(&mut self, asker: CallId, answer: Answer) {
        let fetched = read(answer, &self.settings.header_prefix, self.now.wall);
        self.secrets(secrets::Input::Answered { asker, fetched });
    }

    fn secret_fetched(&mut self, asker: CallId, key: &SecretKey, fetched: Fetched) {
        let answered = match fetched {
            Fetched::Sealed(sealed) => self.opened(key, &sealed),
            Fetched::Withheld(why) => Err(why),
        };
        let response = answered.unwrap_or_else(|why| {
            self.tell_withheld(key, &why);
            secret::withheld(&why)
        });
        self.reply(asker, response);
    }

    fn opened(&mut self, key: &SecretKey, sealed: &Sealed) -> Result<Response, Withheld> {
        let identity = self.agent.identity.as_ref().ok_or(Withheld::Unopened)?;
        let response = secret::revealed(&identity.key, key, sealed)?;
        let Sealed { version, kid, .. } = sealed;
        let text = format!("secret {} in version {version}, sealed under {kid:?}", key.as_str());
        self.effects.push(Effect::Tell(Notice::debug(text)));
        Ok(response)
    }

    fn tell_withheld(&mut self, key: &SecretKey, why: &Withheld) {
        let key = key.as_str();
        let notice = match why {
            Withheld::Unavailable(reason) => {
                Notice::warn(format!("the secret {key} cannot be fetched: {reason}"))
            }
            Withheld::Unopened => Notice::error(format!("the secret {key} cannot be opened")),
            Withheld::Forbidden | Withheld::NotFound | Withheld::RateLimited { .. } => {
                Notice::debug(format!("the secret {key} is withheld: {}", why.told().1))
            }
        };
        self.effects.push(Effect::Tell(notice));
    }
}

fn unavailable() -> Response {
    secret::withheld(&Withheld::Unavailable(String::new()))
}
