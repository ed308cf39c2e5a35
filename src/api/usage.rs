//! The tokens that an answer reports.

/// The tokens of a request and its answer, as the provider reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// All of the request.
    pub prompt: usize,
    /// Of these, those that were read from the provider's cache.
    pub cached: Option<usize>,
    pub completion: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Object;

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
        let too_many = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1e99}}"#;
        assert_eq!(usage(too_many), Some((9, None, None)));
    }
}
