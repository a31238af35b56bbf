//! Tests of `webauthn`.
