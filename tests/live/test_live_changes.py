"""Experiments whose arms come and go, and whose rewards are corrected."""

import http.server
import io
import json
import logging
import sys
import threading
import urllib.error
from collections import Counter
from email.message import Message

import numpy as np
import pytest
from click.testing import CliRunner
from outpost import Outpost

import lingape.live.turns as turns
from lingape import Client, Experiment, Factors, Problem
from lingape.cli import main
from lingape.errors import (
    Conflict,
    InvalidArgument,
    InvalidArm,
    InvalidProblem,
    InvalidReward,
    InvalidState,
    NotFound,
)
from lingape.live import Corrected, Joined, Retired, Settled, Told, read_export, verify
from lingape.live.events import as_text
from lingape.live.notices import Notice
from lingape.live.store import chained
from systems import command_line

FACTORS = Factors(
    tone=["warm", "dry"],
    length=["short", "long"],
    exclude=[{"tone": "dry", "length": "long"}],
)
PROBLEM = Problem(FACTORS, noise=0.2, delta=0.01)
BEST = {"tone": "dry", "length": "long"}
PROBLEM_NAME = "tone=dry, length=long"
MEANS = np.array([0.1, 0.3, 0.5, 0.7])  # of the three, and of the best


def state(experiment):
    with experiment.current() as replay:
        return replay.explorer.state()


def tell(experiment, pulls, rng):
    for _ in range(pulls):
        if experiment.certificate().settled:
            return
        ticket = experiment.ask()[0]
        experiment.tell(ticket, MEANS[ticket.arm] + 0.2 * rng.normal())


def changing(url, explorer="race"):
    """Return an experiment in which everything has happened, as far as the answer."""
    rng = np.random.default_rng(5)
    experiment = Experiment.open(url, "ads", create=PROBLEM, explorer=explorer)
    tell(experiment, 6, rng)
    assert experiment.add_arms([BEST], key="once").arms == (3,)
    assert experiment.add_arms([BEST], key="once").arms == (3,)
    tell(experiment, 4, rng)
    ticket = experiment.ask()[0]
    experiment.retire(0, "out of stock")
    experiment.retire(0, "again")
    experiment.tell(ticket, MEANS[ticket.arm])
    typo = experiment.ask()[0]
    experiment.tell(typo, 100.0)
    experiment.correct(typo, MEANS[typo.arm], "typing error")
    experiment.correct(typo, MEANS[typo.arm], "typing error")
    tell(experiment, 5_000, rng)
    return experiment


@pytest.mark.parametrize("explorer", ["race", "lingape"])
def test_everything_that_can_change(each_url, explorer, tmp_path):
    with changing(each_url, explorer) as experiment:
        counts = Counter(type(event) for event in experiment.events())
        assert [counts[kind] for kind in (Joined, Retired, Corrected)] == [1, 1, 1]
        status = experiment.status()
        assert status.answer_name == "tone=dry, length=long"
        assert (status.retired, status.corrections) == (1, 1)
        assert [one.name for one in status.standings if one.retired] == [PROBLEM.name(0)]
        said = str(status)
        assert "1 correction." in said and "(retired)" in said
        assert "It speaks also of an arm that was added while it ran." in said
        assert "does not speak of retired arms: tone=warm, length=short (out of stock)" in said
        assert "Corrected rewards are what the trials really paid" in said
        assert ("Which arms are retired" in said) == (explorer == "race")
        assert verify(read_export_of(experiment, tmp_path)).certificate.settled
        assert experiment.history(points=10)[-1].leader == 3
        with Experiment.open(each_url, "ads") as other:
            assert state(other) == state(experiment)
            assert other.problem == experiment.problem


def read_export_of(experiment, folder):
    experiment.export(folder / "log.jsonl")
    return read_export(folder / "log.jsonl")


def test_snapshots_know_of_changes(url, monkeypatch):
    monkeypatch.setattr(turns, "EVERY", 2)  # a snapshot almost always
    with changing(url) as experiment, Experiment.open(url, "ads") as other:
        assert other._loaded > 2  # it used one
        assert state(other) == state(experiment)
        assert str(other.certificate()) == str(experiment.certificate())
        with other.current() as replay, experiment.current() as same:
            assert replay.times == same.times and replay.corrections == same.corrections


def test_processes_that_were_open_see_changes(url):
    with (
        Experiment.open(url, "ads", create=PROBLEM) as first,
        Experiment.open(url, "ads") as second,
    ):
        ticket = first.ask()[0]
        second.tell(ticket, 5.0)
        assert first.status().pulls == 1
        second.correct(ticket, None, "never took place")
        assert first.status().pulls == 0 and first.status().voided == 1
        second.add_arms([BEST])
        assert first.status().arms == 4
        assert state(first) == state(second)


def test_a_correction_puts_everything_as_if_it_had_been_right(url):
    rewards = np.random.default_rng(0).normal(size=60) * 0.05
    with (
        Experiment.open(url, "right", create=PROBLEM) as right,
        Experiment.open(url, "wrong", create=PROBLEM) as wrong,
    ):
        for pull, reward in enumerate(rewards):
            right.add(pull % 3, reward)
            wrong.add(pull % 3, 3.0 if pull == 7 else reward)
        (event,) = [e.seq for e in wrong.events() if getattr(e, "reward", None) == 3.0]
        wrong.correct(event, 2.0, "still wrong")
        wrong.correct(event, rewards[7], "typing error")
        assert state(wrong) == state(right)
        assert wrong.values().means == pytest.approx(right.values().means)
        wrong.verify()
        assert "2 corrections" in wrong.certificate().statement
        successor = wrong.refit("again", per_arm=True)
        assert any("Corrected rewards are" in one for one in successor.certificate().assumptions)
        with Experiment.open(url, "again") as same:
            assert same.certificate() == successor.certificate()
        assert successor.values().means == pytest.approx(right.values().means)


def test_a_correction_reopens_the_question(url):
    easy = Problem([[1, 0], [0, 1]], noise=0.1, names=["red", "blue"])
    with Experiment.open(url, "ads", create=easy, explorer="lingape") as experiment:
        while not experiment.certificate().settled:
            ticket = experiment.ask()[0]
            experiment.tell(ticket, [1.0, 0.8][ticket.arm])
        last = [event for event in experiment.events() if isinstance(event, Told)][-1]
        assert not experiment.correct(last.ticket, 1.8 if last.arm else 0.0, "wrong").settled
        assert experiment.ask()
        experiment.verify()
        while not experiment.certificate().settled:
            ticket = experiment.ask()[0]
            experiment.tell(ticket, [1.0, 0.8][ticket.arm])
        experiment.verify()
        settled = [event for event in experiment.events() if isinstance(event, Settled)]
        assert [event.corrections for event in settled] == [0, 1]


def test_correcting_again_with_a_key_changes_nothing(url):
    with Experiment.open(url, "ads", create=PROBLEM) as experiment:
        experiment.add(0, 1.0)
        experiment.correct(2, 2.0, "wrong", key="k")
        experiment.correct(2, 3.0, "still wrong")
        before = experiment.events()
        experiment.correct(2, 2.0, "wrong", key="k")  # the answer had been lost
        assert experiment.events() == before and experiment.values().means[0] == 3.0
        with pytest.raises(Conflict, match="Key 'k' was used to correct event 2 to 2.0"):
            experiment.correct(2, 4.0, "wrong", key="k")


@pytest.mark.parametrize("target", [1, 2, 4])
def test_a_log_that_corrects_what_is_no_reward_is_damaged(url, tmp_path, target):
    with Experiment.open(url, "ads", create=PROBLEM) as experiment:
        experiment.ask()
        experiment.add(0, 1.0)
        experiment.correct(3, 2.0, "wrong")
        entries = list(read_export_of(experiment, tmp_path))
    verify(entries)
    text = entries[-1].text.replace('"corrects":3', f'"corrects":{target}')
    with pytest.raises(InvalidState, match="corrects"):
        verify(with_other_end(entries, text))


def with_other_end(entries, text):
    """Return entries whose last one has another text, with the hash that belongs to it."""
    digest = chained(entries[-2].digest, text)
    return [*entries[:-1], entries[-1]._replace(text=text, digest=digest)]


def test_a_program_that_is_started_again_goes_on_after_changes(url):
    with changing(url) as experiment, Experiment.open(url, "ads", create=PROBLEM) as again:
        assert again.problem == experiment.problem
    with pytest.raises(Conflict, match="delta"):
        Experiment.open(url, "ads", create=PROBLEM.replace(delta=0.5))


def test_a_correction_that_later_events_rest_on_is_refused(url):
    with Experiment.open(url, "eye", create=Problem(np.eye(3), noise=1)) as experiment:
        for arm in range(3):
            experiment.add(arm, 0.1)
        experiment.retire(1, "sold out")
        before = experiment.events()
        with pytest.raises(Conflict, match="Nothing was recorded"):
            experiment.correct(3, None, "no trial")
        assert experiment.events() == before


def test_what_cannot_be_changed(url):
    with Experiment.open(url, "ads", create=PROBLEM) as experiment:
        with pytest.raises(InvalidArm, match="no reward yet"):
            Experiment.open(url, "eye", create=Problem(np.eye(3), noise=1)).retire(0, "gone")
        with pytest.raises(InvalidArgument, match="a reason"):
            experiment.retire(0, "")
        with pytest.raises(InvalidArgument, match="a reason"):
            experiment.correct(2, 1.0, "")
        with pytest.raises(InvalidProblem, match="'odd' is not a level of tone"):
            experiment.add_arms([{"tone": "odd", "length": "long"}])
        with pytest.raises(InvalidArgument, match="must be a list"):
            experiment.add_arms({"tone": "dry", "length": "long"})
        ticket = experiment.ask()[0]
        with pytest.raises(InvalidArgument, match="recorded no reward"):
            experiment.correct(2, 1.0, "wrong")
        with pytest.raises(InvalidReward):
            experiment.correct(ticket, float("nan"), "wrong")
        experiment.add_arms([BEST], key="k")
        with pytest.raises(Conflict, match="other arms"):
            experiment.add_arms([BEST, BEST], key="k")
        before = experiment.events()
        with pytest.raises(InvalidProblem, match="Names must differ"):
            experiment.add_arms([BEST])
        assert experiment.events() == before
        successor = experiment.refit("next", interactions="all")
        with pytest.raises(InvalidArgument, match="begin another successor"):
            successor.correct(2, 1.0, "wrong")
    with changing(url.replace("run.db", "more.db")) as experiment:
        with pytest.raises(Conflict, match="The question is answered"):
            experiment.retire(1, "late")
        with pytest.raises(Conflict, match="The question is answered"):
            experiment.add_arms([BEST])


def test_a_successor_with_another_goal(url):
    """What is not said stays; a bound on θ goes with the features that it is for."""
    model = FACTORS.model(interactions="all")
    problem = Problem(model, noise=0.2, norm_bound=5.0, epsilon=0.5)
    with Experiment.open(url, "ads", create=problem) as experiment:
        for arm in (0, 1, 2) * 5:
            experiment.add(arm, MEANS[arm])
        with experiment.refit("stricter", epsilon=0.01, delta=0.001) as stricter:
            assert stricter.problem == problem.replace(epsilon=0.01, delta=0.001)
            assert stricter.status().pulls == 15
        with experiment.refit("noisy", noise="normal") as noisy:
            assert noisy.problem == problem.replace(noise="normal")
            assert noisy.check().noise_scale is None
        with experiment.refit("shorter", per_arm=True, norm_bound=2.0) as shorter:
            assert shorter.problem.norm_bound == 2.0
            assert "taken over from ads" in shorter.certificate().statement
        with experiment.refit("plain", interactions=()) as plain:
            assert plain.problem.factors == FACTORS and plain.problem.norm_bound is None
        with pytest.raises(InvalidReward, match="0 or 1"):
            experiment.refit("clicks", noise="binary")
        with pytest.raises(NotFound):
            Experiment.open(url, "clicks")
        with pytest.raises(Conflict, match="epsilon"):
            experiment.refit("stricter", epsilon=0.02, delta=0.001)
        experiment.add(0, MEANS[0])
        with pytest.raises(Conflict, match="with other rewards"):
            experiment.refit("stricter", epsilon=0.01, delta=0.001)


def test_doubts_about_tickets_come_along(url):
    """No model cures them."""
    with Experiment.open(url, "ads", create=PROBLEM) as experiment:
        while not experiment.check().warnings:
            for ticket in experiment.ask(10):
                if ticket.arm == 0:
                    experiment.void(ticket, "timeout")
                else:
                    experiment.tell(ticket, MEANS[ticket.arm])
        with experiment.refit("next", epsilon=0.5) as successor:
            (warning,) = successor.certificate().warnings
            assert warning.startswith("In ads, where rewards came from: Tickets of tone=warm")
            successor.verify()
            with successor.refit("last", epsilon=0.6) as last:
                assert last.check().warnings == (f"In next, where rewards came from: {warning}",)


def test_explorers_that_plan_ahead_refuse_changes(url):
    with Experiment.open(url, "ads", create=PROBLEM, explorer="xy_static") as experiment:
        tell(experiment, 5, np.random.default_rng(0))
        before = experiment.events()
        with pytest.raises(InvalidArgument, match="Race and LinGapE"):
            experiment.add_arms([BEST])
        assert experiment.events() == before
        assert experiment.status().arms == 3


def test_a_log_that_changes_arms_after_the_answer_is_damaged(url, tmp_path):
    with changing(url) as experiment:
        entries = list(read_export_of(experiment, tmp_path))
    verify(entries)
    text = entries[-1].text
    assert '"event":"settled"' in text
    assert '"corrections":1' in text
    with pytest.raises(InvalidState, match="there were 1 corrections before it"):
        verify(with_other_end(entries, text.replace('"corrections":1', '"corrections":0')))
    change = dict(seq=entries[-1].seq + 1, time=0.0, arm=1, reason="late")
    after = [*entries, entries[-1]._replace(seq=change["seq"])]
    with pytest.raises(InvalidState, match="the question was answered before"):
        verify(with_other_end(after, as_text(Retired(**change))))


def test_over_http(url):
    with Outpost(url) as outpost, Client(outpost.url) as client:
        experiment = client.create("ads", PROBLEM)
        assert experiment.problem == PROBLEM
        assert experiment.add_arms([BEST]).arms == (3,)
        assert len(experiment.problem) == 4
        ticket = experiment.ask()[0]
        experiment.tell(ticket, 0.4)
        assert experiment.correct(ticket, 0.3, "typing error").pulls == 1
        assert experiment.values().means[ticket.arm] == 0.3
        assert experiment.retire(1, "sold out").pulls == 1
        for arm in (0, 2, 3) * 4:
            experiment.add(arm, MEANS[arm])
        assert [one.factor for one in experiment.effects().factors] == ["tone", "length"]
        assert "looks best" in str(experiment.effects())
        assert experiment.contrast({"tone": "dry"}, {"tone": "warm"}).value > 0
        assert len(experiment.lifts(against=0)) == 3
        successor = experiment.refit("ads-2", per_arm=True)
        assert any("which arms were added" in one for one in successor.certificate().assumptions)
        assert successor.status().pulls == 12 + (ticket.arm != 1)
        assert successor.problem.names == tuple(PROBLEM.names[k] for k in (0, 2)) + (PROBLEM_NAME,)
        assert experiment.refit("ads-2", per_arm=True).status().pulls == successor.status().pulls
        assert successor.problem.factors.per_arm
        looser = successor.refit("ads-3", noise=(0, 1), epsilon=0.3, explorer="lingape")
        assert looser.problem == successor.problem.replace(noise=(0, 1), epsilon=0.3)
        assert experiment.verify().certificate.remarks == experiment.certificate().remarks
        (now,) = [next(experiment.watch())]
        assert now.factors == ("tone", "length") and now.remaining is not None


def invoke(*words, code=0, **more):
    result = CliRunner().invoke(main, ["live", *map(str, words)], **more)
    assert result.exit_code == code, result.output
    return result.output


def test_from_the_shell(url, tmp_path):
    table = tmp_path / "arms.csv"
    table.write_text("tone,length\nwarm,short\nwarm,long\ndry,short\n")
    said = invoke("new", url, "ads", table, "--noise-scale", 0.2)
    assert "3 arms, 3 features: constant, tone=dry, length=long" in said
    added = invoke("add-arms", url, "ads", "--levels", "tone=dry,length=long")
    assert added == "3\ttone=dry, length=long\n"
    ticket = invoke("ask", url, "ads").split("\t")[0]
    invoke("tell", url, "ads", ticket, 5)
    assert invoke("correct", url, "ads", ticket, "-0.5", "--reason", "typo") == "1 reward.\n"
    assert invoke("correct", url, "ads", ticket, "none", "--reason", "no trial") == "0 rewards.\n"
    data = json.loads(invoke("retire", url, "ads", 0, "--reason", "sold out", "--json"))
    assert data == {"arm": 0, "reason": "sold out", "pulls": 0, "settled": False}
    for wrong in ("x", "0,7"):
        said = invoke("correct", url, "ads", ticket, wrong, "--reason", "typo", code=2)
        assert "is not a valid float" in said
    assert "--levels" in invoke("add-arms", url, "ads", code=2)
    with Experiment.open(url, "ads") as experiment:
        while not experiment.certificate().settled:
            pulled = experiment.ask()[0]
            experiment.tell(pulled, MEANS[pulled.arm])
    note = tmp_path / "note.txt"
    code = "import os, sys; said = os.environ['LINGAPE_EXPERIMENT'], os.environ['LINGAPE_ARM']; "
    code += "open(sys.argv[1], 'w').write(' '.join(said))"
    command = command_line(sys.executable, "-c", code, note)
    out = invoke("watch", url, "ads", "--on-settled", command)
    assert "Settled. No arm is better than tone=dry, length=long" in out
    assert note.read_text("utf-8") == "ads 3"
    assert "2 corrections" in invoke("certificate", url, "ads")
    goal = ("--epsilon", 0.5, "--delta", 0.2, "--bounded", -9, 9, "--explorer", "lingape")
    begun = json.loads(invoke("refit", url, "ads", "next", *goal, "--json"))
    assert begun["pulls"] and begun["check"]["noise_scale"] == 9.0
    with Experiment.open(url, "next") as successor:
        assert (successor.problem.epsilon, successor.problem.delta) == (0.5, 0.2)


class Mailbox(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.mail.append(json.loads(body))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        self.end_headers()

    def log_message(self, *what):
        pass


@pytest.fixture
def mailbox():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mailbox) as server:
        server.mail, server.answers = [], []
        server.url = f"http://127.0.0.1:{server.server_address[1]}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_webhooks_are_tried_again(mailbox, url, monkeypatch):
    monkeypatch.setattr("lingape.live.notices.PAUSES", (0.0, 0.0))
    with changing(url) as experiment:
        certificate = experiment.certificate()
    mailbox.answers = [500]
    assert Notice(webhook=mailbox.url).send(certificate) == []
    first, second = mailbox.mail
    assert first == second
    assert first["text"].startswith("ads: Settled. No arm is better than tone=dry, length=long")
    assert first["certificate"]["arm"] == 3
    mailbox.answers = [500, 500, 404]
    (trouble,) = Notice(webhook=mailbox.url).send(certificate)
    assert "404" in trouble
    (trouble,) = Notice(command="exit 7").send(certificate)
    assert "status 7" in trouble
    with pytest.raises(InvalidArgument, match="http"):
        Notice(webhook="example.org")


def test_what_a_webhook_answers_is_closed_when_it_refuses(url, monkeypatch):
    answers = []  # kept, as Python closes what nobody has

    def refusing(request, timeout):
        body = io.BytesIO(b"no")
        answers.append(urllib.error.HTTPError(request.full_url, 500, "no", Message(), body))
        raise answers[-1]

    monkeypatch.setattr("lingape.live.notices.PAUSES", (0.0,))
    monkeypatch.setattr("urllib.request.urlopen", refusing)
    with changing(url) as experiment:
        (trouble,) = Notice(webhook="http://127.0.0.1:1/").send(experiment.certificate())
    assert "500" in trouble
    assert [answer.closed for answer in answers] == [True, True]


def test_a_server_announces_an_answer_once(mailbox, url):
    easy = Problem([[1, 0], [0, 1]], noise=0.1, names=["red", "blue"])
    with Outpost(url, "--webhook", mailbox.url) as outpost, Client(outpost.url) as client:
        experiment = client.create("ads", easy)
        for arm in (0, 1) * 20:
            experiment.add(arm, [1.0, 0.0][arm])
        done = threading.Event()
        while not mailbox.mail:  # it is sent by a thread of the server
            done.wait(0.01)
        assert experiment.status().settled
        experiment.add(0, 1.0)
    assert [one["certificate"]["name"] for one in mailbox.mail] == ["red"]


def test_what_is_recorded_is_logged(url, caplog):
    with caplog.at_level(logging.INFO, logger="lingape"), changing(url) as experiment:
        experiment.refit("next").close()
        experiment.refit("next").close()
    said = [record.getMessage() for record in caplog.records]
    kinds = [one.rpartition(" ")[2] for one in said if one.startswith("ads: event")]
    assert kinds == ["created", "joined", "retired", "corrected", "settled"]
    successor = [one for one in said if one.startswith("next: event")]
    assert successor[:2] == ["next: event 1, created", "next: event 2, carried"]
    assert len(successor) == len(set(successor)) <= 3
    assert {record.name for record in caplog.records} == {"lingape.live.turns"}


def test_archiving_only_tidies_the_list(url):
    with Outpost(url) as outpost, Client(outpost.url) as client:
        ads = client.create("ads", PROBLEM)
        assert ads.archive() == ads.archive() == (0, False)
        assert client.experiments()[0].archived and ads.status().archived
        assert ads.tell(ads.ask()[0], 0.5) == (1, False)
        ads.archive(False)
        assert not ads.status().archived
        assert [event.archived for event in ads.events() if event.kind == "archived"] == [
            *(True, False)
        ]
        ads.verify()
        with pytest.raises(InvalidArgument):
            ads.archive("yes")
    with (
        Experiment.open(url, "ads") as here,
        pytest.raises(InvalidArgument, match="True or False"),
    ):
        here.archive(1)
