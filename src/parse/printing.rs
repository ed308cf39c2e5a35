//! The trees and texts of operands as they are printed.

use super::error::ParseError;
use super::format::Format;
use super::operand::{Operand, text_of};
use super::pdf_process::limit_resources;
use super::reason::UnreadKind;
use super::tree::{Output, Parser};
use crate::cli::{Io, Progress};
use crate::error::{Context, Result};
use crate::http::Client;
use crate::record::Address;
use crate::text::counted_verb;
use std::collections::BTreeMap;

/// Prints the tree of each operand at its address. Files that cannot be read are named, or, in a directory,
/// counted by their kinds.
pub fn print_trees(
    parser: &Parser,
    operands: Vec<Operand>,
    addresses: &[Address],
    client: &Client,
    io: &mut Io,
) -> Result<()> {
    let progress = io.progress();
    let total = progress.is_shown().then(|| parser.count(&operands));
    let mut printer = Printer { io, progress, files: 0, total, skipped: BTreeMap::new() };
    for (operand, uri) in operands.into_iter().zip(addresses) {
        parser.parse(operand, uri, client, &mut |output| printer.print(output))?;
    }
    printer.note_skipped();
    Ok(())
}

/// Prints what comes of operands.
struct Printer<'a> {
    io: &'a mut Io,
    progress: Progress,
    files: u64,
    total: Option<u64>,
    /// The numbers of files that were not read because of their kinds.
    skipped: BTreeMap<UnreadKind, usize>,
}

impl Printer<'_> {
    fn print(&mut self, output: Output) -> Result<()> {
        let line = match &output {
            Output::Node(node) => serde_json::to_vec(node),
            Output::Tree(tree) => serde_json::to_vec(tree),
            Output::Unread(error) => {
                let io = &mut *self.io;
                self.progress.suspend(|| io.fault(error));
                return Ok(());
            }
            Output::Skipped(kind, error) => {
                *self.skipped.entry(*kind).or_default() += 1;
                let io = &*self.io;
                self.progress.suspend(|| io.detail(error));
                return Ok(());
            }
            Output::FileDone => {
                self.files += 1;
                self.progress.set("parsing", self.files, self.total);
                return Ok(());
            }
        };
        let line = line.context("cannot write a line")?;
        self.io.out.with(|out| {
            out.extend_from_slice(&line);
            out.push(b'\n');
        })
    }

    /// Says how many files were not read because of their kinds.
    fn note_skipped(&mut self) {
        let count: usize = self.skipped.values().sum();
        if count == 0 {
            return;
        }
        let kinds: Vec<String> = self.skipped.iter().map(|(kind, count)| kind.count(*count)).collect();
        let files = counted_verb(count as u64, "file", ["was", "were"]);
        let io = &*self.io;
        let note = format!("{files} not read: {}; -v names each", kinds.join(", "));
        self.progress.suspend(|| io.note(note));
    }
}

/// Prints the texts of operands, which are read in a format if one is named; `private` says whether private
/// networks are fetched from. rsv-parse runs itself so for a PDF.
pub fn print_texts(
    operands: Vec<Operand>,
    format: Option<Format>,
    private: bool,
    client: &Client,
    io: &mut Io,
) -> Result<()> {
    limit_resources()?;
    for operand in operands {
        let place = operand.shown();
        match text_of(operand, format, client, private) {
            Ok(text) => io.out.with(|out| out.extend_from_slice(text.as_bytes()))?,
            Err(reason) => io.fault(&ParseError::Unread { place, reason }.into()),
        }
    }
    Ok(())
}
