//! Which address means what, in the shapes that Reservoir's documents and its program have.

use super::command::Command;
use crate::error::{Error, Result};
use crate::record::Scope;
use percent_encoding::percent_decode_str;

/// How many messages a command tells if its address does not say.
const COUNT: usize = 5;

/// What a path asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Route {
    /// A chat completion in a scope.
    Chat(Scope),
    /// What is found in a scope, so many at most.
    Command(Scope, Command, usize),
    /// Vectors, which are the same in every scope.
    Embeddings,
    Health,
    /// The root, which clients probe.
    Root,
    Unknown,
}

impl Route {
    /// Reads a path; one that names no scope means `own`. Errors if a name in it is empty or no UTF-8, or a count
    /// no number.
    pub(super) fn of(path: &str, own: &Scope) -> Result<Route> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        if let Some((command, count, base)) = command(&parts)? {
            let scope = match scope(base, own)? {
                None => scope(without_version(base).unwrap_or(base), own)?,
                scope => scope,
            };
            if let Some(scope) = scope {
                return Ok(Route::Command(scope, command, count));
            }
        }
        let (chat, base) = match &parts[..] {
            [""] => return Ok(Route::Root),
            ["health"] => return Ok(Route::Health),
            ["v1", "chat", "completions", p, i] => (true, &["partition", p, "instance", i, "v1"][..]),
            [base @ .., "chat", "completions"] => (true, base),
            [base @ .., "embeddings"] => (false, base),
            _ => return Ok(Route::Unknown),
        };
        let Some(base) = without_version(base) else { return Ok(Route::Unknown) };
        Ok(match scope(base, own)? {
            None => Route::Unknown,
            Some(scope) if chat => Route::Chat(scope),
            Some(_) => Route::Embeddings,
        })
    }
}

/// The command that a path ends with, its count, and what stands before it.
fn command<'a, 'b>(parts: &'a [&'b str]) -> Result<Option<(Command, usize, &'a [&'b str])>> {
    let (base, name, count) = match parts {
        [base @ .., "command", name] => (base, name, None),
        [base @ .., "command", name, count] => (base, name, Some(count)),
        _ => return Ok(None),
    };
    let Some(command) = Command::named(name) else { return Ok(None) };
    let count = count.map_or(Ok(COUNT), |count| {
        count.parse().map_err(|_| Error::new(format!("{name}: expected a count, found {count}")))
    });
    Ok(Some((command, count?, base)))
}

/// The names without `v1` before or after them.
fn without_version<'a, 'b>(names: &'a [&'b str]) -> Option<&'a [&'b str]> {
    match names {
        ["v1", names @ ..] | [names @ .., "v1"] => Some(names),
        _ => None,
    }
}

/// The scope that the names of a path are of, `v1` aside; `None` if they are none.
fn scope(names: &[&str], own: &Scope) -> Result<Option<Scope>> {
    let (partition, instance) = match names {
        [] => return Ok(Some(own.clone())),
        ["partition", partition] => (partition, None),
        ["partition", partition, "instance", instance] => (partition, Some(instance)),
        _ => return Ok(None),
    };
    let partition = decoded("partition", partition)?;
    let instance = instance.map(|name| decoded("instance", name)).transpose()?;
    Scope::of(Some(&partition), instance.as_deref()).map(Some)
}

fn decoded(what: &str, name: &str) -> Result<String> {
    let text = percent_decode_str(name).decode_utf8();
    text.map(|text| text.into_owned()).map_err(|_| Error::new(format!("{what}: is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_the_documents_is_known() {
        let own = Scope::of(None, None).unwrap();
        for (path, partition, instance) in [
            ("/v1/chat/completions", "default", "default"),
            ("/v1/chat/completions/", "default", "default"),
            ("/v1/chat/completions/p/i", "p", "i"),
            ("/v1/partition/p/chat/completions", "p", "p"),
            ("/v1/partition/p/instance/i/chat/completions", "p", "i"),
            ("/partition/p/v1/chat/completions", "p", "p"),
            ("/partition/p/instance/i/v1/chat/completions", "p", "i"),
            ("/partition/a%2Fb%27/instance/%C3%A9%20x/v1/chat/completions", "a/b'", "é x"),
        ] {
            let scope = Scope { partition: partition.into(), instance: instance.into() };
            assert_eq!(Route::of(path, &own).unwrap(), Route::Chat(scope), "{path}");
            if let Some(base) = path.trim_end_matches('/').strip_suffix("/chat/completions") {
                assert_eq!(Route::of(&format!("{base}/embeddings"), &own).unwrap(), Route::Embeddings);
            }
        }
        for base in ["/partition/p", "/v1/partition/p", "/partition/p/v1", "/partition/p/instance/p"] {
            let scope = Scope { partition: "p".into(), instance: "p".into() };
            let view = Route::Command(scope.clone(), Command::View, COUNT);
            assert_eq!(Route::of(&format!("{base}/command/view"), &own).unwrap(), view, "{base}");
            let search = Route::Command(scope, Command::Search, 7);
            assert_eq!(Route::of(&format!("{base}/command/search/7"), &own).unwrap(), search, "{base}");
        }
        for path in ["/command/view/0", "/v1/command/view/0"] {
            assert_eq!(Route::of(path, &own).unwrap(), Route::Command(own.clone(), Command::View, 0));
        }
        for (path, partition, instance) in [
            ("/partition/v1/command/view", "v1", "v1"),
            ("/v1/partition/command/instance/view/command/view", "command", "view"),
        ] {
            let scope = Scope { partition: partition.into(), instance: instance.into() };
            assert_eq!(Route::of(path, &own).unwrap(), Route::Command(scope, Command::View, COUNT), "{path}");
        }
        for path in
            ["/v1/chat/completions/command/view", "/v1/partition/command/instance/view/chat/completions"]
        {
            let scope = Scope { partition: "command".into(), instance: "view".into() };
            assert_eq!(Route::of(path, &own).unwrap(), Route::Chat(scope), "{path}");
        }
        assert_eq!(Route::of("/v1/command/forget/3", &own).unwrap(), Route::Unknown);
        assert_eq!(Route::of("/v1/v1/command/view", &own).unwrap(), Route::Unknown);
        assert!(Route::of("/v1/command/view/-1", &own).is_err());
        assert_eq!(Route::of("/embeddings", &own).unwrap(), Route::Unknown);
        assert_eq!(Route::of("/", &own).unwrap(), Route::Root);
        assert_eq!(Route::of("/partition/p/x", &own).unwrap(), Route::Unknown);
        assert!(Route::of("/partition/%FF/v1/chat/completions", &own).is_err());
        assert!(Route::of("/partition//v1/chat/completions", &own).is_err());
    }
}
