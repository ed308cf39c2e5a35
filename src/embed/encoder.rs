//! A model in memory: texts in, vectors out.

use super::error::EmbedError;
use super::input_type::InputType;
use super::model::{Engine, Model, Pooling};
use super::model_dir::{InstalledModel, ModelDir, TOKENIZER_FILE};
use super::model_files::ModelFiles;
use super::use_multilingual::{MODEL_FILE, UseMultilingual};
use super::workload::Workload;
use super::{chunking, onnx_runtime, vocabulary};
use crate::config::Settings;
use crate::error::{Context, Error, Result};
use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use ort::environment::Environment;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, available_parallelism};

/// A loaded model.
pub(super) struct Encoder {
    /// One worker with all threads, or one for each thread.
    workers: Vec<Worker>,
    tokenizer: Arc<dyn chunking::Tokens>,
    window: usize,
    dim: Option<usize>,
    query: String,
    passage: String,
    /// The number of texts that are embedded at once.
    batch: usize,
    /// The fraction by which the texts of a batch may be padded to one length.
    slack: f64,
}

/// The most texts, and the most tokens, that are embedded at once: more is not faster, needs memory, and lets
/// a question that comes between wait.
const MAX_BATCH_TEXTS: usize = 32;
const MAX_BATCH_TOKENS: usize = 512;

/// Texts of exactly one length have the same vector alone and together, to the bit. If many are embedded,
/// some may be padded by this fraction of their length, which changes the seventh digit.
const PADDING_SLACK: f64 = 0.1;

/// The same where texts of different lengths are computed together without padding.
const UNPADDED_SLACK: f64 = 1.0;

/// Each thread may have its own copy of a model of at most this many bytes.
const MAX_COPIED_WEIGHTS: u64 = 256 << 20;

/// The operators of a graph that rounds by the range of the whole batch, so that a text's vector depends on
/// its batch: such texts are embedded one by one.
const DYNAMIC_QUANTIZATION_OPS: [&[u8]; 3] =
    [b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"MatMulInteger"];

/// A model with threads of its own, which takes a batch at a time.
struct Worker {
    /// Held by whoever gets the model next: who embeds a batch after the other lets others come between.
    next: Mutex<()>,
    model: Mutex<TextModel>,
}

/// A model that makes vectors of texts which fit the window.
enum TextModel {
    OnnxRuntime(Box<TextEmbedding>),
    UseMultilingual(Arc<UseMultilingual>),
}

impl Worker {
    fn new(model: TextModel) -> Worker {
        Worker { next: Mutex::new(()), model: Mutex::new(model) }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        // `next` before `model`. A mutex is not fair: with `model` alone, a thread with many batches shuts
        // out the others.
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        drop(next);
        match &mut *model {
            TextModel::OnnxRuntime(model) => model.embed(texts, Some(texts.len())).context("cannot embed"),
            TextModel::UseMultilingual(model) => model.embed(texts),
        }
    }
}

/// Vectors, each with the index of its chunk.
type IndexedVectors = Vec<(usize, Vec<f32>)>;

impl Encoder {
    /// Loads a model that is installed, in its fast form if it has one. Fails if the model's files are
    /// missing or damaged, or ONNX Runtime cannot be loaded.
    pub(super) fn load(settings: &Settings, installed: &InstalledModel, work: Workload) -> Result<Encoder> {
        let model_dir = ModelDir::from_settings(settings)?;
        installed.check()?;
        if installed.model.engine == Engine::UseMultilingual {
            return Encoder::use_multilingual(settings, installed, work);
        }
        let environment = onnx_runtime::environment(settings)?;
        let form =
            ModelFiles::prepared(&model_dir, installed)?.unwrap_or_else(|| ModelFiles::plain(installed));
        Encoder::from_files(settings, installed, &form, environment, work)
    }

    /// Loads a model that runs without ONNX Runtime. Fails if its file cannot be read.
    pub(super) fn use_multilingual(
        settings: &Settings,
        installed: &InstalledModel,
        work: Workload,
    ) -> Result<Encoder> {
        let name = &installed.model.id;
        let model = UseMultilingual::read(&installed.directory.join(MODEL_FILE)).map_err(|e| {
            e.at(format_args!("cannot load {name}")).hint(format!("rsv-embed --fetch {name}"))
        })?;
        let model = Arc::new(model);
        let count = if work == Workload::Many { threads(settings) } else { 1 };
        let workers = (0..count).map(|_| Worker::new(TextModel::UseMultilingual(model.clone()))).collect();
        Ok(Encoder { slack: UNPADDED_SLACK, ..Encoder::new(&installed.model, workers, model) })
    }

    /// Loads a model from given files. The tokenizer and the graph are read in parallel, since both take
    /// equally long; one after the other if no thread can be started. Fails if one cannot be read.
    pub(super) fn from_files(
        settings: &Settings,
        installed: &InstalledModel,
        form: &ModelFiles,
        environment: Environment,
        work: Workload,
    ) -> Result<Encoder> {
        // Tokenizing is little work; starting threads to share it costs more.
        tokenizers::utils::parallelism::set_parallelism(false);
        let name = &installed.model.id;
        let json = installed.directory.join(TOKENIZER_FILE);
        let (tokenizer, graph) = thread::scope(|scope| {
            let read = || match &form.words {
                Some(directory) => vocabulary::read(directory),
                None => vocabulary::read_tokenizer(&json),
            };
            let thread = thread::Builder::new().spawn_scoped(scope, read);
            let graph = workers(settings, &form.graph, installed.model.pooling, environment, work);
            let broken =
                || Err(EmbedError::Model { fault: "the tokenizer was not read: its thread panicked" }.into());
            let tokenizer = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| broken()),
                Err(_) => read(),
            };
            (tokenizer, graph)
        });
        let remedied =
            |e: Error| e.at(format_args!("cannot load {name}")).hint(format!("rsv-embed --fetch {name}"));
        let (tokenizer, (mut workers, dynamic)) = (tokenizer.map_err(remedied)?, graph.map_err(remedied)?);
        let filled = vocabulary::padded(&tokenizer);
        let slack = if filled.is_some() && work == Workload::Many { PADDING_SLACK } else { 0.0 };
        let filled = filled.unwrap_or_else(|| tokenizer.clone());
        for worker in &mut workers {
            worker.tokenizer = filled.clone();
        }
        let workers = workers.into_iter().map(|model| Worker::new(TextModel::OnnxRuntime(Box::new(model))));
        let encoder = Encoder::new(&installed.model, workers.collect(), Arc::new(tokenizer));
        Ok(Encoder { batch: if dynamic { 1 } else { MAX_BATCH_TEXTS }, slack, ..encoder })
    }

    /// An encoder that pads nothing.
    fn new(model: &Model, workers: Vec<Worker>, tokenizer: Arc<dyn chunking::Tokens>) -> Encoder {
        Encoder {
            workers,
            tokenizer,
            window: model.window,
            dim: model.dim,
            query: model.query.clone(),
            passage: model.passage.clone(),
            batch: MAX_BATCH_TEXTS,
            slack: 0.0,
        }
    }

    /// Embeds `texts`: one vector of `dim` floats each, in order, of length 1. Fails if the model does, or
    /// makes a vector of another dimension.
    pub(super) fn embed(&self, texts: &[&str], input_type: InputType) -> Result<Vec<Vec<f32>>> {
        let prefix = if input_type == InputType::Query { self.query.clone() } else { self.passage.clone() };
        let mut split = Vec::with_capacity(texts.len());
        for text in texts {
            split.push(chunking::split(&*self.tokenizer, &prefix, text, self.window)?);
        }
        let all: Vec<&chunking::TextChunk> = split.iter().flatten().collect();
        let mut vectors = self.by_length(&all)?.into_iter();
        let whole = split.iter().map(|chunks| {
            let vectors: Vec<Vec<f32>> = vectors.by_ref().take(chunks.len()).collect();
            self.check_vector(chunking::join(chunks, vectors))
        });
        whole.collect()
    }

    /// The vectors of chunks: those of similar length together, each worker taking the next batch.
    fn by_length(&self, all: &[&chunking::TextChunk]) -> Result<Vec<Vec<f32>>> {
        let batches = self.batches(all);
        let next = AtomicUsize::new(0);
        let work = |worker: &Worker| -> Result<IndexedVectors> {
            let mut done = Vec::new();
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let texts: Vec<&str> = batch.iter().map(|at| all[*at].text.as_str()).collect();
                let made = worker.embed(&texts)?;
                if made.len() != batch.len() {
                    return Err(EmbedError::Model { fault: "the model returned too few vectors" }.into());
                }
                done.extend(batch.iter().copied().zip(made));
            }
            Ok(done)
        };
        let done: Vec<Result<IndexedVectors>> = match &self.workers[..] {
            [worker] => vec![work(worker)],
            workers => thread::scope(|scope| {
                let work = &work;
                let start = |worker| thread::Builder::new().spawn_scoped(scope, move || work(worker));
                let mut workers = workers.iter();
                let own = workers.next();
                // A worker that gets no thread leaves its batches to the others.
                let running: Vec<_> = workers.map_while(|worker| start(worker).ok()).collect();
                let own = own.map(work);
                let broken = || Err(EmbedError::Model { fault: "a thread that embeds panicked" }.into());
                let others = running.into_iter().map(|worker| worker.join().unwrap_or_else(|_| broken()));
                own.into_iter().chain(others).collect()
            }),
        };
        let mut vectors = vec![Vec::new(); all.len()];
        for done in done {
            for (at, vector) in done? {
                vectors[at] = vector;
            }
        }
        Ok(vectors)
    }

    /// Batches of chunks, by their indices.
    fn batches(&self, all: &[&chunking::TextChunk]) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| all[*at].tokens);
        let (mut batches, mut rest) = (Vec::new(), &order[..]);
        while let Some(first) = rest.first() {
            let shortest = all[*first].tokens.max(1);
            let longest = (shortest as f64 * (1.0 + self.slack)) as usize;
            let most = self.batch.min(MAX_BATCH_TOKENS / longest).max(1);
            let same_length = rest.iter().take(most).take_while(|at| all[**at].tokens <= longest).count();
            let (batch, others) = rest.split_at(same_length.max(1));
            batches.push(batch.to_vec());
            rest = others;
        }
        // The longest first, so that no worker is left alone with them.
        batches.reverse();
        batches
    }

    /// Errors if a vector does not have `dim` numbers and length 1.
    fn check_vector(&self, vector: Vec<f32>) -> Result<Vec<f32>> {
        // The dimension of a model that is being fetched may not be known yet: `prepare` finds it.
        let dim = self.dim.unwrap_or(vector.len());
        if vector.len() != dim {
            return Err(EmbedError::Dimension { found: vector.len(), dim }.into());
        }
        let length: f32 = vector.iter().map(|x| x * x).sum();
        if !length.is_finite() || (length - 1.0).abs() > 1e-3 {
            let fault = "the model returned a vector that is not finite or is zero";
            return Err(EmbedError::Model { fault }.into());
        }
        Ok(vector)
    }
}

/// The graph, ready to run, and whether it rounds by the batch. Threads with a batch each are faster than
/// threads that share one, as long as each can have weights of its own.
fn workers(
    settings: &Settings,
    graph: &Path,
    pooling: Pooling,
    environment: Environment,
    work: Workload,
) -> Result<(Vec<TextEmbedding>, bool)> {
    let bytes = fs::read(graph).context(format_args!("cannot read {}", graph.display()))?;
    let dynamic = DYNAMIC_QUANTIZATION_OPS.iter().any(|name| memchr::memmem::find(&bytes, name).is_some());
    let directory = graph.parent().unwrap_or(Path::new("."));
    let threads = threads(settings);
    let per_thread = work == Workload::Many && directory_size(directory) <= MAX_COPIED_WEIGHTS;
    let (count, each) = if per_thread { (threads, 1) } else { (1, threads) };
    let mut options = InitOptionsUserDefined::new()
        .with_environment(environment)
        .with_max_length(usize::MAX)
        .with_intra_threads(each)
        .with_session_config(
            "session.model_external_initializers_file_folder_path",
            directory.to_string_lossy().into_owned(),
        );
    if work == Workload::Few {
        // Weights are used where they are mapped. Packed they are a fifth faster, once that is paid for.
        options = options.with_session_config("session.disable_prepacking", "1");
    }
    let pooling = match pooling {
        Pooling::Cls => fastembed::Pooling::Cls,
        Pooling::Mean => fastembed::Pooling::Mean,
    };
    let model = UserDefinedEmbeddingModel::new(bytes, no_tokenizer()).with_pooling(pooling);
    let load = |_| TextEmbedding::try_new_from_user_defined(model.clone(), options.clone());
    let loaded: fastembed::Result<Vec<TextEmbedding>> = (0..count).map(load).collect();
    loaded.map(|loaded| (loaded, dynamic)).context("the model cannot be used")
}

/// The number of threads that may embed.
fn threads(settings: &Settings) -> usize {
    let threads = settings.integer("embed.threads").and_then(|n| usize::try_from(n).ok());
    threads.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get))
}

fn directory_size(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// The smallest tokenizer that fastembed accepts, until ours replaces it.
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
