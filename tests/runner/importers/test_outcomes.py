import pytest
from made_run import write_run

from analysis.errors import AuditError
from audits.engine.decide import decide
from audits.store.reader import connect, open_run
from runner.importers.engine.importing import import_run
from runner.importers.engine.registry import importer_ids, load_importer

ARMS = {"baseline": "a", "treatment": "b"}
GOOD = "item_id,a,b\nq1,1,0\nq2,0.5,1\n"


def import_outcomes(source, *, out, arms, item=None):
    words = ["outcomes", str(source)]
    return import_run(words, arms=list(arms.items()), item=item, out=out, command_line=["audit"])


@pytest.fixture
def imported(tmp_path):
    """Import a table given as text or bytes and return the rows of the run it made."""

    def imported(content, name="x.csv", arms=ARMS, item="item_id"):
        (tmp_path / name).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        out = tmp_path / "run"
        import_outcomes(tmp_path / name, out=out, item=item, arms=arms)
        with connect(open_run(out)) as connection:
            return connection.execute("SELECT arm, item_id, score, correct FROM evals ORDER BY ALL").fetchall()

    yield imported
    run = tmp_path / "run"
    assert not run.exists() or open_run(run).manifest.status == "complete", "a refused import left a run behind"


ROWS = [
    ("baseline", "q1", 1.0, None),
    ("baseline", "q2", 0.5, None),
    ("treatment", "q1", 0.0, False),
    ("treatment", "q2", 1.0, True),
]


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.removesuffix("\n"),
        GOOD + "\n\n",
        "\n" + GOOD.replace("q2", "\nq2"),
        'item_id,a,b\n"q1","1","0"\n"q2","0.5","1"\n',
        "item_id,a,b\n q1 , 1.0,0\nq2,5e-1,+1.\n",
        "item_id,a,b\nq1,TRUE,false\nq2,.5,True\n",
        'note,b,item_id,a\n"two\nlines, and a ""quote""",0,q1,1\n,1,q2,0.50\n',
        "b,item_id,text,a\n0,q1," + "x" * 300_000 + ",1\n1,q2,,0.5\n",
    ],
    ids=[
        "plain", "bom", "crlf", "cr", "no last newline", "blank lines at the end", "blank lines", "quoted",
        "spaces and exponents", "true and false", "other columns", "a huge cell",
    ],
)  # fmt: skip
def test_one_table_in_many_spellings_gives_the_same_rows(imported, content):
    assert imported(content) == ROWS


def test_a_tab_separated_table_is_known_by_its_suffix(imported):
    assert imported(GOOD.replace(",", "\t"), "x.tsv") == ROWS


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("item_id,a,b\n", "a header and no row"),
        ("item_id,a,b\nq1,1,0\nq1,0,0\nq2,1,1\nq2,1,1\n", r"2 item ids stand more than once: q1 \(lines 2, 3\), q2"),
        ("item_id,a,b\nq1,1,0\n q1,0,0\n", r"q1 \(lines 2, 3\)"),
        ("item_id,a,b\nq1,1,0\n,0,0\n", "line 3: column \"item_id\" is empty"),
        ("item_id,a,b\nq1,1,0\n  ,0,0\n", "line 3"),
        ("item_id,a,b\nq1,,0\n", r"1 cells of column \"a\".*q1 \(line 2\): ''"),
        ("item_id,a,b\nq1,nan,0\n", "'nan'"),
        ("item_id,a,b\nq1,NaN,0\nq2,inf,0\nq3,-inf,0\n", "3 cells"),
        ("item_id,a,b\nq1,1.0001,0\n", r"'1\.0001'"),
        ("item_id,a,b\nq1,-0.1,0\n", "-0.1"),
        ("item_id,a,b\nq1,1e400,0\n", "1e400"),
        ("item_id,a,b\nq1,yes,0\n", "'yes'"),
        ("item_id,a,b\nq1,0_1,0\n", "0_1"),
        ("item_id,a,b\nq1,\u0661,0\n", "\u0661"),
        ("item_id,a,b\nq1,0x1,0\n", "0x1"),
        ("item_id,a,b\nq1,\"0,5\",0\n", "0,5"),
        ("item_id,a,b\n" + "".join(f"q{i},2,0\n" for i in range(50)), "50 cells.*and 42 more"),
        ("itemid,a,b\nq1,1,0\n", 'no column "item_id"; did you mean "itemid"'),
        ("item_id,a,c\nq1,1,0\n", 'no column "b"'),
        ("item_id,a,a,b\nq1,1,0,0\n", '2 columns are called "a"'),
        ("item_id;a;b\nq1;1;0\n", "look separated by"),
        ("item_id,a,b\nq1,1\n", "line 2: 2 cells, and the header has 3"),
        ("item_id,a,b\nq1,1,0\nq2,1,0,1\n", "line 3: 4 cells"),
        ('item_id,a,b\n"q1,1,0\nq2,1,0\n', "not a table"),
        ('item_id,a,b\n"q"1,1,0\n', "line 2: not a table"),
        ('item_id,a,b,n\nq1,1,0,"two\nlines"\nq2,x,0,\n', r"q2 \(line 4\)"),
        (b"item_id,a,b\nq\xff,1,0\n", "not UTF-8"),
        ("item_id,a,b\nq1,1,0\n".encode("utf-16"), "not UTF-8"),
        (bytes(range(256)) * 8, "not UTF-8"),
        (b"\x1f\x8b\x08\x00" + bytes(64), "not UTF-8"),
        (b"PAR1" + bytes(100) + b"PAR1", "PAR1|header"),
    ],
)  # fmt: skip
def test_each_fault_of_a_table_is_one_sentence_with_its_place(imported, content, said):
    with pytest.raises(AuditError, match=said) as error:
        imported(content)
    assert "x.csv" in error.value.message
    assert len(error.value.message) < 2000


def test_a_huge_bad_cell_and_a_huge_id_are_cut_in_the_message(imported):
    for content in ("item_id,a,b\nq1," + "x" * 1_000_000 + ",0\n", "item_id,a,b\n" + ("y" * 100_000 + ",1,1\n") * 2):
        with pytest.raises(AuditError) as error:
            imported(content)
        assert len(error.value.message) < 1000


@pytest.mark.parametrize(
    "arms",
    [{"baseline": "a", "treatment": "a"}, {"baseline": "item_id", "treatment": "b"}, {"baseline": "a", "": "b"},
     {"baseline": "a", " treatment": "b"}, {"baseline": "a", "x" * 300: "b"}, {"baseline": "a", "b\nb": "b"}],
)  # fmt: skip
def test_arms_that_are_no_two_arms_are_refused(imported, arms):
    with pytest.raises(AuditError, match=r"twice|short name"):
        imported(GOOD, arms=arms)


@pytest.mark.parametrize("role", ["third", "it's", "a/b", "größe", "[x]", "a b", "NULL"])
def test_a_further_arm_may_have_any_name(imported, role):
    rows = imported("item_id,a,b,c\nq1,1,0,1\n", arms=ARMS | {role: "c"})
    assert (role, "q1", 1.0, True) in rows


def test_a_missing_file_and_a_directory_are_errors(tmp_path):
    for source in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(AuditError, match=r"no such file|is a directory; name the file"):
            import_outcomes(source, out=tmp_path / "run", arms=ARMS)
    assert not (tmp_path / "run").exists()


def test_an_existing_run_is_not_touched(tmp_path):
    out = write_run(tmp_path / "run")
    before = (out / "run.json").read_bytes()
    (tmp_path / "x.csv").write_text(GOOD)
    with pytest.raises(AuditError, match="not empty"):
        import_outcomes(tmp_path / "x.csv", out=out, arms=ARMS)
    assert (out / "run.json").read_bytes() == before


def test_the_manifest_says_where_the_outcomes_are_from(tmp_path, imported):
    import hashlib

    imported(GOOD)
    source = open_run(tmp_path / "run").manifest.source
    assert source["files"] == [
        {"name": "x.csv", "sha256": hashlib.sha256(GOOD.encode()).hexdigest(), "bytes": len(GOOD)}
    ]
    assert (source["item"], source["columns"]) == ("item_id", ARMS)


def test_scores_in_between_are_decided_without_counts(tmp_path, imported):
    imported(GOOD)
    (criterion,) = decide(open_run(tmp_path / "run")).criteria
    assert (criterion.estimate, criterion.counts) == (-0.25, None)


@pytest.mark.parametrize("importer_id", importer_ids())
def test_every_importer_is_documented_and_found_by_its_file(importer_id):
    module = load_importer(importer_id)
    assert len(module.__doc__ or "") > 60
    assert callable(module.read)
    assert callable(module.sniff)
    assert isinstance(module.ITEM_COLUMN, bool)


def test_an_unknown_importer_names_the_nearest():
    with pytest.raises(AuditError, match='did you mean "outcomes"'):
        load_importer("outcome")


@pytest.mark.parametrize(("name", "mark"), [("x.csv", ";"), ("x.csv", "\t"), ("x.csv", "|"), ("x.tsv", ",")])
def test_another_separator_is_named_and_no_column_is_guessed_from_it(imported, name, mark):
    with pytest.raises(AuditError, match="look separated by") as error:
        imported(GOOD.replace(",", mark), name=name)
    assert repr(mark) in error.value.message
    assert "did you mean" not in error.value.message


def test_percent_is_told_how_to_become_a_score(imported):
    with pytest.raises(AuditError, match="Divide percent by 100"):
        imported(GOOD.replace("0.5", "50"))


def test_roles_that_decide_does_not_know_are_noted(tmp_path):
    (tmp_path / "x.csv").write_text(GOOD)
    arms = {"base": "a", "treatment": "b"}
    told = import_outcomes(tmp_path / "x.csv", out=tmp_path / "run", arms=arms)
    assert "--weights" in told
