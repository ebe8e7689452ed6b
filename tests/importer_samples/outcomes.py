"""A table of two arms' outcomes."""

IS_JSON = False
ARMS = [("baseline", "a"), ("treatment", "b")]
ROWS = {"evals": 4}
UNKNOWN = "note"


def sample(folder):
    path = folder / "outcomes.csv"
    path.write_text("item_id,a,b\nq1,1,0\nq2,0,1\n")
    return path


def with_unknown_keys(path):
    path.write_text("item_id,a,b,note\nq1,1,0,x\nq2,0,1,y\n")
