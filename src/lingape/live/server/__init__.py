"""Experiments over HTTP: create, ask, tell, and watch what is proven.

Every answer is JSON (but for the export and the stream). What a client does wrong gets a status of
400 to 499 and {"error": a sentence, "kind": the name of the exception}; trouble with the database
gets 503, and doing the same again is safe. Any number of server processes may share a database.

A request passes the gate (who may come in?), its body is read (bodies), a route finds the
experiment on the shelf and does what is asked (routes), and the answer goes out in the words of
the library (answers), or as a sentence about what was wrong (failures). Streams watch.
"""

from .app import LOOPBACK, create_app
from .limits import Limits

__all__ = ["LOOPBACK", "Limits", "create_app"]
