//! Random bytes from the system, and the two shapes this binary makes of them. The only source of chance here.
//!
//! Asked of the kernel and not of the crypto library: that one gathers entropy of its own at its first use, which takes
//! 50 ms of CPU time, ten times what a whole hook takes.

use rustix::rand::{GetRandomFlags, getrandom};

/// The system gave no randomness; nothing secret can be made.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes")]
pub(crate) struct NoChance;

/// `N` random bytes.
///
/// # Errors
/// [`NoChance`].
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], NoChance> {
    let mut bytes = [0; N];
    let mut filled = 0;
    // A signal may cut a read short.
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += getrandom(rest, GetRandomFlags::empty()).map_err(|_| NoChance)?;
    }
    Ok(bytes)
}

/// `N` letters from a to z, each as likely as the others: about 4.7 bits apiece.
///
/// # Errors
/// [`NoChance`].
pub(crate) fn letters(count: usize) -> Result<String, NoChance> {
    let mut word = String::new();
    while word.len() < count {
        let [byte] = bytes::<1>()?;
        // 234 = 9 × 26: bytes above would make the first letters likelier.
        if byte < 234 {
            word.push(char::from(b'a' + byte % 26));
        }
    }
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn a_word_has_the_wanted_letters_and_two_words_differ() {
        let word = letters(8).unwrap();
        assert!(word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
        assert_ne!(letters(16).unwrap(), letters(16).unwrap());
    }
}
