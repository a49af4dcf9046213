"""A private PostgreSQL for tests, from Debian's packages."""

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


class Missing(Exception):
    """Why there is no PostgreSQL to be had."""


def binaries():
    """Return the folder of the newest server installed."""
    found = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if folder.is_dir()]
    whole = [folder for folder in found if (folder / "initdb").exists()]
    if not whole:
        raise Missing("no server in /usr/lib/postgresql/*/bin: apt-get install postgresql")
    return max(whole, key=lambda folder: int(folder.parent.name))


class Server:
    """A server of its own: a folder, a socket in it, and no port."""

    def __init__(self):
        try:
            import psycopg  # noqa: F401
        except ImportError as reason:
            raise Missing('psycopg is not installed: pip install "lingape[postgres]"') from reason
        self._binaries = binaries()
        self.folder = tempfile.mkdtemp(prefix="lingape-pg-")
        self._who = {}
        if os.geteuid() == 0:  # a server refuses to run as root
            import pwd  # not on Windows

            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                raise Missing("root needs a user postgres to run the server as") from None
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        try:
            self._run("initdb", "--no-sync", "--auth=trust", "--username=tests", "-E", "UTF8")
            access = Path(self.folder, "data/pg_hba.conf")
            access.write_text(f"local all guarded scram-sha-256\n{access.read_text()}")
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def start(self):
        settings = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        self._run("pg_ctl", "start", "-w", "-l", f"{self.folder}/log", "-o", settings)

    def restart(self):
        """Let it crash, as far as its processes can tell, and come back."""
        self._run("pg_ctl", "restart", "-w", "-m", "immediate", "-l", f"{self.folder}/log")

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "stop", "-w", "-m", mode)

    @contextmanager
    def full(self):
        """Say what a server says when its disk is full; the tests' own disk had better not be."""
        self.execute(
            "CREATE FUNCTION lingape.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        self.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON lingape.entries "
            "EXECUTE FUNCTION lingape.full()"
        )
        yield
        self.execute("DROP TRIGGER full_disk ON lingape.entries")

    def hang_up(self):
        """End all connections of lingape."""
        self.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = 'lingape'"
        )

    def empty(self):
        """Throw away all experiments, and whoever is connected."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        self.execute("DROP SCHEMA IF EXISTS lingape CASCADE")

    @property
    def url(self):
        return f"postgresql://tests@/postgres?host={self.folder}"

    @contextmanager
    def guarded(self, password):
        """Give a URL without its password, for a role that needs it."""
        self.execute(f"CREATE ROLE guarded SUPERUSER LOGIN PASSWORD $${password}$$")
        try:
            yield self.url.replace("tests@", "guarded@")
        finally:
            self.execute("REASSIGN OWNED BY guarded TO tests")
            self.execute("DROP ROLE guarded")

    def execute(self, statement, *values):
        """Do something as somebody who may do everything."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def dump(self):
        """Return statements that make all experiments again, for `restore`.

        Without \\restrict, with a random key, which older versions of psql do not know.
        """
        dump = self._client("pg_dump", "--inserts", "--no-owner", "--schema=lingape", "postgres")
        return re.sub(r"^\\(un)?restrict .*\n", "", dump, flags=re.M)

    def restore(self, statements):
        """Run statements of `dump`."""
        self._client("psql", "-q", "-v", "ON_ERROR_STOP=1", "postgres", given=statements)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _client(self, program, *arguments, given=""):
        done = subprocess.run(
            [self._binaries / program, "-h", self.folder, "-U", "tests", *arguments],
            input=given,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stderr}")
        return done.stdout

    def _run(self, program, *arguments):
        with open(f"{self.folder}/output", "ab") as output:  # a pipe would stay open
            done = subprocess.run(
                [self._binaries / program, "-D", f"{self.folder}/data", *arguments],
                cwd=self.folder,
                env={"LC_ALL": "C", "PATH": os.environ["PATH"], "PGCTLTIMEOUT": "300"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **self._who,
            )
        if done.returncode:
            said = Path(self.folder, "output").read_text()[-2000:]
            raise RuntimeError(f"{program} {' '.join(arguments)} failed:\n{said}")
