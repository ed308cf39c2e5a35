//! The windows of the models, one row each.

/// A model's window and what of it is kept free for the answer, in tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    pub window: usize,
    pub reserve: usize,
}

/// How a model's name begins, its window and the reserve. The first row that fits counts. Sources: the
/// model pages of OpenAI, Mistral and Google (2026-11); for what Ollama runs, the context that Reservoir's
/// documents give.
const MODELS: [(&str, usize, usize); 18] = [
    ("gpt-3.5-turbo-16k", 16_385, 2_048),
    ("gpt-3.5", 4_096, 1_024),
    ("gpt-4-32k", 32_768, 4_096),
    ("gpt-4-turbo", 128_000, 8_000),
    ("gpt-4o", 128_000, 8_000),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4", 8_192, 2_048),
    ("gpt-5", 400_000, 32_768),
    ("o1", 200_000, 32_768),
    ("o3", 200_000, 32_768),
    ("o4", 200_000, 32_768),
    ("mistral-", 128_000, 8_000),
    ("gemini-", 1_048_576, 8_192),
    ("llama3.1", 32_768, 2_048),
    ("llama3.2", 32_768, 2_048),
    ("mistral", 32_768, 2_048),
    ("codellama", 16_384, 1_024),
    ("", 8_192, 2_048),
];

/// The limits of a model, by the beginning of its name without a provider in front.
pub fn limits(model: &str) -> Limits {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let row =
        MODELS.iter().find(|(prefix, ..)| name.starts_with(prefix)).unwrap_or(&MODELS[MODELS.len() - 1]);
    Limits { window: row.1, reserve: row.2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_name_stands_before_the_shorter() {
        for (later, (name, ..)) in MODELS.iter().enumerate() {
            let first = MODELS.iter().position(|(prefix, ..)| name.starts_with(prefix));
            assert_eq!(first, Some(later), "{name} is never reached");
        }
    }
}
