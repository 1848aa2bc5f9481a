//! `private_key_jwt` (RFC 7523): a client authenticates with a signed assertion instead of a secret.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

use crate::environment::random_name;
use crate::port::Secret;

/// Lifetime of a signed assertion, in seconds.
const HOLDS: i64 = 120;

/// Returns a signed assertion for one request to the authorization server `audience`.
///
/// # Errors
/// Fails if `key` is not a P-256 key in PEM.
pub(super) fn assertion(key: &Secret, client: &str, audience: &str, now: DateTime<Utc>) -> Result<String, &'static str> {
    let wrong = "private_key is not a P-256 key in PEM (-----BEGIN PRIVATE KEY-----)";
    let body: String = key.reveal().lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("-----")).collect();
    // A secret on a single line may contain `\n` in place of line breaks.
    let body = body.replace("-----BEGIN PRIVATE KEY-----", "").replace("-----END PRIVATE KEY-----", "").replace("\\n", "");
    let der = STANDARD.decode(body.trim()).map_err(|_| wrong)?;
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random).map_err(|_| wrong)?;
    let now = now.timestamp();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({ "iss": client, "sub": client, "aud": audience, "iat": now, "exp": now + HOLDS, "jti": random_name() });
    let signed = format!("{}.{}", part(json!({ "alg": "ES256", "typ": "JWT" })), part(claims));
    let signature = key.sign(&random, signed.as_bytes()).map_err(|_| wrong)?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
