//! The file of `--web.config.file`: the keys of Prometheus' exporter toolkit,
//! https://prometheus.io/docs/prometheus/latest/configuration/https/.
//!
//! Must not read what it names, and must not guess: an unknown key is an
//! error, and so is one that cannot be done.

use std::{collections::BTreeMap, io, path::PathBuf};

use serde::Deserialize;

use super::auth;

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Yaml(#[from] serde_yaml_ng::Error),
    #[error("{key}: {reason}")]
    Key { key: &'static str, reason: String },
    #[error("{}: {reason}", path.display())]
    Pem { path: PathBuf, reason: String },
    #[error("tls_server_config: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error("TLS cannot be switched on or off while running: restart iotrace for that")]
    TlsSwitched,
}

impl ConfigError {
    pub(super) fn key(key: &'static str, reason: impl Into<String>) -> Self {
        Self::Key {
            key,
            reason: reason.into(),
        }
    }
}

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) tls_server_config: Option<Tls>,
    pub(super) http_server_config: Http,
    pub(super) basic_auth_users: BTreeMap<String, String>,
}

/// `tls_server_config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Tls {
    pub(super) cert_file: Option<PathBuf>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) cert: Option<String>,
    pub(super) key: Option<String>,
    pub(super) client_auth_type: Option<String>,
    pub(super) client_ca_file: Option<PathBuf>,
    pub(super) client_ca: Option<String>,
    pub(super) client_allowed_sans: Vec<String>,
    pub(super) min_version: Option<Version>,
    pub(super) max_version: Option<Version>,
    pub(super) cipher_suites: Vec<String>,
    pub(super) curve_preferences: Vec<String>,
    pub(super) prefer_server_cipher_suites: Option<bool>,
}

/// A version of TLS that is spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Version {
    Tls12,
    Tls13,
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "TLS12" => Ok(Self::Tls12),
            "TLS13" => Ok(Self::Tls13),
            "TLS10" | "TLS11" => Err(format!("{text} is not spoken here: TLS12 or TLS13")),
            _ => Err(format!("unknown TLS version {text:?}: TLS12 or TLS13")),
        }
    }
}

/// `http_server_config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Http {
    pub(super) http2: bool,
    pub(super) headers: BTreeMap<String, String>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            http2: true,
            headers: BTreeMap::new(),
        }
    }
}

/// Headers that may be set, as the toolkit has it, and what they may say;
/// anything where nothing is listed.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("Strict-Transport-Security", &[]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-XSS-Protection", &[]),
];

impl File {
    /// # Errors
    /// For anything that cannot be understood or done.
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        // An empty file sets nothing.
        let file: Option<Self> = serde_yaml_ng::from_str(text)?;
        let file = file.unwrap_or_default();
        for (user, hash) in &file.basic_auth_users {
            if !auth::is_hash(hash) {
                let reason = format!("{user} has no bcrypt hash (htpasswd -nBC 10 \"\" makes one)");
                return Err(ConfigError::key("basic_auth_users", reason));
            }
        }
        for (name, value) in &file.http_server_config.headers {
            header(name, value)?;
        }
        Ok(file)
    }
}

fn header(name: &str, value: &str) -> Result<(), ConfigError> {
    let known = HEADERS.iter().find(|(known, _)| *known == name);
    let Some((_, values)) = known else {
        let names: Vec<&str> = HEADERS.iter().map(|(name, _)| *name).collect();
        let reason = format!("{name} cannot be set, only {}", names.join(", "));
        return Err(ConfigError::key("headers", reason));
    };
    if !values.is_empty() && !values.contains(&value.to_lowercase().as_str()) {
        let reason = format!("{name} must be one of {}", values.join(", "));
        return Err(ConfigError::key("headers", reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        File::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_the_toolkit_documents() {
        let text = "
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  min_version: TLS13
http_server_config:
  http2: false
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Frame-Options: deny
basic_auth_users:
  alice: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi
";
        let file = File::parse(text).unwrap();
        let tls = file.tls_server_config.unwrap();
        assert_eq!(tls.cert_file, Some("server.crt".into()));
        assert_eq!(tls.min_version, Some(Version::Tls13));
        assert!(!file.http_server_config.http2);
        assert_eq!(file.basic_auth_users.len(), 1);
        assert!(File::parse("").unwrap().http_server_config.http2);
    }

    #[test]
    fn what_is_refused() {
        assert!(error("tls_server_confg: {}").contains("tls_server_confg"));
        assert!(error("tls_server_config: {cert: a, x: b}").contains("`x`"));
        assert!(error("tls_server_config: {min_version: TLS11}").contains("not spoken"));
        assert!(error("basic_auth_users: {bob: secret}").contains("bob has no bcrypt hash"));
        assert!(error("http_server_config: {headers: {Server: x}}").contains("Server cannot be"));
        let frame = "http_server_config: {headers: {X-Frame-Options: perhaps}}";
        assert!(error(frame).contains("must be one of deny, sameorigin"));
        assert!(error("- a list").contains("invalid type"));
    }
}
