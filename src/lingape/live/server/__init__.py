"""Experiments over HTTP: create, ask, tell, and watch what is proven.

Every answer is JSON (except for exports and streams). A client's mistake gets a status of 400 to
499 and {"error": a sentence, "kind": the name of the exception}; trouble with the database gets
503, and repeating the request is safe. Any number of server processes may share a database.

A request comes in on one of the connections, passes the gate, and reaches a route (app) with the
parameters of a method of Experiment (schemas). The route takes the experiment from the shelf,
calls the method, and answers with what it returns, or with what was wrong (failures). Streams
watch.
"""

from .app import LOOPBACK, create_app
from .gate import Limits

__all__ = ["LOOPBACK", "Limits", "create_app"]
