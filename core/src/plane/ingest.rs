//! TODO-part.

use super::BodyRule;

pub(super) const BODY_RULE: BodyRule = BodyRule { cap: 4 << 20, inflate: false };
