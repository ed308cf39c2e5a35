//! Downloads of large files, which resume where they ended.

use super::client::install_crypto;
use super::error::HttpError;
use super::request_error::cause;
use super::{Address, Client};
use crate::error::{Context, Error, Result};
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, RANGE};
use reqwest::{StatusCode, redirect::Policy};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest time without data.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of attempts at a broken download.
const MAX_ATTEMPTS: usize = 4;

impl Client {
    /// Downloads to a file, following redirects. Until it is complete it is called `NAME.part`, and an
    /// interrupted download is resumed if the server still has the same file. `report` gets the number of
    /// bytes so far, and the total if the server reports it. Only the address is sent. Fails if the server
    /// refuses, the last attempt breaks off, or the file cannot be written.
    pub async fn download(
        &self,
        address: &Address,
        to: &Path,
        report: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<()> {
        if to.exists() {
            return Ok(());
        }
        install_crypto();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("rsv/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::limited(10))
            .referer(false)
            .connect_timeout(self.connect)
            .read_timeout(IDLE_TIMEOUT);
        if address.is_loopback() {
            builder = builder.no_proxy();
            if address.is_plaintext() {
                builder = builder.tls_certs_only([]);
            }
        }
        let client = builder.build().map_err(|e| HttpError::Setup { cause: cause(&e) })?;
        let part = PartialFile::new(to);
        let mut attempt = 1;
        loop {
            match part.resume(&client, address, report).await {
                Ok(()) => break,
                Err(error) if !error.find().is_some_and(HttpError::is_transient) => return Err(error),
                Err(error) if attempt == MAX_ATTEMPTS => {
                    return Err(error.hint("run it again to continue the download"));
                }
                Err(_) => attempt += 1,
            }
        }
        part.finish(to)
    }
}

impl HttpError {
    /// Whether another attempt at a download may help.
    pub fn is_transient(&self) -> bool {
        use HttpError::{Broken, CutShort, Status};
        matches!(self, Broken { .. } | CutShort { .. } | Status { status: 500.. })
    }
}

/// A file on its way, and the server's tag of it.
struct PartialFile {
    file: PathBuf,
    tag: PathBuf,
}

impl PartialFile {
    /// For a file, whose path has a name.
    fn new(to: &Path) -> PartialFile {
        let named = |end: &str| {
            let mut name = to.file_name().unwrap_or_default().to_owned();
            name.push(end);
            to.with_file_name(name)
        };
        PartialFile { file: named(".part"), tag: named(".tag") }
    }

    async fn resume(
        &self,
        client: &reqwest::Client,
        address: &Address,
        report: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<()> {
        let failed = |error: HttpError| Error::from(error).at(address);
        let broken = |e: reqwest::Error| failed(HttpError::Broken { cause: cause(&e) });
        let there = fs::metadata(&self.file).map_or(0, |file| file.len());
        // Without its tag, the file is downloaded from its beginning.
        let tag = fs::read_to_string(&self.tag).ok().filter(|_| there > 0);
        let mut request = client.get(address.url().clone());
        if let Some(tag) = &tag {
            request = request.header(RANGE, format!("bytes={there}-")).header(IF_RANGE, tag);
        }
        let mut response = request.send().await.map_err(broken)?;
        let status = response.status();
        let resumes = status == StatusCode::PARTIAL_CONTENT && range_start(response.headers()) == Some(there);
        if !resumes && status != StatusCode::OK {
            // The partial file is of no use for resuming.
            let _ = fs::remove_file(&self.file);
            return Err(failed(HttpError::Status { status: status.as_u16() }));
        }
        let mut bytes = if resumes { there } else { 0 };
        let total = response.content_length().map(|rest| rest + bytes);
        match response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()) {
            // A weak tag does not promise the same bytes (RFC 9110, 13.1.5).
            Some(tag) if !tag.starts_with("W/") => {
                fs::write(&self.tag, tag).context("cannot keep the tag")?
            }
            // There may be none. One that stays is of an earlier file, which the server does not resume.
            _ => fs::remove_file(&self.tag).unwrap_or(()),
        }
        let what = || format!("cannot write {}", self.file.display());
        let mut file = File::options()
            .create(true)
            .append(resumes)
            .write(true)
            .truncate(!resumes)
            .open(&self.file)
            .context(what())?;
        report(bytes, total);
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            file.write_all(&chunk).context(what())?;
            bytes += chunk.len() as u64;
            report(bytes, total);
        }
        if total.is_some_and(|total| bytes < total) {
            return Err(failed(HttpError::CutShort { bytes }));
        }
        file.sync_all().context(what())?;
        Ok(())
    }

    fn finish(&self, to: &Path) -> Result<()> {
        // There may be none, and one that stays has no file to resume.
        let _ = fs::remove_file(&self.tag);
        fs::rename(&self.file, to).context(format_args!("cannot create {}", to.display()))
    }
}

/// The first byte of a part of a file: `bytes 100-199/200` (RFC 9110, 14.4).
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    range.split('-').next()?.parse().ok()
}
