//! The glyphs of a page: the text of each, and where it stands.

use super::cid::{CidFont, CidFonts};
use super::unembedded;
use hayro_interpret::font::{Glyph as FontGlyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::object::{Dict, String as PdfString};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt, interpret_page,
};
use std::sync::Arc;

/// Thousandths of the size of a font, in which widths are given.
const UNITS_PER_EM: f64 = 1000.0;
/// The most glyphs of a page. A page of a book has 4000.
const MAX_GLYPHS: usize = 1 << 20;

/// A glyph as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    /// Empty if the font does not tell.
    pub(super) text: String,
    /// Where it begins on its baseline, in points from the left and the top of the page.
    pub(super) origin: Point,
    /// From there to where the next glyph of its run belongs.
    pub(super) advance: Vec2,
    /// From there to the top of its line: as long as the font is high.
    pub(super) up: Vec2,
}

/// The glyphs of a page in the order of the file.
pub(super) fn of_page<'a>(
    page: &Page<'a>,
    cache: &InterpreterCache<'a>,
    cid_fonts: &CidFonts<'_>,
) -> Vec<Glyph> {
    let (width, height) = page.render_dimensions();
    let settings =
        InterpreterSettings { font_resolver: Arc::new(|_| Some(unembedded::font())), ..Default::default() };
    let bounds = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    let mut context =
        Context::new(page.initial_transform(true).to_kurbo(), bounds, cache, page.xref(), settings);
    let mut collector = Collector { bounds, cid_fonts, glyphs: Vec::new(), sequences: Vec::new() };
    interpret_page(page, &mut context, &mut collector);
    collector.glyphs
}

struct Collector<'f> {
    bounds: Rect,
    cid_fonts: &'f CidFonts<'f>,
    glyphs: Vec<Glyph>,
    /// Of each sequence of marked content that is open: the first of its glyphs, and the text that stands for
    /// them.
    sequences: Vec<(usize, Option<String>)>,
}

impl Collector<'_> {
    fn push(&mut self, glyph: &FontGlyph<'_>, text: String, to_page: Affine, vertical: bool, font_size: f64) {
        let width = f64::from(
            match glyph {
                FontGlyph::Outline(outline) => outline.advance_width(),
                FontGlyph::Type3(drawn) => drawn.advance_width(),
            }
            .unwrap_or_default(),
        );
        let vector = |x: f64, y: f64| to_page * Point::new(x, y) - to_page * Point::ORIGIN;
        let mut glyph = Glyph {
            text,
            origin: to_page * Point::ORIGIN,
            advance: vector(width, 0.0),
            up: vector(0.0, font_size),
        };
        if vertical {
            // Its origin is above its middle, and its line goes down.
            glyph.advance = vector(0.0, -UNITS_PER_EM);
            glyph.up = vector(UNITS_PER_EM, 0.0);
            glyph.origin = to_page * Point::new(UNITS_PER_EM / 2.0, UNITS_PER_EM * 0.88);
        }
        let is_placed = [glyph.origin.to_vec2(), glyph.advance, glyph.up].iter().all(|v| v.is_finite());
        // A reader sees nothing beyond the page.
        if is_placed && self.bounds.inflate(1.0, 1.0).contains(glyph.origin) && self.glyphs.len() < MAX_GLYPHS
        {
            self.glyphs.push(glyph);
        }
    }

    /// Puts a text in place of the glyphs from `first` on, if they stand on one line.
    fn replace(&mut self, first: usize, text: &str) {
        let Some((glyph, others)) = self.glyphs.get_mut(first..).and_then(<[Glyph]>::split_first_mut) else {
            return;
        };
        let size = glyph.up.hypot();
        let is_beside = |other: &Glyph| {
            let from = other.origin - glyph.origin;
            from.dot(glyph.up).abs() < 0.5 * size * size
        };
        if !others.iter().all(is_beside) {
            return;
        }
        if let Some(last) = others.last() {
            glyph.advance = last.origin + last.advance - glyph.origin;
        }
        text.clone_into(&mut glyph.text);
        self.glyphs.truncate(first + 1);
    }
}

impl<'a> Device<'a> for Collector<'_> {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let vertical = run.writing_mode() == WritingMode::Vertical;
        let font_size = type3_size(run).unwrap_or(UNITS_PER_EM);
        // All glyphs of a run are of one font.
        let mut cid_font: Option<Option<&CidFont>> = None;
        for glyph in run.glyphs() {
            let text = glyph.as_unicode().or_else(|| {
                let font = *cid_font.get_or_insert_with(|| self.cid_fonts.of(glyph));
                font.and_then(|font| font.text(glyph.char_code()))
            });
            let text = text.map(as_text).unwrap_or_default();
            self.push(glyph, text, props.transform * glyph.transform(), vertical, font_size);
        }
    }

    fn begin_marked_content(&mut self, _: &[u8], properties: Option<&Dict<'_>>) {
        let text = properties.and_then(|properties| properties.get::<PdfString<'_>>(&b"ActualText"[..]));
        self.sequences.push((self.glyphs.len(), text.map(|text| text_string(text.as_bytes()))));
    }

    fn end_marked_content(&mut self) {
        if let Some((first, Some(text))) = self.sequences.pop() {
            self.replace(first, &text);
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn draw_rect(&mut self, _: &Rect, _: DrawProps<'a>, _: &DrawMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_clip_rect(&mut self, _: &Rect) {}
    fn pop_clip(&mut self) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn pop_transparency_group(&mut self) {}
}

/// How high a font is whose glyphs are programs, in the units of its widths: its own size may be any number.
fn type3_size(run: &GlyphRun<'_, '_>) -> Option<f64> {
    let widths = run.glyphs().iter().map(|glyph| match &**glyph {
        FontGlyph::Type3(drawn) => drawn.advance_width(),
        FontGlyph::Outline(_) => None,
    });
    let widths: Vec<f32> = widths.collect::<Option<_>>()?;
    let mean = f64::from(widths.iter().sum::<f32>()) / widths.len().max(1) as f64;
    (mean > 0.0).then_some(2.0 * mean)
}

fn as_text(text: BfString) -> String {
    match text {
        BfString::Char(c) => c.to_string(),
        BfString::String(text) => text,
    }
}

/// A text string of PDF: UTF-16 or UTF-8 after a byte order mark, else PDFDocEncoding, of which Latin-1 is
/// nearly all.
fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).filter_map(Result::ok).collect()
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|byte| if *byte == 0xad { '\u{ad}' } else { char::from(*byte) }).collect(),
    }
}
