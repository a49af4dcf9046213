"""Hashes that chain the entries of a log: each is one of all entries up to its own.

An entry that was changed, lost or put in between is noticed by whoever reads on. That is against
accidents and edits by hand, not against somebody who computes the hashes anew, nor against an end
that was cut off: who kept a hash can tell.
"""

import hashlib


def chained(digest: str, text: str) -> str:
    """Return the hash of a log that has hash `digest` after an entry is added."""
    return hashlib.sha256(as_bytes(digest) + as_bytes(text)).hexdigest()


def as_bytes(text: str) -> bytes:
    """Return a text as it is stored, also where damage made it no text."""
    return text.encode(errors="surrogatepass")
