//! Which address means what, in the shapes that Reservoir's documents and its program have.

use crate::error::{Error, Result};
use crate::record::Scope;
use percent_encoding::percent_decode_str;

/// What a path asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Route {
    /// A chat completion in a scope.
    Chat(Scope),
    /// Vectors, which are the same in every scope.
    Embeddings,
    Health,
    /// The root, which clients probe.
    Root,
    Unknown,
}

impl Route {
    /// Reads a path; one that names no scope means `own`. Errors if a name in it is empty or no UTF-8.
    pub(super) fn of(path: &str, own: &Scope) -> Result<Route> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (chat, base) = match &parts[..] {
            [""] => return Ok(Route::Root),
            ["health"] => return Ok(Route::Health),
            ["v1", "chat", "completions", p, i] => (true, &["partition", p, "instance", i, "v1"][..]),
            [base @ .., "chat", "completions"] => (true, base),
            [base @ .., "embeddings"] => (false, base),
            _ => return Ok(Route::Unknown),
        };
        let (partition, instance) = match *base {
            ["v1"] => return Ok(if chat { Route::Chat(own.clone()) } else { Route::Embeddings }),
            ["v1", "partition", p] | ["partition", p, "v1"] => (p, None),
            ["v1", "partition", p, "instance", i] | ["partition", p, "instance", i, "v1"] => (p, Some(i)),
            _ => return Ok(Route::Unknown),
        };
        let partition = decoded("partition", partition)?;
        let instance = instance.map(|name| decoded("instance", name)).transpose()?;
        let scope = Scope::of(Some(&partition), instance.as_deref())?;
        Ok(if chat { Route::Chat(scope) } else { Route::Embeddings })
    }
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
        assert_eq!(Route::of("/embeddings", &own).unwrap(), Route::Unknown);
        assert_eq!(Route::of("/", &own).unwrap(), Route::Root);
        assert_eq!(Route::of("/partition/p/x", &own).unwrap(), Route::Unknown);
        assert!(Route::of("/partition/%FF/v1/chat/completions", &own).is_err());
        assert!(Route::of("/partition//v1/chat/completions", &own).is_err());
    }
}
