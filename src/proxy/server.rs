//! The proxy from its settings to its end: it puts the parts together, serves, and stores the answered turns.

use super::backend::{AiChatApi, ChatPage, DocumentsApi, ModelsApi, SessionsApi, chat_turn};
use super::command::CommandApi;
use super::config::ProxyConfig;
use super::connections::Connections;
use super::embeddings::EmbeddingsApi;
use super::error::ProxyFault;
use super::exposition::MetricsApi;
use super::health::HealthApi;
use super::http::{ConnectionLimits, Guard, LogFormat, RequestLog, TrustedProxies, Upstream};
use super::mcp::McpApi;
use super::metrics::Metrics;
use super::pages::PagesApi;
use super::router::Router;
use super::state::ProxyParts;
use super::stop_signals::StopSignals;
use super::turn::{ChatApi, OllamaApi, Passthrough, TurnPipeline};
use super::worker::{
    AuditQueue, AutoCommit, Backfill, BlockingPool, Budgets, DescribeJobs, DocumentJobs, Foreground,
    SessionCommits, SharedEmbedder, Spool, StorePool, StoreQueue, Upload, WorkerFault, embedder,
};
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::doctor;
use crate::enrich::ClientProject;
use crate::error::{Context, Result};
use crate::forward::Forwarder;
use crate::http::EventLoops;
use crate::provider::ServedWindows;
use crate::record::{Clock, RequestScope};
use crate::redact::Redactor;
use crate::text::counted;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

/// The default of the time for which a client may be silent.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time after which a store that does not answer is reported when the proxy starts.
const STORE_REPORT_DELAY: Duration = Duration::from_secs(2);

/// A proxy that is configured, and not started yet.
pub struct Proxy {
    pub(super) config: ProxyConfig,
    pub(super) guard: Guard,
    trusted: TrustedProxies,
    pub(super) upstream: Upstream,
    /// The scope of requests that name none.
    scope: RequestScope,
    forwarder: Forwarder,
    windows: ServedWindows,
    limits: ConnectionLimits,
    /// A permit for each request to a provider that may be in transit.
    provider_permits: Arc<Semaphore>,
    log_format: LogFormat,
    spool: Spool,
    /// The command that parses an uploaded file.
    parser: Vec<OsString>,
    /// Whether the page of the chat backend is served.
    serves_page: bool,
}

/// A proxy that serves.
struct Server {
    parts: Arc<ProxyParts>,
    router: Arc<Router>,
    audit: Arc<AuditQueue>,
    budgets: Arc<Budgets>,
}

impl Proxy {
    /// Takes everything from the settings, and raises the limit of descriptors; nothing is opened yet. Errors
    /// name the setting.
    pub fn new(
        settings: Settings,
        scope: RequestScope,
        clock: Clock,
        diagnostics: Diagnostics,
    ) -> Result<Proxy> {
        let redactor = Redactor::from_settings(&settings)?;
        let chat_settings = chat_turn::settings_of_turns(&settings)?;
        let (project, metrics) = (None, Metrics::new());
        let config = ProxyConfig { settings, chat_settings, clock, diagnostics, redactor, project, metrics };
        let ProxyConfig { settings, diagnostics, .. } = &config;
        let max_clients = config.limit("proxy.connections").unwrap_or(Semaphore::MAX_PERMITS);
        let limits = ConnectionLimits::claim(max_clients);
        let permits = Arc::new(Semaphore::new(limits.answers));
        Ok(Proxy {
            forwarder: Forwarder::new(settings, diagnostics)?.limited(&permits),
            windows: ServedWindows::new(settings)?,
            upstream: Upstream::new(settings, diagnostics, &permits)?,
            provider_permits: permits,
            guard: Guard::new(settings, None, diagnostics)?,
            trusted: TrustedProxies::from_settings(settings)?,
            scope,
            limits,
            log_format: LogFormat::None,
            spool: Spool::new(config.settings.spool_directory()),
            parser: Vec::new(),
            serves_page: false,
            config,
        })
    }

    /// How many connections it may have.
    pub fn limits(&self) -> ConnectionLimits {
        self.limits
    }

    /// Admits the callers that have a token of a file. Errors if a line of it is no token.
    pub fn admitting(mut self, tokens: Option<PathBuf>) -> Result<Proxy> {
        self.guard = Guard::new(&self.config.settings, tokens, &self.config.diagnostics)?;
        Ok(self)
    }

    /// Logs every request on standard error.
    pub fn logging(mut self, format: LogFormat) -> Proxy {
        self.log_format = format;
        self
    }

    /// Parses uploaded files by a command: rsv-parse, with the settings of the proxy.
    pub fn parsing_by(mut self, command: Vec<OsString>) -> Proxy {
        self.parser = command;
        self
    }

    /// Compares the files that messages name with those of a project in which all clients work.
    pub fn of_project(mut self, project: Option<ClientProject>) -> Proxy {
        self.config.project = project;
        self
    }

    /// Serves the page of the chat backend too, at `/chat`.
    pub fn with_chat_page(mut self, is_served: bool) -> Proxy {
        self.serves_page = is_served;
        self
    }

    /// Serves on `address` until `work` ends, and returns its result; accepted requests are answered and
    /// stored first. `work` gets the address that was bound, and the signals that ask for the end. Errors if
    /// it cannot listen there, or if a turn that was answered could not be stored.
    pub async fn serve<T>(
        mut self,
        address: SocketAddr,
        work: impl AsyncFnOnce(SocketAddr, &mut StopSignals) -> Result<T>,
    ) -> Result<T> {
        self.may_listen(address)?;
        if address.port() != 0 {
            // This error names the owner of the port, which the error of listening does not.
            self.upstream.check_not_own(address)?;
        }
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|why| doctor::cannot_listen(address, &why))?;
        let mut signals = StopSignals::new()?;
        let bound = listener.local_addr().context("cannot determine the address")?;
        self.upstream.check_not_own(bound)?;
        if embedder::is_own_address(&self.config.settings, bound) {
            self.config.settings.set_override("embed.via", "--listen", "local")?;
        }
        let max_clients = self.limits.clients;
        let server = self.start()?;
        let loops = Arc::new(EventLoops::start()?);
        let (end, ended) = oneshot::channel();
        let connections = Connections::new(server.router.clone(), loops.clone(), max_clients);
        let accepting = tokio::spawn(connections.accept_until(listener, ended));
        let done = {
            let (work, report) = (work(bound, &mut signals), server.report_store());
            tokio::pin!(work);
            tokio::select! {
                biased;
                done = &mut work => done,
                () = report => work.await,
            }
        };
        drop(end);
        let graceful = accepting.await.context(WorkerFault::Panicked)?;
        tokio::select! {
            () = graceful.shutdown() => {}
            // After a second signal, pending answers are not awaited.
            _ = signals.recv() => {}
        }
        server.finish().await?;
        done
    }

    /// Errors if anybody could send requests to this address.
    pub(super) fn may_listen(&self, address: SocketAddr) -> Result<()> {
        let why = match (address.ip().is_loopback(), self.guard.has_public_address()) {
            _ if self.guard.needs_token() => return Ok(()),
            (true, false) => return Ok(()),
            (true, true) => "proxy.public_url is an address for others".to_owned(),
            (false, _) => format!("{address} is not a loopback address"),
        };
        Err(ProxyFault::Reachable { why }.into())
    }

    /// Starts the work beside requests, and puts the routes together. Errors if the system gives no random
    /// bytes.
    fn start(self) -> Result<Server> {
        let Proxy { config, guard, trusted, upstream, scope, forwarder, windows, limits, log_format, .. } =
            self;
        let Proxy { spool, parser, serves_page, provider_permits, .. } = self;
        let idle_timeout = config.settings.duration("proxy.idle_timeout").unwrap_or(DEFAULT_IDLE_TIMEOUT);
        let upstream = Arc::new(upstream);
        let parts = Arc::new(start_workers(config, &spool, parser, limits, provider_permits));
        let ProxyParts { config, blocking, foreground, stores, queue, embedder, commits, .. } = &*parts;
        let pipeline = TurnPipeline::new(config, blocking, stores, embedder, queue, forwarder, windows);
        let pipeline = Arc::new(pipeline.committing(&parts.auto_commit));
        let jobs = &parts.document_jobs;
        let documents = DocumentsApi::new(config, blocking, stores, &spool, jobs, idle_timeout);
        let audit = Arc::new(AuditQueue::new(config, blocking, stores)?);
        let budgets = Arc::new(Budgets::new(config, stores));
        let router = Router {
            audit: audit.clone(),
            guard,
            trusted,
            budgets: budgets.clone(),
            scope,
            log: RequestLog::new(log_format, config.diagnostics.clone()),
            max_body: config.settings.max_line(),
            idle_timeout,
            chat: ChatApi::new(config, &pipeline),
            ollama: OllamaApi::new(config, &upstream, &pipeline),
            passthrough: Passthrough::new(&upstream),
            embeddings: Arc::new(EmbeddingsApi::new(blocking, foreground, embedder)),
            commands: Arc::new(CommandApi::new(config, blocking, foreground, stores, embedder)),
            mcp: McpApi::new(config),
            models: ModelsApi::new(config, &upstream),
            health: HealthApi::new(&parts, &upstream),
            metrics: MetricsApi::new(&parts),
            documents: Arc::new(documents),
            ai_chat: AiChatApi::new(config, &pipeline, stores, &spool),
            sessions: SessionsApi::new(config, blocking, stores, queue, commits),
            pages: PagesApi::new(config, stores, queue, embedder, idle_timeout, serves_page),
            chat_page: ChatPage::new(serves_page, &config.settings),
            config: config.clone(),
        };
        Ok(Server { router: Arc::new(router), audit, budgets, parts })
    }
}

/// Starts the work beside requests: unfinished uploads, commits and descriptions of an earlier run continue.
fn start_workers(
    config: ProxyConfig,
    spool: &Spool,
    parser: Vec<OsString>,
    limits: ConnectionLimits,
    provider_permits: Arc<Semaphore>,
) -> ProxyParts {
    let config = Arc::new(config);
    let (blocking, foreground) = (BlockingPool::current(), Arc::new(Foreground::default()));
    let stores = Arc::new(StorePool::new(&config, &blocking, &foreground));
    let embedder = Arc::new(SharedEmbedder::new(&config, &blocking, &stores));
    let backfill = Arc::new(Backfill::new(&config, &blocking, &foreground, &stores, &embedder));
    let queue = Arc::new(StoreQueue::new(&config, &blocking, &foreground, &stores, &backfill));
    let commits = Arc::new(SessionCommits::new(&config, &stores, &embedder));
    let auto_commit = AutoCommit::new(&config, &blocking, &foreground, &stores, &queue, &commits);
    let auto_commit = Arc::new(auto_commit);
    auto_commit.resume();
    backfill.wake();
    let wake = backfill.clone();
    let describe_jobs = DescribeJobs::new(&config, &blocking, &foreground, &stores, move || wake.wake());
    let describe_jobs = Arc::new(describe_jobs);
    describe_jobs.resume();
    let (wake, describing) = (backfill.clone(), describe_jobs.clone());
    let on_stored = move |upload: &Upload| {
        wake.wake();
        describing.add(&upload.user_id, &upload.uri);
    };
    let document_jobs = DocumentJobs::new(&config, &blocking, &stores, spool, parser, on_stored);
    let document_jobs = Arc::new(document_jobs);
    document_jobs.resume();
    ProxyParts {
        config,
        blocking,
        foreground,
        stores,
        may_read: Arc::new(Semaphore::new(1)),
        queue,
        embedder,
        backfill,
        commits,
        auto_commit,
        document_jobs,
        describe_jobs,
        limits,
        provider_permits,
    }
}

impl Server {
    /// Reports a store that cannot be used now: the proxy serves all the same, so that only the lack of
    /// memory in its answers would show it.
    async fn report_store(&self) {
        let ProxyConfig { settings, diagnostics, .. } = &*self.parts.config;
        let examined = self.parts.stores.examine();
        tokio::pin!(examined);
        let mut result = tokio::time::timeout(STORE_REPORT_DELAY, &mut examined).await;
        if result.is_err() {
            // It is being opened, so that it has an address.
            let address = settings.store().map(|place| place.address).unwrap_or_default();
            diagnostics.note(format_args!(
                "store {address} has not answered yet; requests continue without memory until it does"
            ));
            result = Ok(examined.await);
        }
        match result {
            Ok(Ok(unreadable)) => {
                for error in unreadable {
                    diagnostics.note(error);
                }
            }
            Ok(Err(error)) => {
                let hint = error.remedy().map(|hint| format!("; {hint}")).unwrap_or_default();
                diagnostics.note(format_args!(
                    "{error}; requests continue without memory, and turns wait to be stored, until that changes{hint}"
                ));
            }
            Err(_) => {}
        }
    }

    /// Stores the answered turns, and closes the store: tasks that wait for something hold it open until the
    /// process has ended, which then leaves a log beside the file.
    async fn finish(&self) -> Result<()> {
        let ProxyParts { config, stores, queue, backfill, auto_commit, describe_jobs, .. } = &*self.parts;
        let (lost, (), lost_rows) = tokio::join!(queue.finish(), describe_jobs.finish(), self.audit.finish());
        if !backfill.finish().await {
            config.diagnostics.note("not all messages have a vector yet: rsv-embed --pending");
        }
        auto_commit.finish().await;
        self.budgets.finish().await;
        queue.close();
        self.audit.close();
        stores.close();
        match lost {
            0 if lost_rows > 0 => Err(ProxyFault::LostRows { rows: counted(lost_rows, "row") }.into()),
            0 => Ok(()),
            1 => Err(ProxyFault::LostTurn.into()),
            count => Err(ProxyFault::LostTurns { count }.into()),
        }
    }
}
