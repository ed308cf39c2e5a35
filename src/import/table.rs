//! Tables with a line of column names: rsv-export's CSV, and others whose columns `--map` names.

use super::conversation::ImportOptions;
use super::error::ImportError;
use super::format::{Bytes, ImportFormat, ReadFormat, TextInput};
use super::times;
use crate::error::{Error, Result};
use crate::lines::{LocatedObject, ObjectSource, SourceLocation};
use crate::record::{Object, invalid_utf8, quote, time};
use std::io::{Cursor, Read};
use std::sync::Arc;

const NAME: &str = "csv";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "values separated by commas, semicolons or tabs, with a line of column names; --map names others",
    places: &[],
    timeless: false,
    recognize: |sample| {
        let first = sample.text().lines().next().unwrap_or_default();
        let columns = columns(first, separator(first));
        ["role", "content"].iter().all(|needed| columns.contains(needed)) && !first.starts_with('{')
    },
    read: ReadFormat::Text(|input| Box::new(Table::new(input))),
};

/// The characters that separate the cells of a line; the first is that of rsv-export.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The separator of the names of columns: the one that occurs most often in the line.
fn separator(names: &str) -> u8 {
    let count = |separator: &u8| names.bytes().filter(|byte| byte == separator).count();
    // Of several with as many, the first.
    SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(SEPARATORS[0])
}

/// The names of columns in a line.
fn columns(line: &str, separator: u8) -> Vec<&str> {
    line.trim_end().split(char::from(separator)).map(|column| column.trim_matches('"')).collect()
}

/// The members that a column of the same name, or one that `--map` names, gives.
const MEMBERS: [&str; 10] = [
    "role",
    "content",
    "timestamp",
    "created_at",
    "partition",
    "instance",
    "trace_id",
    "id",
    "model",
    "title",
];

struct Table {
    name: Arc<str>,
    rows: csv::Reader<Bytes>,
    options: ImportOptions,
    /// The members and the numbers of their columns; none before the first line is read.
    columns: Option<Vec<(String, usize)>>,
    read: u64,
    failed: bool,
}

impl Table {
    fn new(input: TextInput) -> Table {
        let (name, options) = (input.name.into(), input.options.clone());
        let (first, bytes) = first_line(input.bytes);
        let rows = csv::ReaderBuilder::new().delimiter(separator(&first)).from_reader(bytes);
        Table { name, rows, options, columns: None, read: 0, failed: false }
    }

    fn columns(&mut self) -> Result<Vec<(String, usize)>> {
        let names = self.rows.headers().map_err(|error| fault(&self.name, error))?;
        let column = |wanted: &str| {
            let is_it = |name: &str| name.trim_start_matches('\u{feff}') == wanted;
            names.iter().position(is_it)
        };
        let mut columns = Vec::new();
        for (member, source) in &self.options.map {
            let Some(at) = column(source) else {
                let columns = names.iter().collect::<Vec<_>>().join(", ");
                return Err(
                    Error::from(ImportError::NoColumn { named: source.clone(), columns }).at(&self.name)
                );
            };
            columns.push((member.clone(), at));
        }
        for member in MEMBERS {
            if let Some(at) = column(member).filter(|_| !columns.iter().any(|(known, _)| known == member)) {
                columns.push((member.to_owned(), at));
            }
        }
        Ok(columns)
    }

    fn row(&mut self) -> Result<Option<LocatedObject>> {
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => self.columns()?,
        };
        let mut row = csv::StringRecord::new();
        let read = self.rows.read_record(&mut row);
        // Nothing can follow bytes that cannot be read.
        self.failed = read.as_ref().err().is_some_and(csv::Error::is_io_error);
        let columns = self.columns.insert(columns);
        if !read.map_err(|error| fault(&self.name, error))? {
            return Ok(None);
        }
        let place = row.position();
        self.read = place.map_or(self.read, csv::Position::byte);
        let location = SourceLocation::new(self.name.clone(), place.map_or(0, csv::Position::line));
        let mut line = Object::default();
        for (member, at) in columns {
            if let Some(cell) = row.get(*at).filter(|cell| !cell.is_empty()) {
                line.set_text(member, cell);
            }
        }
        for member in ["timestamp", "created_at"] {
            if let Some(time) = times::member(&line, member).map_err(|error| error.at(&location))? {
                let is_number = member == "timestamp";
                line.set(member, if is_number { time.to_string() } else { quote(&time::rfc3339(time)) });
            }
        }
        if let Some(at) = self.options.at.filter(|_| !line.has("timestamp") && !line.has("created_at")) {
            line.set("timestamp", at.to_string());
        }
        if !line.has("partition") && self.options.partition.is_none() && self.options.instance.is_none() {
            line.set_text("partition", NAME);
        }
        Ok(Some(LocatedObject { location, object: line }))
    }
}

impl ObjectSource for Table {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        if self.failed {
            return None;
        }
        let row = self.row().transpose();
        // Nor can anything follow columns that are missing.
        self.failed |= self.columns.is_none();
        row
    }

    fn drained(&self) -> bool {
        false
    }

    fn consumed(&self) -> u64 {
        self.read
    }
}

/// The first line of some bytes, as far as it is text, and all of the bytes.
fn first_line(mut bytes: Bytes) -> (String, Bytes) {
    /// The bytes in which the names of columns end.
    const MOST: u64 = 1 << 16;
    let mut begin = Vec::new();
    // An error comes again when the rows are read.
    let _ = bytes.by_ref().take(MOST).read_to_end(&mut begin);
    let first = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first).into_owned();
    (first, Box::new(Cursor::new(begin).chain(bytes)))
}

fn fault(name: &str, error: csv::Error) -> Error {
    let line = error.position().map_or(0, csv::Position::line);
    let place = format!("{name}:{line}");
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => invalid_utf8("").at(place),
        &csv::ErrorKind::UnequalLengths { expected_len: expected, len: found, .. } => {
            Error::from(ImportError::Cells { found, expected }).at(place)
        }
        _ => Error::attempt(format!("cannot read {name}"), error),
    }
}
