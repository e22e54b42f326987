//! Basic authentication against bcrypt hashes, as Prometheus' exporter toolkit
//! does it.
//!
//! Must not read files.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hyper::header::{AUTHORIZATION, HeaderMap};
use tokio::sync::Semaphore;

/// Compared for a user that is not known, so that guessing names takes as long
/// as guessing passwords.
const NOBODY: &str = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";
/// Passwords known to be right.
const MOST_KNOWN: usize = 128;

/// Users and their passwords' hashes.
pub(super) type Users = BTreeMap<String, String>;

type Digest = [u8; 32];

/// Checks passwords; a right one is hashed once.
#[derive(Debug)]
pub(super) struct Gate {
    known: Mutex<HashSet<Digest>>,
    /// A comparison takes a tenth of a second of a CPU: one at a time.
    comparing: Semaphore,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            comparing: Semaphore::new(1),
        }
    }
}

impl Gate {
    /// Whether a request with these headers may be answered. Everybody's may
    /// where there are no users.
    pub(super) async fn lets_in(&self, users: &Users, headers: &HeaderMap) -> bool {
        if users.is_empty() {
            return true;
        }
        let Some((user, password)) = credentials(headers) else {
            return false;
        };
        let hash = users.get(&user).cloned();
        let there = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.to_owned());
        let digest = digest(&[user.as_bytes(), hash.as_bytes(), password.as_bytes()]);
        if self.knows(&digest) {
            return true;
        }
        let Ok(_one_at_a_time) = self.comparing.acquire().await else {
            return false;
        };
        let compare = move || bcrypt::verify(password, &hash).unwrap_or(false);
        let right = tokio::task::spawn_blocking(compare).await.unwrap_or(false);
        let right = right && there;
        if right {
            self.learn(digest);
        }
        right
    }

    fn knows(&self, digest: &Digest) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(digest)
    }

    fn learn(&self, digest: Digest) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(digest);
    }
}

/// The hash is one that bcrypt can compare with.
pub(super) fn is_hash(hash: &str) -> bool {
    hash.parse::<bcrypt::HashParts>().is_ok()
}

fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Of all parts, each with its length before it.
fn digest(parts: &[&[u8]]) -> Digest {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(user: &str, password: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        headers.insert(AUTHORIZATION, format!("Basic {encoded}").parse().unwrap());
        headers
    }

    #[tokio::test]
    async fn the_right_password_and_no_other() {
        let gate = Gate::default();
        let hash = bcrypt::hash("secret", 4).unwrap();
        let users: Users = [("prometheus".to_owned(), hash)].into();
        assert!(gate.lets_in(&Users::new(), &HeaderMap::new()).await);
        assert!(!gate.lets_in(&users, &HeaderMap::new()).await);
        assert!(!gate.lets_in(&users, &headers("prometheus", "wrong")).await);
        assert!(!gate.lets_in(&users, &headers("nobody", "secret")).await);
        for _ in 0..2 {
            assert!(gate.lets_in(&users, &headers("prometheus", "secret")).await);
        }
        // A new hash is a new password.
        let other = bcrypt::hash("other", 4).unwrap();
        let users: Users = [("prometheus".to_owned(), other)].into();
        assert!(!gate.lets_in(&users, &headers("prometheus", "secret")).await);
    }

    #[test]
    fn hashes() {
        assert!(is_hash(NOBODY));
        assert!(!is_hash("secret") && !is_hash(""));
    }
}
