"""The Dockerfile and compose.yaml, as far as they can be followed without Docker."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import crew
import pytest
import yaml
from click.testing import CliRunner
from outpost import Outpost

from lingape import Client, __version__
from lingape.cli import main
from lingape.errors import InvalidArgument

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
TOKEN = "all-of-it"


def instructions():
    """Yield the instructions of the Dockerfile, each with what follows it."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.M)
    for line in text.replace("\\\n", "").splitlines():
        if line:
            name, _, rest = line.partition(" ")
            yield name, rest


def only(wanted):
    """Return what follows the only instruction of a name."""
    (found,) = [rest for name, rest in instructions() if name == wanted]
    return found


def copied():
    """Return what is copied from the checkout."""
    lists = [rest.split() for name, rest in instructions() if name == "COPY"]
    return {source for one in lists if not one[0].startswith("--") for source in one[:-1]}


def healthy(server):
    """Whether the image's check, run beside a server, says that it is healthy."""
    command = json.loads(re.search(r"CMD (\[.*\])", only("HEALTHCHECK"))[1])
    assert command[0] == "python" and command[-1].count(" 8000, timeout=4)") == 1
    code = command[-1].replace(" 8000, timeout=4)", f" {server.port}, timeout=50)")  # of one try
    done = subprocess.run(
        [sys.executable, *command[1:-1], code], stderr=subprocess.PIPE, timeout=60
    )
    return done.returncode == 0


def moved(command, places):
    """Return the options of a command for the image, with places here instead."""
    entry, (first, *options) = json.loads(only("ENTRYPOINT")), command
    assert entry == ["lingape"] and first == "serve"
    for place, ours in places.items():
        assert any(place in option for option in options)
        options = [option.replace(place, str(ours)) for option in options]
    return options


def started(options, **environment):
    """Start a server with these options, on a port that is free."""
    (database,) = [option[5:] for option in options if option.startswith("--db=")]
    others = [option for option in options if not option.startswith("--db=")]
    return Outpost(database, *others, environment=environment)


def test_the_build_gets_what_it_copies_and_nothing_else():
    allowed = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert copied() == {line[1:] for line in allowed if line.startswith("!")}
    assert "*" in allowed
    assert [path for path in copied() if not (ROOT / path).exists()] == []
    assert {"pyproject.toml", "src", "README.md", "LICENSE"} <= copied()


def test_the_build_installs_extras_that_there_are():
    (wanted,) = [
        found for _, rest in instructions() for found in re.findall(r"'\.\[(.*)\]'", rest)
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(wanted.split(",")) <= set(project["optional-dependencies"])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="runs steps of a Linux image")
def test_the_build_makes_a_service(tmp_path):
    """The steps of its first stage, here; they download what constraints.txt pins."""
    checkout, target = tmp_path / "checkout", tmp_path / "lingape"
    checkout.mkdir()
    for name in copied():
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, checkout / name)
    (build,) = [rest for name, rest in instructions() if name == "RUN" and "pip" in rest]
    (kept,) = re.findall(r"--from=build (\S+)", (ROOT / "Dockerfile").read_text("utf-8"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    told = " ".join(rest for name, rest in instructions() if name == "ENV")
    pins = dict(re.findall(r"(PIP_\w+)=(\S+)", told))
    assert pins.keys() == {"PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"}
    steps, environment = build.replace(kept, str(target)), os.environ | pins | {"PATH": path}
    subprocess.run(steps, shell=True, cwd=checkout, env=environment, check=True)

    def says(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    lingape = str(target / "bin" / "lingape")
    assert says(lingape, "--version") == f"lingape, version {__version__}\n"
    assert says(target / "bin" / "python", "-c", "import psycopg, numba").endswith("'numba'\n")
    options = moved(json.loads(only("CMD")), {only("VOLUME"): tmp_path})
    assert "needs a token" in says(lingape, "serve", *options)


def test_the_image_runs_as_a_user_who_owns_one_folder():
    user, group = only("USER").split(":")
    assert int(user) >= 10_000 and int(group) >= 10_000
    created = " ".join(rest for name, rest in instructions() if name == "RUN")
    assert f"--uid {user}" in created and f"--gid {group}" in created
    assert created.count(only("VOLUME")) == 2  # the user's home, made for it
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name in ("RUN", "COPY"))


def test_the_image_begins_with_a_version_of_python():
    first = next(rest for name, rest in instructions() if name == "FROM")
    assert re.fullmatch(r"python:3\.\d+-slim-\w+(@sha256:\w+)? AS base", first)


def test_the_port_is_the_same_everywhere():
    default = {option.name: option.default for option in main.get_command(None, "serve").params}
    assert only("EXPOSE") == str(default["port"])
    assert COMPOSE["services"]["lingape"]["ports"] == [
        f"127.0.0.1:{only('EXPOSE')}:{only('EXPOSE')}"
    ]


def test_containers_can_change_nothing_but_their_data():
    for service in COMPOSE["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"] and "cap_add" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert COMPOSE["services"]["db"]["user"] == "postgres"
    assert "ports" not in COMPOSE["services"]["db"]


def test_the_database_is_kept_where_its_image_writes():
    """From PostgreSQL 18 on the image refuses a volume in the folder `data`."""
    (version,) = re.findall(r"postgres:(\d+)-", COMPOSE["services"]["db"]["image"])
    assert int(version) >= 18
    assert COMPOSE["services"]["db"]["volumes"] == ["experiments:/var/lib/postgresql"]


def test_secrets_are_files_that_nobody_keeps():
    files = {name: secret["file"] for name, secret in COMPOSE["secrets"].items()}
    assert files == {name: f"secrets/{name}" for name in files}
    assert "secrets/" in (ROOT / ".gitignore").read_text("utf-8").split()
    for service in COMPOSE["services"].values():
        said = json.dumps([service.get("command", []), service.get("environment", {})])
        assert {name for name in files if f"/run/secrets/{name}" in said} == set(
            service["secrets"]
        )


def test_docker_accepts_compose_yaml():
    command = ["docker", "compose", "--file", str(ROOT / "compose.yaml"), "config", "--quiet"]
    try:
        subprocess.run(["docker", "compose", "version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("This needs the command docker compose.")
    subprocess.run(command, check=True)


@pytest.mark.skipif(os.name != "posix", reason="stops a server by SIGTERM")
def test_the_image_needs_a_token_and_keeps_experiments_in_its_volume(tmp_path):
    options = moved(json.loads(only("CMD")), {only("VOLUME"): tmp_path})
    refused = CliRunner(env={"LINGAPE_WRITE_TOKEN": None}).invoke(main, ["serve", *options])
    assert refused.exit_code == 1 and "needs a token" in refused.output
    with started(options, LINGAPE_WRITE_TOKEN=TOKEN) as server:
        assert healthy(server)
        assert list(tmp_path.glob("*.db"))
        assert server.end() == 0
        assert not healthy(server)


def test_the_service_with_postgresql(postgres_server, postgres_url, tmp_path):
    made = {name: secrets.token_hex(32) for name in COMPOSE["secrets"]}
    for name, secret in made.items():
        (tmp_path / name).write_text(f"{secret}\n")
    with postgres_server.guarded(made["db_password"]) as url:
        places = {"postgresql://lingape@db/lingape": url, "/run/secrets": tmp_path}
        command = COMPOSE["services"]["lingape"]["command"]
        with started(moved(command, places)) as server:
            assert healthy(server)
            place = f"http://127.0.0.1:{server.port}"
            with Client(place, made["write_token"]) as client:
                client.create("ads", crew.problem())
            with Client(place, made["read_token"]) as client:
                assert client.experiment("ads").status().pulls == 0
            with Client(place) as client, pytest.raises(InvalidArgument, match="requires a token"):
                client.experiments()
            assert server.end() == 0
            assert not healthy(server)
