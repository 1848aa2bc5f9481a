//! Names of months: English, German, French, Spanish, Italian.

/// Months in small letters with their short forms, the twelve parted by `;`.
const MONTHS: &str = "january|jan|januar|jänner|janvier|janv|enero|ene|gennaio|gen;\
february|feb|februar|février|févr|fév|febrero|febbraio|febb;\
march|mar|märz|mär|mrz|mars|marzo;\
april|apr|avril|avr|abril|abr|aprile;\
may|mai|mayo|maggio|mag;\
june|jun|juni|juin|junio|giugno|giu;\
july|jul|juli|juillet|juil|julio|luglio|lug;\
august|aug|août|aout|agosto|ago;\
september|sept|sep|septembre|septiembre|settembre|set;\
october|oct|oktober|okt|octobre|octubre|ottobre|ott;\
november|nov|novembre|noviembre;\
december|dec|dezember|dez|décembre|déc|diciembre|dic|dicembre";

/// All names of months, as the alternatives of a pattern.
pub(crate) fn months() -> String {
    MONTHS.replace(';', "|")
}

/// The number of a month by its name, in any case.
pub(crate) fn month(name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    let at = MONTHS.split(';').position(|month| month.split('|').any(|known| known == name))?;
    u32::try_from(at + 1).ok()
}
