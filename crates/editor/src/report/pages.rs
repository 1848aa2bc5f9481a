//! What `flow explain CODE` shows: one page a code, from `docs/codes`.
//!
//! How to add a page: `docs/codes/F123.md` with a wrong and a right block, which a test runs, and its code in the list below. A code that
//! `flow validate` does not tell has a section "Why there is no example" instead.

use crate::diagnostic::Code;

/// The page of a code, in Markdown; empty for a code whose feature does not exist yet.
pub fn page(code: Code) -> &'static str {
    macro_rules! pages {
        ($($id:literal)*) => {
            match code.id() {
                $($id => include_str!(concat!("../../../../docs/codes/", $id, ".md")),)*
                _ => "",
            }
        };
    }
    pages! {
        "F001" "F002" "F003" "F004" "F005" "F006" "F007" "F008" "F009" "F010" "F011" "F012"
        "F013" "F014" "F015" "F016" "F017" "F018" "F019" "F020" "F021" "F022" "F023" "F024"
        "F025" "F100" "F101" "F102" "F103" "F104" "F105" "F106" "F107" "F108" "F109" "F110"
        "F111" "F112" "F113" "F200" "F201" "F202" "F203" "F204" "F205" "F206" "F207" "F208" "F209"
        "F210" "F211" "F212" "F213" "F214" "F215" "F300" "F301" "F302" "F303" "F304" "F305" "F312" "F400" "F401"
        "F402" "F403" "F404" "F405" "F406" "F407" "F408" "F409" "F410" "F411" "F412" "F413" "F414"
        "F415" "F420" "F421" "F422" "F430" "F500" "F501" "F502" "F503" "F504" "F505" "F506"
        "F507" "F508" "F600" "F601" "F602" "F603" "F604" "F605" "F606" "F607" "F608" "F609" "F610"
        "F611" "F612" "F613" "F614" "F615" "F616" "F700" "F701" "F702" "F703" "F704" "F900" "F901" "F910"
    }
}
