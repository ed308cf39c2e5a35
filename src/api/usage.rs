//! The tokens that an answer reports.

use super::protocol::Api;
use crate::record::Object;

/// The tokens of a request and its answer, as the provider reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// All of the request.
    pub prompt: usize,
    /// Of these, those that were read from the provider's cache.
    pub cached: Option<usize>,
    pub completion: Option<usize>,
}

impl Usage {
    /// The tokens that an answer of any API reports. A translated answer has 0 if its provider reports none.
    pub fn of(answer: &Object) -> Option<Usage> {
        let usage = answer.object("usage").ok()??;
        let tokens = |name| count(&usage, name);
        let detail = |of, name| count(&usage.object(of).ok()??, name);
        Some(match Api::of_answer(answer) {
            Api::Chat => Usage {
                prompt: tokens("prompt_tokens")?,
                // The second is DeepSeek's.
                cached: detail("prompt_tokens_details", "cached_tokens")
                    .or_else(|| tokens("prompt_cache_hit_tokens")),
                completion: tokens("completion_tokens"),
            },
            Api::Responses => Usage {
                prompt: tokens("input_tokens").filter(|tokens| *tokens > 0)?,
                cached: detail("input_tokens_details", "cached_tokens"),
                completion: tokens("output_tokens"),
            },
            Api::Messages => {
                let (new, cached) = (tokens("input_tokens")?, tokens("cache_read_input_tokens"));
                let read = [cached, tokens("cache_creation_input_tokens")].into_iter().flatten();
                let prompt = read.fold(new, usize::saturating_add);
                let completion = tokens("output_tokens");
                Some(Usage { prompt, cached, completion }).filter(|usage| usage.prompt > 0)?
            }
        })
    }
}

fn count(object: &Object, name: &str) -> Option<usize> {
    // Some servers write 5.0.
    let number = object.number(name).ok()??;
    (number >= 0.0 && number.fract() == 0.0).then_some(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_reports_in_its_own_words() {
        let usage = |answer: &str| {
            let found = Usage::of(&Object::parse(answer).unwrap());
            found.map(|usage| (usage.prompt, usage.cached, usage.completion))
        };
        let chat = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;
        assert_eq!(usage(chat), Some((9, Some(4), Some(2))));
        assert_eq!(usage(r#"{"choices":[],"usage":{"prompt_tokens":9}}"#), Some((9, None, None)));
        let messages = r#"{"type":"message","usage":{"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":5,"cache_creation_input_tokens":1}}"#;
        assert_eq!(usage(messages), Some((9, Some(5), Some(2))));
        let responses = r#"{"object":"response","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":8},"output_tokens":2}}"#;
        assert_eq!(usage(responses), Some((9, Some(8), Some(2))));
        assert_eq!(usage(r#"{"object":"response","usage":{"input_tokens":0,"output_tokens":0}}"#), None);
        assert_eq!(usage(r#"{"choices":[]}"#), None);
    }
}
