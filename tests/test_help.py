"""help() of everything public says what its arguments are."""

import importlib
import inspect
import re
import subprocess
import sys
from enum import Enum

import lingape
from lingape import errors

MODULES = ("lingape", "lingape.live", "lingape.plots", "lingape.testing")
NOT_MADE = {"Experiment"}  # Experiment.open, which explains its arguments, makes one
REFERENCE = re.compile(r"(?:as for|see) (?:every )?([A-Z]\w+)(?:\.(\w+))?")


def public():
    """Yield each public class and function once, with its name."""
    seen = set()
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing not in seen:
                seen.add(thing)
                yield name, thing


def called():
    """Yield everything public that takes arguments: functions, classes and their methods."""
    for name, thing in public():
        ours = inspect.isclass(thing) and not issubclass(thing, Enum | Exception)
        made = ours and name not in NOT_MADE and not getattr(thing, "_is_protocol", False)
        if made or inspect.isfunction(thing):
            yield name, thing
        for part, value in inspect.getmembers(thing) if ours else ():
            method = inspect.isfunction(value) or inspect.ismethod(value)
            if method and not part.startswith("_") and value.__module__.startswith("lingape"):
                yield f"{name}.{part}", value


def explanation(thing):
    """Return a docstring, and those to which it refers."""
    text = inspect.getdoc(thing) or ""
    for name, part in REFERENCE.findall(text):
        other = getattr(lingape, name, None) or getattr(lingape.live, name)
        text += "\n" + inspect.getdoc(getattr(other, part) if part else other)
    return text


def test_every_argument_is_explained():
    unsaid = {}
    for name, thing in called():
        text = explanation(thing)
        arguments = [*inspect.signature(thing).parameters]
        missing = [one for one in arguments if not re.search(rf"\b{one}\b", text + " self cls")]
        if missing or not text:
            unsaid[name] = missing
    assert unsaid == {}, "The docstring has to say what these arguments are."


def test_properties_say_what_they_are():
    for name, thing in public():
        if inspect.isclass(thing):
            for part, value in inspect.getmembers(thing, lambda one: isinstance(one, property)):
                if not part.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{part}"


def test_exceptions_are_importable_from_the_package():
    found = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.LingapeError)
    }
    assert found <= set(lingape.__all__)
    for name in found:
        assert getattr(lingape, name) is getattr(errors, name)


def test_plots_and_testing_need_no_import_of_their_own():
    code = "import lingape; lingape.plots.effects; lingape.testing.EXPLORER_LAWS; lingape.errors"
    subprocess.run([sys.executable, "-c", code], check=True)
