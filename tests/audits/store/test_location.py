"""A run behind a URL is read where it stands, gives the figures of a local one, and is never written."""

import json
import subprocess
import sys

import fsspec
import pytest
from made_run import SHIPPED_PLAN, write_experiment

from analysis.errors import AuditError
from audits.engine.drift import drift_by_step
from audits.engine.timing import phase_times
from audits.store.location import locate
from audits.store.reader import open_run
from runner.pages import build_page

TOKENS = "tokens/arm=dppo/seed=0/step=000001.parquet"
NO_QUOTES = str.maketrans("", "", "'\"\\")


@pytest.fixture(params=["memory", "file"])
def experiment(request, tmp_path):
    """An experiment on this machine, and the same behind a URL; the name holds what an engine takes for a pattern."""
    local = tmp_path / "local"
    write_experiment(local)
    if request.param == "file":
        place = tmp_path / "far[1] away"
        fsspec.filesystem("file").put(local.as_posix(), place.as_posix(), recursive=True)
        yield local, f"file://{place.as_posix()}"
        return
    store = fsspec.filesystem("memory")
    store.put(local.as_posix(), "/bucket/far[1] away", recursive=True)
    yield local, "memory://bucket/far[1] away"
    store.rm("/bucket", recursive=True)


def content(url):
    """Return the bytes of every object below a URL."""
    store, path = fsspec.core.url_to_fs(url)
    return {found: store.cat_file(found) for found in store.find(path)}


def change(url, relative, edit):
    """Replace an object by edit(its bytes); None removes it."""
    store, path = fsspec.core.url_to_fs(f"{url}/{relative}")
    edited = edit(store.cat_file(path))
    store.rm_file(path) if edited is None else store.pipe_file(path, edited)


def flip_a_bit_in_the_middle(old):
    middle = len(old) // 2
    return old[:middle] + bytes([old[middle] ^ 1]) + old[middle + 1 :]


@pytest.mark.parametrize(("command", "run"), [("gate", "pilot"), ("decide", "full"), ("verify", "full")])
def test_a_command_says_the_same_of_both_and_writes_nothing(audit, experiment, command, run):
    local, url = experiment
    before = content(url)
    far = audit(command, f"{url}/{run}", "--format", "json")
    assert "nothing is recorded there" in far.err
    code, said = far.code, json.loads(far.out)
    here = json.loads(audit(command, local / run, "--format", "json").out)
    for key in ("run", "recorded_look"):
        said.pop(key, None), here.pop(key, None)
    assert (code, said) == (audit.code, here)
    assert content(url) == before


def test_drift_and_times_are_the_same(experiment):
    local, url = experiment
    here, far = open_run(local / "full"), open_run(locate(f"{url}/full"))
    assert drift_by_step(far, far.sealed.plan) == drift_by_step(here, here.sealed.plan) != ()
    assert phase_times(far) == phase_times(here) != ()


def test_a_look_that_could_not_be_recorded_is_said(audit, experiment):
    _, url = experiment
    assert "this look was not recorded" in audit("decide", f"{url}/full").err


def test_the_page_is_not_written_there(audit, experiment):
    _, url = experiment
    assert "--out" in audit.refuses("report", f"{url}/full")


@pytest.mark.parametrize("experiment", ["memory"], indirect=True)
def test_the_page_shows_the_same(monkeypatch, experiment):
    path, url = experiment
    # A long name is cut in the page, so that the local one is a short one, too.
    monkeypatch.chdir(path.parent)
    local = path.name
    far, here = (repr(build_page(open_run(locate(f"{place}/full")))) for place in (url, local))
    # The name behind the URL has characters that a shell must not see bare: printed commands quote it.
    assert (far.translate(NO_QUOTES).replace(url, local) == here.translate(NO_QUOTES)) is True


@pytest.mark.parametrize(
    ("edit", "verified", "gated"),
    [
        (lambda old: None, "missing", "missing"),
        (lambda old: old[:-1], "bytes", "bytes"),
        # The gate compares sizes and footers; the bits are `audit verify`'s.
        (flip_a_bit_in_the_middle, "sha256", None),
    ],
    ids=["missing", "short", "flipped"],
)
def test_a_damaged_object_is_named(audit, experiment, edit, verified, gated):
    _, url = experiment
    change(url, f"pilot/{TOKENS}", edit)
    checks = json.loads(audit("verify", f"{url}/pilot", "--format", "json").out)["checks"]
    (files,) = (check for check in checks if check["id"] == "data_files")
    assert audit.code == 1
    assert TOKENS in files["reason"]
    assert verified in files["reason"]
    if gated:
        said = audit.refuses("gate", f"{url}/pilot")
        assert TOKENS in said
        assert gated in said


def test_what_is_no_run_is_said(audit, experiment):
    _, url = experiment
    assert "no such run directory" in audit.refuses("gate", f"{url}/nowhere")


@pytest.mark.parametrize(
    ("absent", "url", "told"),
    [
        ("upath", "s3://bucket/run", "pip install 'runaudit[objects]'"),
        ("s3fs", "s3://bucket/run", "pip install s3fs"),
        ("gcsfs", "gs://bucket/run", "pip install gcsfs"),
    ],
)
def test_a_package_that_is_missing_is_named(monkeypatch, absent, url, told):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(AuditError) as refused:
        locate(url)
    assert told in refused.value.message


def test_a_kind_of_url_that_nobody_knows_is_refused():
    with pytest.raises(AuditError, match="pigeon"):
        locate("pigeon://bucket/run")


def test_a_store_whose_empty_list_hides_that_nobody_answers_is_told_in_one_line(monkeypatch):
    def unreachable(*_, **__):
        raise OSError("nobody listens\nand a second line")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.isdir", unreachable)
    with pytest.raises(AuditError) as refused:
        locate("memory://bucket/run")
    assert refused.value.message.endswith("cannot be reached (OSError: nobody listens)")


def test_a_store_that_answers_with_its_own_error_is_told_in_one_line(monkeypatch):
    def unreachable(*_, **__):
        raise RuntimeError("no credentials\nand a second line")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.find", unreachable)
    with pytest.raises(AuditError) as refused:
        locate("memory://bucket/run")
    assert refused.value.message.endswith("cannot be reached (RuntimeError: no credentials)")


def test_a_local_run_needs_neither_package(tmp_path):
    write_experiment(tmp_path)
    script = (
        "import sys; from runner.cli.main import build_app; "
        f"build_app()(['gate', {str(tmp_path / 'pilot')!r}], standalone_mode=False); "
        "sys.exit(sorted({'fsspec', 'upath', 'ray'} & set(sys.modules)) or 0)"
    )
    root = SHIPPED_PLAN.parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
