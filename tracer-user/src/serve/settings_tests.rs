//! Passwords, certificates, and files that break while the server runs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use tempfile::TempDir;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring, version::TLS12},
};

use super::{
    WebConfig,
    tests::{Fake, Running, ask, status},
};

/// What was told, and a folder for the settings.
struct Settings {
    dir: TempDir,
    told: Arc<Mutex<Vec<String>>>,
}

impl Settings {
    fn new(text: &str) -> Self {
        let settings = Self {
            dir: tempfile::tempdir().unwrap(),
            told: Arc::default(),
        };
        settings.write("web.yml", text);
        settings
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("web.yml")
    }

    /// Replaces a file as tools do that care: under another inode.
    fn write(&self, name: &str, text: &str) {
        let new = self.dir.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.dir.path().join(name)).unwrap();
    }

    fn open(&self) -> WebConfig {
        let told = Arc::clone(&self.told);
        let tell = move |text: &str| told.lock().unwrap().push(text.to_owned());
        WebConfig::open(&self.path(), Box::new(tell)).unwrap()
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

fn users(password: &str) -> String {
    let hash = bcrypt::hash(password, 4).unwrap();
    format!("basic_auth_users: {{prometheus: {hash}}}\n")
}

fn basic(password: &str) -> String {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let encoded = BASE64_STANDARD.encode(format!("prometheus:{password}"));
    format!("authorization: Basic {encoded}\r\n")
}

#[tokio::test]
async fn passwords_and_a_file_that_breaks_while_running() {
    let settings = Settings::new(&users("one"));
    let config = settings.open();
    let usable = config.usable();
    let server = Running::start(Fake::of("up 1\n"), config);
    let tried = async |password: &str| {
        let answer = server.ask("GET /metrics", &basic(password)).await;
        status(&answer).to_owned()
    };
    let answer = server.ask("GET /metrics", "").await;
    assert_eq!(status(&answer), "401");
    assert!(answer.contains("www-authenticate: Basic"));
    assert_eq!(status(&server.ask("GET /-/healthy", "").await), "401");
    assert_eq!(tried("one").await, "200");
    assert_eq!(tried("wrong").await, "401");
    settings.write("web.yml", "basic_auth_users: [");
    assert_eq!(tried("one").await, "200");
    let told = settings.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("settings before stay in use"), "{told:?}");
    assert!(!usable.load(Ordering::Relaxed));
    // It is said once.
    assert_eq!(tried("one").await, "200");
    assert!(settings.told().is_empty());
    settings.write("web.yml", &users("two"));
    assert_eq!(tried("one").await, "401");
    assert_eq!(tried("two").await, "200");
    assert!(settings.told()[0].ends_with("read again"));
    assert!(usable.load(Ordering::Relaxed));
    fs::remove_file(settings.path()).unwrap();
    assert_eq!(tried("two").await, "200");
    assert!(settings.told()[0].contains("cannot read"));
    settings.write("web.yml", "tls_server_config: {cert_file: a, key_file: b}");
    assert_eq!(tried("two").await, "200");
    assert!(settings.told()[0].contains("cannot read"));
    server.stop().await;
}

#[tokio::test]
async fn headers_of_ones_own() {
    let settings =
        Settings::new("http_server_config: {headers: {X-Content-Type-Options: nosniff}}");
    let server = Running::start(Fake::of("up 1\n"), settings.open());
    for path in ["/metrics", "/other"] {
        let answer = server.ask(&format!("GET {path}"), "").await;
        assert!(
            answer.contains("x-content-type-options: nosniff"),
            "{answer}"
        );
    }
    server.stop().await;
}

/// A certificate authority, and what it signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Certificate and key in PEM, good for `days` from now or so long ago.
    fn sign(&self, name: &str, days: i64, usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let day = Duration::from_secs(24 * 60 * 60);
        let now = SystemTime::now();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        params.not_before = (now - day * 30).into();
        let some = day * u32::try_from(days.unsigned_abs()).unwrap();
        params.not_after = if days < 0 { now - some } else { now + some }.into();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }
}

/// Speaks TLS 1.2, whose handshake tells the client at once whether its own
/// certificate will do.
fn client(authority: &Authority, own: Option<&(String, String)>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let pem = authority.pem();
    let root = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    roots.add(root).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        Some((certificate, key)) => {
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder
                .with_client_auth_cert(vec![certificate], key)
                .unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    TlsConnector::from(Arc::new(config))
}

/// The answer, or why there is none.
async fn ask_tls(server: &Running, client: &TlsConnector) -> Result<String, String> {
    let name = ServerName::try_from("agent.example").unwrap();
    let stream = client.connect(name, server.connect().await).await;
    let stream = stream.map_err(|error| error.to_string())?;
    Ok(ask(stream, "GET /metrics", "").await)
}

fn write_pair(settings: &Settings, (certificate, key): &(String, String)) {
    settings.write("server.key", key);
    settings.write("server.crt", certificate);
}

const SERVER: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ServerAuth;
const CLIENT: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ClientAuth;
const TLS: &str = "tls_server_config: {cert_file: server.crt, key_file: server.key";

#[tokio::test]
async fn an_expired_certificate_and_its_successor() {
    let authority = Authority::new();
    let settings = Settings::new(&format!("{TLS}}}"));
    write_pair(
        &settings,
        &authority.sign("agent.example", -1, SERVER.clone()),
    );
    let server = Running::start(Fake::of("up 1\n"), settings.open());
    let client = client(&authority, None);
    let refused = ask_tls(&server, &client).await.unwrap_err();
    assert!(refused.contains("expired"), "{refused}");
    // A key that does not fit for a moment harms nobody.
    let next = authority.sign("agent.example", 1, SERVER);
    settings.write("server.key", &next.1);
    let refused = ask_tls(&server, &client).await.unwrap_err();
    assert!(refused.contains("expired"), "{refused}");
    assert!(settings.told()[0].contains("settings before stay in use"));
    settings.write("server.crt", &next.0);
    let answer = ask_tls(&server, &client).await.unwrap();
    assert_eq!(status(&answer), "200");
    // Who does not speak TLS gets nothing.
    assert_ne!(status(&server.ask("GET /metrics", "").await), "200");
    // TLS is not switched off by a mistake in the file.
    settings.write("web.yml", "{}");
    assert_eq!(status(&ask_tls(&server, &client).await.unwrap()), "200");
    assert!(settings.told().last().unwrap().contains("restart"));
    server.stop().await;
}

#[tokio::test]
async fn clients_with_a_certificate_only() {
    let authority = Authority::new();
    let others = Authority::new();
    let settings = Settings::new(&format!(
        "{TLS}, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt}}"
    ));
    settings.write("ca.crt", &authority.pem());
    write_pair(&settings, &authority.sign("agent.example", 1, SERVER));
    let server = Running::start(Fake::of("up 1\n"), settings.open());
    let good = authority.sign("prometheus.example", 1, CLIENT.clone());
    let answer = ask_tls(&server, &client(&authority, Some(&good))).await;
    assert_eq!(status(&answer.unwrap()), "200");
    let foreign = others.sign("prometheus.example", 1, CLIENT.clone());
    let expired = authority.sign("prometheus.example", -1, CLIENT);
    for bad in [None, Some(&foreign), Some(&expired)] {
        let answer = ask_tls(&server, &client(&authority, bad)).await;
        assert!(answer.is_err(), "{answer:?}");
    }
    server.stop().await;
}

#[test]
fn settings_that_cannot_be_used_at_the_start() {
    let error = |text: &str| {
        let settings = Settings::new(text);
        let opened = WebConfig::open(&settings.path(), Box::new(|_| {}));
        let error = anyhow::Error::from(opened.err().unwrap());
        format!("{error:#}")
    };
    assert!(error("tls_server_config: {}").contains("cert_file: missing"));
    assert!(error(&format!("{TLS}}}")).contains("server.crt"));
    let missing = WebConfig::open(Path::new("/nowhere/web.yml"), Box::new(|_| {}));
    assert!(missing.is_err());
    let authority = Authority::new();
    let with = |more: &str| {
        let settings = Settings::new(&format!("{TLS}, {more}}}"));
        write_pair(&settings, &authority.sign("agent.example", 1, SERVER));
        let opened = WebConfig::open(&settings.path(), Box::new(|_| {}));
        opened.err().map(|error| error.to_string())
    };
    assert_eq!(with("min_version: TLS12, max_version: TLS13"), None);
    assert_eq!(
        with("cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]"),
        None
    );
    assert_eq!(with("curve_preferences: [X25519, CurveP256]"), None);
    let refused = |more| with(more).unwrap();
    assert!(refused("cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]").contains("is not spoken"));
    assert!(refused("min_version: TLS13, max_version: TLS12").contains("above"));
    assert!(refused("client_auth_type: RequireAnyClientCert").contains("checks nothing"));
    assert!(refused("client_auth_type: RequireAndVerifyClientCert").contains("client_ca_file"));
    assert!(refused("client_allowed_sans: [a]").contains("cannot be checked"));
}
