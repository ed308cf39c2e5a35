//! The text of composite fonts that have no table of it, by the collections of characters that Adobe numbers:
//! as in many Chinese, Japanese and Korean files.

use hayro_interpret::font::Glyph;
use hayro_interpret::hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::dict::keys;
use hayro_interpret::hayro_syntax::object::{Array, Dict, Name, Object, String as PdfString};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// The composite fonts of a document, looked for when the first glyph without a text is met.
pub(super) struct CidFonts<'a> {
    pdf: &'a Pdf,
    /// By their PostScript names.
    fonts: OnceCell<FxHashMap<String, CidFont>>,
}

/// From the codes of a font to numbers in a collection of characters, and from there to Unicode.
pub(super) struct CidFont {
    encoding: CMap,
    unicode: CMap,
}

impl<'a> CidFonts<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> CidFonts<'a> {
        CidFonts { pdf, fonts: OnceCell::new() }
    }

    /// The font of a glyph.
    pub(super) fn of(&self, glyph: &Glyph<'_>) -> Option<&CidFont> {
        let Glyph::Outline(outline) = glyph else { return None };
        let name = outline.font_data()?.postscript_name?;
        self.fonts.get_or_init(|| fonts(self.pdf)).get(&name)
    }
}

impl CidFont {
    pub(super) fn text(&self, code: u32) -> Option<BfString> {
        let cid = (1..=4).find_map(|bytes| self.encoding.lookup_cid_code(code, bytes))?;
        self.unicode.lookup_bf_string(cid)
    }
}

fn fonts(pdf: &Pdf) -> FxHashMap<String, CidFont> {
    let dicts = pdf.objects().into_iter().filter_map(Object::into_dict);
    dicts.filter_map(|dict| font(&dict)).collect()
}

fn font(dict: &Dict<'_>) -> Option<(String, CidFont)> {
    let is_composite = dict.get::<Name<'_>>(keys::SUBTYPE).is_some_and(|name| name.as_ref() == keys::TYPE0);
    if !is_composite || dict.contains_key(keys::TO_UNICODE) {
        return None;
    }
    let encoding = match dict.get::<Object<'_>>(keys::ENCODING)? {
        Object::Name(name) => match CMapName::from_bytes(name.as_ref()) {
            CMapName::IdentityH => CMap::identity_h(),
            CMapName::IdentityV => CMap::identity_v(),
            name => CMap::parse(load_embedded(name)?, load_embedded)?,
        },
        Object::Stream(stream) => CMap::parse(&stream.decoded_data().ok()?, load_embedded)?,
        _ => return None,
    };
    let descendant = dict.get::<Array<'_>>(keys::DESCENDANT_FONTS)?.iter::<Dict<'_>>().next()?;
    let info = descendant.get::<Dict<'_>>(keys::CIDSYSTEMINFO)?;
    let part = |key: &'static [u8]| info.get::<PdfString<'_>>(key);
    let (registry, ordering) = (part(keys::REGISTRY)?, part(keys::ORDERING)?);
    let family = CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes());
    let unicode = CMap::parse(load_embedded(family.ucs2_cmap()?)?, load_embedded)?;
    let name = dict.get::<Name<'_>>(keys::BASE_FONT)?;
    // The prefix of a subset is no part of a name.
    let name = name.as_str();
    let name = name.split_once('+').filter(|(prefix, _)| prefix.len() == 6).map_or(name, |(_, name)| name);
    Some((name.to_owned(), CidFont { encoding, unicode }))
}
