//! What a client wants to be answered in: the text format, and gzip or not.
//!
//! Must not write either.

use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap};

/// A text format of Prometheus'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Version 0.0.4.
    Text,
    /// Version 1.0.0.
    OpenMetrics,
}

impl Format {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The one that the client likes best; text if it does not say.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut best = (Self::Text, 0.0);
        for item in items(headers, ACCEPT) {
            let format = match item.name.as_str() {
                "application/openmetrics-text" if item.is_version(&["1.0.0", "0.0.1"]) => {
                    Self::OpenMetrics
                }
                "text/plain" if item.is_version(&["0.0.4"]) => Self::Text,
                _ => continue,
            };
            if item.weight > best.1 {
                best = (format, item.weight);
            }
        }
        best.0
    }
}

/// The client takes gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    items(headers, ACCEPT_ENCODING).any(|item| item.name == "gzip" && item.weight > 0.0)
}

/// One of a list as in `text/plain;version=0.0.4;q=0.5, */*;q=0.1`.
struct Item {
    name: String,
    version: Option<String>,
    weight: f64,
}

impl Item {
    fn parse(text: &str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut item = Self {
            name: parts.next().unwrap_or_default().to_ascii_lowercase(),
            version: None,
            weight: 1.0,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("q", weight)) => item.weight = weight.trim().parse().unwrap_or(0.0),
                Some(("version", version)) => item.version = Some(version.trim().to_owned()),
                _ => {}
            }
        }
        item
    }

    /// Any version will do for one who names none.
    fn is_version(&self, versions: &[&str]) -> bool {
        let version = self.version.as_deref();
        version.is_none_or(|version| versions.contains(&version))
    }
}

fn items(headers: &HeaderMap, name: hyper::header::HeaderName) -> impl Iterator<Item = Item> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(Item::parse)
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(accept: &str) -> Format {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Format::of(&headers)
    }

    #[test]
    fn formats() {
        assert_eq!(Format::of(&HeaderMap::new()), Format::Text);
        assert_eq!(format("*/*"), Format::Text);
        assert_eq!(format("text/html, */*;q=0.8"), Format::Text);
        // What Prometheus 2.42 and 3.5 send.
        let two = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(format(two), Format::OpenMetrics);
        let three = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(format(three), Format::OpenMetrics);
        let text =
            "text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.1";
        assert_eq!(format(text), Format::Text);
        assert_eq!(
            format("application/openmetrics-text; version=2.0.0"),
            Format::Text
        );
    }

    #[test]
    fn gzip() {
        let takes = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().unwrap());
            takes_gzip(&headers)
        };
        assert!(takes("gzip") && takes("deflate, GZIP;q=0.5"));
        assert!(!takes("gzip;q=0") && !takes("identity"));
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
