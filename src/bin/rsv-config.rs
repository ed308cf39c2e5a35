//! rsv-config: shows and changes the settings.

use clap::Subcommand;
use rsv::cli::{self, Io, Outcome};
use rsv::config::{self, Key};
use rsv::error::{Error, Result};
use std::process::ExitCode;

/// Show and change the settings
///
/// A setting comes from a flag, else the environment, else the settings' file, else it has its default.
/// 'rsv-config list' shows every key, what it is for, its value and where that came from. A name within
/// a key is quoted where TOML wants it: 'models."gpt-3.5-turbo".reserve_tokens'.
#[derive(clap::Args)]
#[command(arg_required_else_help = false)]
struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print a value; exit status 1 if there is none
    Get {
        /// The name of the setting
        key: String,
    },
    /// Write a value into the settings' file
    Set {
        /// The name of the setting
        key: String,
        /// The value, or - for standard input; of a secret always -
        value: String,
    },
    /// Take a value out of the settings' file
    Unset {
        /// The name of the setting
        key: String,
    },
    /// Show every key, its value, where that came from, and what it is for
    List,
    /// Print where the settings' file is, or would be
    Path,
}

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    match args.action {
        Action::Get { key } => get(&Key::parse(&key)?, io),
        Action::Set { key, value } => set(&Key::parse(&key)?, value, io),
        Action::Unset { key } => unset(&Key::parse(&key)?, io),
        Action::List => list(io),
        Action::Path => path(io),
    }
}

fn get(key: &Key, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    settings.check(&key.to_string())?;
    let Some(value) = settings.get(key) else {
        return Ok(Outcome::No);
    };
    io.out.write(format!("{value}\n").as_bytes())?;
    Ok(Outcome::Yes)
}

fn set(key: &Key, mut value: String, io: &mut Io) -> Result<Outcome> {
    if value == "-" {
        value = io.text(LONGEST)?.trim_end_matches(['\n', '\r']).to_owned();
    } else if key.is_secret() {
        return Err(Error::new(format!("{key}: is a secret, and others can see a command line"))
            .hint(format!("'rsv-config set {key} -' reads it from standard input")));
    }
    config::set(&io.common, key, &value)?;
    if let Some(variable) = config::overruled(key) {
        io.note(format_args!("{variable} in the environment overrules the file"));
    }
    Ok(Outcome::Yes)
}

/// No value is longer, in bytes.
const LONGEST: usize = 1 << 16;

fn unset(key: &Key, io: &mut Io) -> Result<Outcome> {
    config::unset(&io.common, key)?;
    if let Some(variable) = config::overruled(key) {
        io.note(format_args!("{variable} is still set in the environment"));
    }
    Ok(Outcome::Yes)
}

/// Writes a line for each setting, in columns that only a long value breaks.
fn list(io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    settings.unknown().iter().for_each(|place| io.note(place));
    settings.troubles().for_each(|error| io.note(error));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let rows: Vec<[String; 3]> = settings
        .all()
        .iter()
        .map(|setting| {
            let layer = setting.layer().map_or_else(|| "unset".to_owned(), |layer| layer.to_string());
            [setting.key(), or_dash(setting.value().map(ToString::to_string)), layer]
        })
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= 44).max().unwrap_or(0)
    };
    let (key, value, layer) = (width(0), width(1), width(2));
    for (row, setting) in rows.iter().zip(settings.all()) {
        let line = format!("{:key$}  {:value$}  {:layer$}  {}\n", row[0], row[1], row[2], setting.doc());
        io.out.write(line.as_bytes())?;
    }
    Ok(Outcome::Yes)
}

fn path(io: &mut Io) -> Result<Outcome> {
    let path = config::path(&io.common)?;
    io.out.write(path.as_os_str().as_encoded_bytes())?;
    io.out.write(b"\n")?;
    Ok(Outcome::Yes)
}
