//! Bodies that come compressed (RFC 9110, 8.4.1): decoded piece by piece.

use super::body::Truncation;
use super::request_error::RequestError;
use brotli_decompressor::DecompressorWriter as BrotliDecoder;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, Write};
use zstd::stream::write::Decoder as ZstdDecoder;

/// The codings that can be decoded.
const SUPPORTED_CODINGS: [&str; 6] = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity"];
/// The largest window of zstd's that a server may want, as a power of two: 8 MiB (RFC 9659, 3).
const ZSTD_WINDOW_LOG: u32 = 23;

/// The encodings to offer to a server if the answer is parsed here too: those that the client accepts
/// (`Accept-Encoding`) and that can be decoded.
pub fn accepted_encodings(accepted: &str) -> String {
    let name = |coding: &str| coding.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let supported = |coding: &&str| SUPPORTED_CODINGS.contains(&name(coding).as_str());
    let supported: Vec<&str> = accepted.split(',').map(str::trim).filter(supported).collect();
    if supported.is_empty() { "identity".to_owned() } else { supported.join(", ") }
}

/// Decodes one body.
pub struct Decoder(Coding);

enum Coding {
    Identity,
    /// Not begun yet: the first byte shows whether it has zlib's header.
    Deflate,
    Streaming(Box<dyn BodyDecoder>),
    Unknown(String),
}

/// A decoder that writes into a bounded buffer.
trait BodyDecoder: Write + Send {
    fn buffer(&mut self) -> &mut BoundedBuffer;
}

macro_rules! decodes {
    ($($decoder:ty),*) => {$(
        impl BodyDecoder for $decoder {
            fn buffer(&mut self) -> &mut BoundedBuffer {
                self.get_mut()
            }
        }
    )*};
}

decodes!(
    MultiGzDecoder<BoundedBuffer>,
    ZlibDecoder<BoundedBuffer>,
    DeflateDecoder<BoundedBuffer>,
    BrotliDecoder<BoundedBuffer>,
    ZstdDecoder<'static, BoundedBuffer>
);

/// A buffer that takes at most `limit` bytes: a few bytes may decode to very many.
#[derive(Default)]
struct BoundedBuffer {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.limit - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if taken < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// For the value of `Content-Encoding`.
    pub fn for_encoding(encoding: Option<&str>) -> Decoder {
        let buffer = BoundedBuffer::default();
        Decoder(match encoding.unwrap_or("identity").trim().to_ascii_lowercase().as_str() {
            "identity" | "" => Coding::Identity,
            "gzip" | "x-gzip" => Coding::Streaming(Box::new(MultiGzDecoder::new(buffer))),
            "deflate" => Coding::Deflate,
            "br" => Coding::Streaming(Box::new(BrotliDecoder::new(buffer, 1 << 12))),
            // Only for lack of memory; then it cannot be decoded, like an encoding that was not offered.
            "zstd" => zstd(buffer)
                .map_or(Coding::Unknown("zstd".to_owned()), |zstd| Coding::Streaming(Box::new(zstd))),
            other => Coding::Unknown(other.to_owned()),
        })
    }

    /// Whether it can decode the encoding.
    pub fn is_known(&self) -> bool {
        !matches!(self.0, Coding::Unknown(_))
    }

    /// Decodes a piece and appends it to `out`, up to `limit` bytes. Fails beyond that, and if the piece
    /// cannot be decoded.
    pub fn decode(&mut self, piece: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), Truncation> {
        if let (Coding::Deflate, Some(first)) = (&self.0, piece.first()) {
            let buffer = BoundedBuffer::default();
            // Compressors write no block that begins like the method in zlib's header (RFC 1950, 2.2). Data
            // without this header is raw deflate, which some servers send as `deflate`.
            self.0 = match first & 0x0f {
                8 => Coding::Streaming(Box::new(ZlibDecoder::new(buffer))),
                _ => Coding::Streaming(Box::new(DeflateDecoder::new(buffer))),
            };
        }
        let limit = limit.saturating_sub(out.len());
        match &mut self.0 {
            Coding::Identity => {
                out.extend_from_slice(&piece[..limit.min(piece.len())]);
                if piece.len() > limit { Err(Truncation::Limit) } else { Ok(()) }
            }
            Coding::Deflate => Ok(()),
            Coding::Streaming(decoder) => decode_through(&mut **decoder, piece, out, limit),
            Coding::Unknown(name) => Err(Truncation::Failed(RequestError::broken(format!(
                "it is encoded as {name:?}, which was not offered"
            )))),
        }
    }
}

fn zstd(buffer: BoundedBuffer) -> io::Result<ZstdDecoder<'static, BoundedBuffer>> {
    let mut decoder = ZstdDecoder::new(buffer)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(decoder)
}

fn decode_through(
    decoder: &mut dyn BodyDecoder,
    piece: &[u8],
    out: &mut Vec<u8>,
    limit: usize,
) -> Result<(), Truncation> {
    decoder.buffer().limit = limit;
    // The decoder holds decoded bytes back until it is flushed.
    let done = decoder.write_all(piece).and_then(|()| decoder.flush());
    out.append(&mut decoder.buffer().bytes);
    done.map_err(|e| match e.kind() {
        io::ErrorKind::StorageFull => Truncation::Limit,
        _ => Truncation::Failed(RequestError::broken(format!("it cannot be decoded: {e}"))),
    })
}
