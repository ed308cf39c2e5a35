//! The checks and summaries as rsv-config prints them.

use super::{Worth, print};
use crate::cli::{Io, Outcome};
use crate::config;
use crate::error::Result;
use crate::http;
use crate::picture::Activity;
use crate::store;

/// Prints a summary of the setup.
pub fn status(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let status = http::run(async { Ok(super::status(&io.common, &settings).await) })?;
    io.out.write(status.to_text().as_bytes())?;
    Ok(Outcome::Yes)
}

/// Prints what recall is worth in the selected scopes: as text for people, as JSON lines for programs.
pub fn worth(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let scopes = io.common.to_cover()?;
    let mut store = store::open_to_read(&settings, io)?;
    let measured = Worth::measure(&mut *store, &settings, &scopes, io.clock, &io.diagnostics())?;
    let text = if io.stdout_is_tty() {
        measured.to_text()
    } else {
        measured.to_objects().iter().map(|line| line.to_json() + "\n").collect()
    };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

/// Prints a calendar of the messages of the selected scopes.
pub fn activity(format: &str, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let (layout, now, scopes) = (io.layout(), io.clock.now(), io.common.to_cover()?);
    let mut store = store::open_to_read(&settings, io)?;
    let activity = Activity::read(&mut *store, &scopes, now, &layout.zone)?;
    let text = if format == "svg" { activity.to_svg() } else { activity.to_text(&layout) };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

/// Returns the unused space of the store to the disk, and says how much.
pub fn compact(io: &mut Io) -> Result<Outcome> {
    let returned = super::compact(&config::load_for_tool(io)?)?;
    print(&[returned], io)
}

/// Rebuilds the data that follow from the records of the store, and prints what was wrong.
pub fn repair(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    print(&super::repair(&settings), io)
}

/// Runs every check, and prints the findings.
pub fn examine(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_without_notes(io);
    let found = http::run(async { Ok(super::examine(&io.common, settings, &io.diagnostics()).await) })?;
    print(&found, io)
}
