"""Hashes that chain the entries of a log: each covers all entries up to its own.

Readers notice an entry that was changed, lost or inserted. This protects against accidents and
edits by hand, not against someone who computes the hashes again, nor against a log that was cut
short: that shows only when the last hash was kept elsewhere.
"""

import hashlib


def chained(digest: str, text: str) -> str:
    """Return the hash of a log with hash `digest` after adding an entry."""
    return hashlib.sha256(as_bytes(digest) + as_bytes(text)).hexdigest()


def as_bytes(text: str) -> bytes:
    """Return a text as it is stored, even if damage made it invalid."""
    return text.encode(errors="surrogatepass")
