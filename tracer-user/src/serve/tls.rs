//! TLS as the settings ask for it, by rustls.
//!
//! Must not decide when settings are read.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio_rustls::rustls::{
    RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    version::{TLS12, TLS13},
};

use super::config::{ConfigError, Tls, Version};

/// Reads files below a directory, and remembers which.
pub(super) struct Files<'a> {
    /// What names in the settings are relative to.
    pub(super) dir: &'a Path,
    pub(super) read: Vec<PathBuf>,
}

impl Files<'_> {
    fn read(&mut self, name: &Path) -> Result<(PathBuf, Vec<u8>), ConfigError> {
        let path = self.dir.join(name);
        self.read.push(path.clone());
        match std::fs::read(&path) {
            Ok(bytes) => Ok((path, bytes)),
            Err(source) => Err(ConfigError::Io { path, source }),
        }
    }

    /// Of a key that names a file, or of one that holds the text itself.
    fn either(
        &mut self,
        keys: (&'static str, &'static str),
        file: Option<&Path>,
        text: Option<&str>,
    ) -> Result<Option<(PathBuf, Vec<u8>)>, ConfigError> {
        match (file, text) {
            (Some(_), Some(_)) => {
                let reason = format!("given beside {}: only one of them can be used", keys.1);
                Err(ConfigError::key(keys.0, reason))
            }
            (Some(file), None) => self.read(file).map(Some),
            (None, Some(text)) => Ok(Some((keys.1.into(), text.as_bytes().to_vec()))),
            (None, None) => Ok(None),
        }
    }
}

/// # Errors
/// For files that cannot be used, and for what rustls does not do.
pub(super) fn server(
    tls: &Tls,
    http2: bool,
    files: &mut Files<'_>,
) -> Result<Arc<ServerConfig>, ConfigError> {
    let certificate = files
        .either(
            ("cert_file", "cert"),
            tls.cert_file.as_deref(),
            tls.cert.as_deref(),
        )?
        .ok_or_else(|| ConfigError::key("cert_file", "missing: TLS needs a certificate"))?;
    let key = files
        .either(
            ("key_file", "key"),
            tls.key_file.as_deref(),
            tls.key.as_deref(),
        )?
        .ok_or_else(|| ConfigError::key("key_file", "missing: TLS needs the certificate's key"))?;
    let provider = Arc::new(provider(tls)?);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(tls)?)?;
    let builder = match client_verifier(tls, &provider, files)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(certificates(&certificate)?, private_key(&key)?)?;
    // A client that does not name the order it wants gets ours.
    config.ignore_client_order = tls.prefer_server_cipher_suites.unwrap_or(true);
    if http2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(Arc::new(config))
}

fn certificates(
    (path, bytes): &(PathBuf, Vec<u8>),
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let refuse = |reason: String| ConfigError::Pem {
        path: path.clone(),
        reason,
    };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let all = all.map_err(|error| refuse(error.to_string()))?;
    if all.is_empty() {
        return Err(refuse("holds no certificate".to_owned()));
    }
    Ok(all)
}

fn private_key((path, bytes): &(PathBuf, Vec<u8>)) -> Result<PrivateKeyDer<'static>, ConfigError> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| ConfigError::Pem {
        path: path.clone(),
        reason: format!("holds no private key that can be used: {error}"),
    })
}

fn versions(tls: &Tls) -> Result<Vec<&'static SupportedProtocolVersion>, ConfigError> {
    let lowest = tls.min_version.unwrap_or(Version::Tls12);
    let highest = tls.max_version.unwrap_or(Version::Tls13);
    if lowest > highest {
        return Err(ConfigError::key("min_version", "is above max_version"));
    }
    let all = [(Version::Tls13, &TLS13), (Version::Tls12, &TLS12)];
    let wanted = all
        .into_iter()
        .filter(|(version, _)| (lowest..=highest).contains(version));
    Ok(wanted.map(|(_, version)| version).collect())
}

/// With the cipher suites and curves asked for. As in Go, TLS 1.3's suites are
/// not to be chosen.
fn provider(tls: &Tls) -> Result<CryptoProvider, ConfigError> {
    let mut provider = ring::default_provider();
    if !tls.cipher_suites.is_empty() {
        let name = |suite: &tokio_rustls::rustls::SupportedCipherSuite| {
            format!("{:?}", suite.suite()).replace("TLS13_", "TLS_")
        };
        let known: Vec<String> = provider.cipher_suites.iter().map(name).collect();
        refuse_unknown("cipher_suites", &tls.cipher_suites, &known)?;
        provider
            .cipher_suites
            .retain(|suite| suite.tls13().is_some() || tls.cipher_suites.contains(&name(suite)));
    }
    if !tls.curve_preferences.is_empty() {
        let name = |group: &&dyn tokio_rustls::rustls::crypto::SupportedKxGroup| {
            let name = format!("{:?}", group.name());
            match name.as_str() {
                "secp256r1" => "CurveP256".to_owned(),
                "secp384r1" => "CurveP384".to_owned(),
                _ => name,
            }
        };
        let known: Vec<String> = provider.kx_groups.iter().map(name).collect();
        refuse_unknown("curve_preferences", &tls.curve_preferences, &known)?;
        provider
            .kx_groups
            .retain(|group| tls.curve_preferences.contains(&name(group)));
    }
    Ok(provider)
}

fn refuse_unknown(
    key: &'static str,
    wanted: &[String],
    known: &[String],
) -> Result<(), ConfigError> {
    match wanted.iter().find(|wanted| !known.contains(wanted)) {
        Some(unknown) => {
            let reason = format!("{unknown} is not spoken here, only {}", known.join(", "));
            Err(ConfigError::key(key, reason))
        }
        None => Ok(()),
    }
}

fn client_verifier(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
    files: &mut Files<'_>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, ConfigError> {
    if !tls.client_allowed_sans.is_empty() {
        let reason = "cannot be checked here: have a certificate authority of your scrapers' own";
        return Err(ConfigError::key("client_allowed_sans", reason));
    }
    let authority = files.either(
        ("client_ca_file", "client_ca"),
        tls.client_ca_file.as_deref(),
        tls.client_ca.as_deref(),
    )?;
    let optional = match tls.client_auth_type.as_deref().unwrap_or_default() {
        "" | "NoClientCert" => {
            if authority.is_some() {
                let reason = "is of no use without client_auth_type RequireAndVerifyClientCert";
                return Err(ConfigError::key("client_ca_file", reason));
            }
            return Ok(None);
        }
        "VerifyClientCertIfGiven" => true,
        "RequireAndVerifyClientCert" => false,
        weak @ ("RequestClientCert" | "RequireAnyClientCert") => {
            let reason = format!(
                "{weak} checks nothing and is not done here: RequireAndVerifyClientCert or \
                 VerifyClientCertIfGiven"
            );
            return Err(ConfigError::key("client_auth_type", reason));
        }
        other => {
            return Err(ConfigError::key(
                "client_auth_type",
                format!("{other:?} is not known"),
            ));
        }
    };
    let authority = authority
        .ok_or_else(|| ConfigError::key("client_ca_file", "missing: clients cannot be verified"))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&authority)? {
        roots.add(certificate)?;
    }
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder = if optional {
        builder.allow_unauthenticated()
    } else {
        builder
    };
    let verifier = builder.build();
    verifier
        .map(Some)
        .map_err(|error| ConfigError::key("client_ca_file", error.to_string()))
}
