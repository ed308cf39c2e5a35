//! `encoder` and `fetch` in a build without the feature `local-models`: a server makes all vectors.

use super::error::EmbedError;
use super::input_type::InputType;
use super::model_dir::InstalledModel;
use super::report::Report;
use super::workload::Workload;
use crate::config::Settings;
use crate::error::Result;
use std::path::Path;

/// A loaded model, of which there is none.
pub(super) enum NoEncoder {}

impl NoEncoder {
    /// Fails always.
    pub(super) fn load(_: &Settings, _: &InstalledModel, _: Workload) -> Result<NoEncoder> {
        Err(EmbedError::NotBuilt.into())
    }

    /// Cannot be called.
    pub(super) fn embed(&self, _: &[&str], _: InputType) -> Result<Vec<Vec<f32>>> {
        match *self {}
    }
}

/// Fails always.
pub(super) fn fetch(_: &Settings, _: &str, _: Option<&Path>, _: &mut dyn Report) -> Result<String> {
    Err(EmbedError::NotBuilt.into())
}

/// Fails always.
pub(super) fn check_name(_: &Settings, _: &str) -> Result<()> {
    Err(EmbedError::NotBuilt.into())
}

/// Fails always.
pub(super) fn download_to(_: &Settings, _: &str, _: &Path, _: &mut dyn Report) -> Result<String> {
    Err(EmbedError::NotBuilt.into())
}
