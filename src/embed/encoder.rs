//! A model in memory: texts in, vectors out.

use super::library;
use super::model::Pooling;
use super::shelf::{self, GRAPH, Installed, Shelf, TOKENIZER};
use super::{Side, Work, pieces, vocabulary};
use crate::config::Settings;
use crate::error::{Context, Error, Result};
use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use ort::environment::Environment;
use std::fs;
use std::path::{Path, PathBuf};
use tokenizers::Tokenizer;

/// A loaded model.
pub(super) struct Encoder {
    inner: TextEmbedding,
    tokenizer: Tokenizer,
    window: usize,
    dim: Option<usize>,
    query: String,
    passage: String,
    /// How many texts of one length are embedded at once.
    batch: usize,
}

/// The most texts, and the most tokens, that are embedded at once: more is not faster, and needs memory.
const BATCH: usize = 32;
const BATCH_TOKENS: usize = 8192;

/// What shows that a graph rounds by the range of the whole batch, so that a text's vector depends on its
/// company: such texts are embedded one by one.
const DYNAMIC: [&[u8]; 3] = [b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"MatMulInteger"];

/// Where the files lie from which a model is loaded.
pub(super) struct Form {
    pub(super) graph: PathBuf,
    /// The directory of the tokenizer's fast form; none if it has to be read from its JSON.
    pub(super) words: Option<PathBuf>,
}

impl Form {
    /// The files as they were fetched.
    pub(super) fn plain(installed: &Installed) -> Form {
        Form { graph: installed.directory.join(GRAPH), words: None }
    }

    /// The fast form, if there is one; an error if there is and it cannot be used.
    pub(super) fn prepared(shelf: &Shelf, installed: &Installed) -> Result<Option<Form>> {
        let directory = shelf.prepared(installed, library::build());
        Form::of(&directory).map_err(|e| e.hint(format!("rsv-embed --fetch {}", installed.model.id)))
    }

    /// What a directory of the cache holds.
    pub(super) fn of(directory: &Path) -> Result<Option<Form>> {
        let Some(json) = super::model::read(&directory.join(super::prepare::DESCRIPTION))? else {
            return Ok(None);
        };
        let files = shelf::entries(&json["files"]).unwrap_or_default();
        shelf::check(directory, &files)?;
        let words = files.contains_key(vocabulary::WORDS).then(|| directory.to_owned());
        Ok(Some(Form { graph: directory.join(GRAPH), words }))
    }
}

impl Encoder {
    /// Loads a model that is installed, in its fast form if it has one.
    pub(super) fn load(settings: &Settings, installed: &Installed, work: Work) -> Result<Encoder> {
        let shelf = Shelf::of(settings)?;
        installed.check()?;
        let environment = library::environment(settings)?;
        let form = Form::prepared(&shelf, installed)?.unwrap_or_else(|| Form::plain(installed));
        Encoder::of(settings, installed, &form, environment, work)
    }

    /// Loads a model from given files. The tokenizer is read beside the graph, since both take as long.
    pub(super) fn of(
        settings: &Settings,
        installed: &Installed,
        form: &Form,
        environment: Environment,
        work: Work,
    ) -> Result<Encoder> {
        let name = &installed.model.id;
        let json = installed.directory.join(TOKENIZER);
        let (tokenizer, graph) = std::thread::scope(|scope| {
            let tokenizer = scope.spawn(|| match &form.words {
                Some(directory) => vocabulary::read(directory),
                None => vocabulary::of_json(&json),
            });
            let graph = session(settings, &form.graph, installed.model.pooling, environment, work);
            let broken = || Err(Error::new("reading the tokenizer was cut short"));
            (tokenizer.join().unwrap_or_else(|_| broken()), graph)
        });
        let remedied =
            |e: Error| e.at(format_args!("cannot load {name}")).hint(format!("rsv-embed --fetch {name}"));
        let (tokenizer, (mut inner, dynamic)) = (tokenizer.map_err(remedied)?, graph.map_err(remedied)?);
        inner.tokenizer = tokenizer.clone();
        let model = &installed.model;
        Ok(Encoder {
            inner,
            tokenizer,
            window: model.window,
            dim: model.dim,
            query: model.query.clone(),
            passage: model.passage.clone(),
            batch: if dynamic { 1 } else { BATCH },
        })
    }

    /// The vectors of texts, in their order, each of length 1.
    pub(super) fn embed(&mut self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        let prefix = if side == Side::Query { self.query.clone() } else { self.passage.clone() };
        let mut split = Vec::with_capacity(texts.len());
        for text in texts {
            split.push(pieces::split(&self.tokenizer, &prefix, text, self.window)?);
        }
        let all: Vec<&pieces::Piece> = split.iter().flatten().collect();
        let mut vectors = self.by_length(&all)?.into_iter();
        let whole = split.iter().map(|pieces| {
            let vectors: Vec<Vec<f32>> = vectors.by_ref().take(pieces.len()).collect();
            self.checked(pieces::join(pieces, vectors))
        });
        whole.collect()
    }

    /// The vectors of pieces: those of one length together, so that nothing is filled up and a vector is the
    /// same in any company.
    fn by_length(&mut self, all: &[&pieces::Piece]) -> Result<Vec<Vec<f32>>> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| all[*at].tokens);
        let mut vectors = vec![Vec::new(); all.len()];
        for alike in order.chunk_by(|a, b| all[*a].tokens == all[*b].tokens) {
            let tokens = all[alike[0]].tokens.max(1);
            for batch in alike.chunks(self.batch.min(BATCH_TOKENS / tokens).max(1)) {
                let texts: Vec<&str> = batch.iter().map(|at| all[*at].text.as_str()).collect();
                let made = self.inner.embed(&texts, Some(texts.len())).context("cannot embed")?;
                if made.len() != batch.len() {
                    return Err(Error::new("the model made too few vectors"));
                }
                batch.iter().zip(made).for_each(|(at, vector)| vectors[*at] = vector);
            }
        }
        Ok(vectors)
    }

    /// Refuses what is no vector of this model.
    fn checked(&self, vector: Vec<f32>) -> Result<Vec<f32>> {
        let dim = self.dim.unwrap_or(vector.len());
        if vector.len() != dim {
            return Err(Error::new(format!("the model made {} numbers instead of {dim}", vector.len())));
        }
        let length: f32 = vector.iter().map(|x| x * x).sum();
        if !length.is_finite() || (length - 1.0).abs() > 1e-3 {
            return Err(Error::new("the model made a vector that is not finite, or nothing but zeros"));
        }
        Ok(vector)
    }
}

/// The graph, ready to run, and whether it rounds by the batch.
fn session(
    settings: &Settings,
    graph: &Path,
    pooling: Pooling,
    environment: Environment,
    work: Work,
) -> Result<(TextEmbedding, bool)> {
    let bytes = fs::read(graph).context(format_args!("cannot read {}", graph.display()))?;
    let dynamic = DYNAMIC.iter().any(|name| memchr::memmem::find(&bytes, name).is_some());
    let directory = graph.parent().unwrap_or(Path::new(".")).to_string_lossy().into_owned();
    let threads = settings.integer("embed.threads").and_then(|n| usize::try_from(n).ok());
    let mut options = InitOptionsUserDefined::new()
        .with_environment(environment)
        .with_max_length(usize::MAX)
        .with_session_config("session.model_external_initializers_file_folder_path", directory);
    options.intra_threads = threads;
    if work == Work::Few {
        // Weights are used where they are mapped. Packed they are a fifth faster, once that is paid for.
        options = options.with_session_config("session.disable_prepacking", "1");
    }
    let pooling = match pooling {
        Pooling::Cls => fastembed::Pooling::Cls,
        Pooling::Mean => fastembed::Pooling::Mean,
    };
    let model = UserDefinedEmbeddingModel::new(bytes, no_tokenizer()).with_pooling(pooling);
    let loaded = TextEmbedding::try_new_from_user_defined(model, options);
    loaded.map(|loaded| (loaded, dynamic)).map_err(|e| Error::new("the model cannot be used").because(e))
}

/// The least that fastembed takes for a tokenizer, until ours is put in its place.
fn no_tokenizer() -> TokenizerFiles {
    let tokenizer = r###"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"WordPiece",
        "unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":1,"vocab":{"[UNK]":0}}}"###;
    TokenizerFiles {
        tokenizer_file: tokenizer.into(),
        config_file: r#"{"pad_token_id":0}"#.into(),
        special_tokens_map_file: "{}".into(),
        tokenizer_config_file: r#"{"model_max_length":512,"pad_token":"[PAD]"}"#.into(),
    }
}
