//! The font that stands for those that a PDF names and does not have. Nothing is drawn, so that it needs no
//! glyphs; the widths of theirs are those of the PDF, or of the 14 fonts that every reader of PDFs knows.

use hayro_interpret::font::FontData;
use std::sync::{Arc, OnceLock};

/// The data of a TrueType font with one glyph, which is empty and has no width, and its place in the data.
///
/// A glyph with a width would be stretched to that of the PDF.
pub(super) fn font() -> (FontData, u32) {
    static FONT: OnceLock<Arc<Vec<u8>>> = OnceLock::new();
    (FONT.get_or_init(|| Arc::new(true_type())).clone(), 0)
}

fn true_type() -> Vec<u8> {
    let mut head = [0; 54];
    // Version 1.0, the magic number, and 1000 units per em.
    head[1] = 1;
    head[12..16].copy_from_slice(&0x5f0f_3cf5_u32.to_be_bytes());
    head[18..20].copy_from_slice(&1000_u16.to_be_bytes());
    let mut hhea = [0; 36];
    // Version 1.0, and one width.
    hhea[1] = 1;
    hhea[35] = 1;
    let hmtx = [0; 4];
    // Version 0.5, and one glyph.
    let maxp = [0, 0, 0x50, 0, 0, 1];
    let tables: [(&[u8; 4], &[u8]); 4] =
        [(b"head", &head), (b"hhea", &hhea), (b"hmtx", &hmtx), (b"maxp", &maxp)];
    // Four tables, and what a binary search among them needs.
    let mut font = vec![0, 1, 0, 0, 0, 4, 0, 64, 0, 2, 0, 0];
    let mut offset = 12 + 16 * 4;
    for (tag, table) in tables {
        font.extend_from_slice(tag);
        font.extend_from_slice(&[0; 4]);
        font.extend_from_slice(&u32::to_be_bytes(offset));
        let length = table.len() as u32;
        font.extend_from_slice(&length.to_be_bytes());
        offset += length.next_multiple_of(4);
    }
    for (_, table) in tables {
        font.extend_from_slice(table);
        font.resize(font.len().next_multiple_of(4), 0);
    }
    font
}
