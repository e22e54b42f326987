//! The page at `/`: files for a browser, built in, and what it may do with
//! them.
//!
//! Must not hold figures: the page asks for them as JSON.

/// What the page may load and ask: this agent alone.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// One of its files.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) content_type: &'static str,
    pub(super) text: &'static str,
}

macro_rules! files {
    ($($path:literal $content_type:ident $file:literal),* $(,)?) => {
        pub(super) const FILES: &[File] = &[$(File {
            path: $path,
            content_type: $content_type,
            text: include_str!(concat!("page/", $file)),
        }),*];
    };
}

files! {
    "/" HTML "index.html",
    "/page/page.css" CSS "page.css",
    "/page/icon.svg" SVG "icon.svg",
    "/page/page.js" SCRIPT "page.js",
    "/page/chart.js" SCRIPT "chart.js",
    "/page/details.js" SCRIPT "details.js",
    "/page/devices.js" SCRIPT "devices.js",
    "/page/dom.js" SCRIPT "dom.js",
    "/page/findings.js" SCRIPT "findings.js",
    "/page/format.js" SCRIPT "format.js",
    "/page/history.js" SCRIPT "history.js",
}

/// The file that is served there.
pub(super) fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}
