"""Say that a question is answered: run a command, or send the certificate to a URL."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidArgument, in_words
from .replay import LogCertificate

PAUSES = (0.5, 2.0)  # seconds between attempts to send
PATIENCE = 20.0  # seconds for an answer


@dataclass(frozen=True)
class Notice:
    """What to do when a question is answered.

    command: for the shell, or on Windows a program and its arguments. It gets the certificate as
        JSON on its standard input, and in its environment LINGAPE_EXPERIMENT, LINGAPE_ARM,
        LINGAPE_NAME and LINGAPE_STATEMENT.
    webhook: a URL to which the certificate is sent as JSON (POST), with a sentence as "text".

    >>> import sys, tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import Notice
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     certificate = experiment.certificate()
    >>> Notice(command=f'"{sys.executable}" -c "exit(3)"').send(certificate)
    ['The command to run once settled failed, with status 3.']
    """

    command: str | None = None
    webhook: str | None = None

    def __post_init__(self) -> None:
        if self.webhook is not None and not self.webhook.startswith(("http://", "https://")):
            raise InvalidArgument(
                f"A webhook is a URL that begins with http:// or https://; got {self.webhook!r}."
            )

    def send(self, certificate: LogCertificate) -> list[str]:
        """Do it; return what went wrong, in sentences.

        certificate: of the question that is answered.
        """
        troubles = []
        if self.command is not None:
            troubles += self._run(self.command, certificate)
        if self.webhook is not None:
            troubles += self._post(self.webhook, certificate)
        return troubles

    def _run(self, command: str, certificate: LogCertificate) -> list[str]:
        told = {
            "LINGAPE_EXPERIMENT": certificate.experiment,
            "LINGAPE_ARM": str(certificate.arm),
            "LINGAPE_NAME": certificate.name,
            "LINGAPE_STATEMENT": _sentence(certificate),
        }
        try:
            ended = subprocess.run(
                command,
                shell=sys.platform != "win32",  # whose cmd.exe would run what is in a name
                check=False,
                text=True,
                input=json.dumps(certificate.to_dict()),
                env=os.environ | told,
            )
        except OSError as reason:  # without a shell, if there is no such program
            return [f"The command to run once settled could not be run ({in_words(reason)})."]
        if ended.returncode == 0:
            return []
        return [f"The command to run once settled failed, with status {ended.returncode}."]

    def _post(self, url: str, certificate: LogCertificate) -> list[str]:
        data: dict[str, Any] = {"text": f"{certificate.experiment}: {_sentence(certificate)}"}
        data["certificate"] = certificate.to_dict()
        request = urllib.request.Request(
            url, json.dumps(data).encode(), {"content-type": "application/json"}
        )
        for pause in (*PAUSES, None):
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE):
                    return []
            except OSError as reason:  # also what the server refuses
                trouble = f"The webhook could not be called ({in_words(reason)})."
                if isinstance(reason, urllib.error.HTTPError):
                    reason.close()  # it is the answer, too
            if pause is not None:
                time.sleep(pause)
        return [trouble]


def _sentence(certificate: LogCertificate) -> str:
    return certificate.statement.partition("\n")[0]
