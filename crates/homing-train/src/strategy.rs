//! Selection rules by name.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use homing::Strategy;
use serde::{Deserialize, Serialize};

use crate::text::written_as_text;
use crate::{Error, Result};

/// Characters of a name that are compared; every rule has a shorter name.
const MAX_NAME_LENGTH: usize = 100;

/// A row of the table of strategies, which files store as its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamedStrategy(Strategy);

impl Deref for NamedStrategy {
    type Target = Strategy;

    fn deref(&self) -> &Strategy {
        &self.0
    }
}

impl PartialEq for NamedStrategy {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for NamedStrategy {}

impl FromStr for NamedStrategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(Self(name.chars().take(MAX_NAME_LENGTH).collect::<String>().parse()?))
    }
}

impl fmt::Display for NamedStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

written_as_text!(NamedStrategy);
