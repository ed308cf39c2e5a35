//! Text into tokens, quickly: a tokenizer of words in pieces (BERT's) is read from a list of its words in a
//! quarter of the time that its JSON takes.

use super::error::EmbedError;
use crate::error::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, PaddingParams, Tokenizer};

/// The list of words, a line each, and all else that makes the tokenizer.
pub(super) const WORDS_FILE: &str = "vocab.txt";
pub(super) const RULES_FILE: &str = "rules.json";

/// The rules that make a tokenizer of a list of words.
#[derive(Serialize, Deserialize)]
struct Rules {
    /// The token for a word that the list does not make up.
    unknown: Option<String>,
    /// The longest word that is looked up, in characters.
    longest: Option<usize>,
    clean: Option<bool>,
    chinese: Option<bool>,
    accents: Option<bool>,
    lower: Option<bool>,
    /// The tokens before and after each text.
    first: String,
    last: String,
    /// Tokens that are never cut.
    added: Vec<String>,
}

/// Texts on which both forms must agree before the fast one is used.
const PROBE_TEXTS: [&str; 6] = [
    "Where do the tomatoes stand this year?",
    "naïve CAFÉ ﬁancé Straße İstanbul",
    "犬は速い。 نص عربي русский हिन्दी",
    "e-mail: a.b@example.org (№ 5), 3.14 \u{0}\u{200b}\t\n\u{1F600}",
    "[CLS] is no [SEP] and [MASK] no [PAD] or [UNK]",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
];

/// Reads a tokenizer's JSON; it neither cuts nor pads. Fails if the file cannot be read.
pub(super) fn read_tokenizer(path: &Path) -> Result<Tokenizer> {
    let read = Tokenizer::from_file(path);
    let mut tokenizer = read.context(format_args!("cannot read {}", path.display()))?;
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).context("cannot use the tokenizer")?;
    Ok(tokenizer)
}

/// The same tokenizer, which fills texts up that are taken together; `None` if it has no token for that.
pub(super) fn padded(tokenizer: &Tokenizer) -> Option<Tokenizer> {
    let (token, id) =
        ["[PAD]", "<pad>"].iter().find_map(|token| Some((*token, tokenizer.token_to_id(token)?)))?;
    let mut padded = tokenizer.clone();
    padded.with_padding(Some(PaddingParams {
        pad_id: id,
        pad_token: token.to_owned(),
        ..PaddingParams::default()
    }));
    Some(padded)
}

/// Writes the fast form of a tokenizer into a directory, if it has one; whether it does. Fails if a file
/// cannot be read or written.
pub(super) fn prepare(json: &Path, directory: &Path) -> Result<bool> {
    let slow = read_tokenizer(json)?;
    let bytes = fs::read(json).context(format_args!("cannot read {}", json.display()))?;
    let Some((words, rules)) = serde_json::from_slice(&bytes).ok().and_then(|json| simple(&json)) else {
        return Ok(false);
    };
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).context(format_args!("cannot write {}", path.display()))
    };
    write(WORDS_FILE, &words)?;
    write(RULES_FILE, &json!(rules).to_string())?;
    let fast = read(directory)?;
    let same = |text: &&str| ids(&slow, text) == ids(&fast, text);
    if PROBE_TEXTS.iter().all(same) {
        return Ok(true);
    }
    let _ = (fs::remove_file(directory.join(WORDS_FILE)), fs::remove_file(directory.join(RULES_FILE)));
    Ok(false)
}

fn ids(tokenizer: &Tokenizer, text: &str) -> Option<Vec<u32>> {
    // Two failures count as the same: the slow form would fail at the text as well.
    tokenizer.encode(text, true).ok().map(|encoding| encoding.get_ids().to_vec())
}

/// The words and rules of a tokenizer's JSON, if they can express all of it.
fn simple(json: &Value) -> Option<(String, Rules)> {
    let (model, normalizer) = (&json["model"], &json["normalizer"]);
    let plain = model["type"] == "WordPiece"
        && model["continuing_subword_prefix"] == "##"
        && normalizer["type"] == "BertNormalizer"
        && json["pre_tokenizer"]["type"] == "BertPreTokenizer";
    if !plain {
        return None;
    }
    let vocabulary = model["vocab"].as_object()?;
    let mut words = vec![""; vocabulary.len()];
    for (word, n) in vocabulary {
        *words.get_mut(usize::try_from(n.as_u64()?).ok()?)? = word;
    }
    let added = json["added_tokens"].as_array()?;
    let added = added.iter().filter_map(|token| token["content"].as_str().map(str::to_owned));
    let rules = Rules {
        unknown: model["unk_token"].as_str().map(str::to_owned),
        longest: model["max_input_chars_per_word"].as_u64().and_then(|n| usize::try_from(n).ok()),
        clean: normalizer["clean_text"].as_bool(),
        chinese: normalizer["handle_chinese_chars"].as_bool(),
        accents: normalizer["strip_accents"].as_bool(),
        lower: normalizer["lowercase"].as_bool(),
        first: "[CLS]".to_owned(),
        last: "[SEP]".to_owned(),
        added: added.collect(),
    };
    Some((words.join("\n") + "\n", rules))
}

/// Reads the fast form. Fails if its files are missing or damaged.
pub(super) fn read(directory: &Path) -> Result<Tokenizer> {
    let damaged = |name: &str| EmbedError::Damaged { path: directory.join(name) };
    let invalid = |name: &str, source| EmbedError::Invalid { path: directory.join(name), source };
    let rules: Option<Rules> = super::model::read(&directory.join(RULES_FILE))?;
    let rules = rules.ok_or_else(|| damaged(RULES_FILE))?;
    let path = directory.join(WORDS_FILE);
    // Missing rules have the defaults of WordPiece and BertNormalizer in `tokenizers`.
    let words = WordPiece::from_file(&path.to_string_lossy());
    let words = words.unk_token(rules.unknown.unwrap_or_else(|| "[UNK]".to_owned()));
    let words = words.max_input_chars_per_word(rules.longest.unwrap_or(100)).build();
    let words = words.map_err(|e| invalid(WORDS_FILE, e))?;
    let mut tokenizer = Tokenizer::new(words);
    let special = |token: String| -> Result<(String, u32)> {
        let id = tokenizer.token_to_id(&token).ok_or_else(|| damaged(WORDS_FILE))?;
        Ok((token, id))
    };
    let around = BertProcessing::new(special(rules.last)?, special(rules.first)?);
    let yes = |rule: Option<bool>| rule.unwrap_or(true);
    let normalizer =
        BertNormalizer::new(yes(rules.clean), yes(rules.chinese), rules.accents, yes(rules.lower));
    tokenizer.with_normalizer(Some(normalizer)).map_err(|e| invalid(RULES_FILE, e))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(around));
    let added: Vec<AddedToken> = rules.added.into_iter().map(|token| AddedToken::from(token, true)).collect();
    tokenizer.add_special_tokens(added).map_err(|e| invalid(RULES_FILE, e))?;
    Ok(tokenizer)
}
