//! Tests of `sshsig`.
