"""The view that turns three gradient norms into a cosine, against the cosine of the vectors themselves."""

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.losses.agreement import cosine
from audits.store.schema import SQL_FOLDER

VIEW = (SQL_FOLDER / "views" / "update_cosines.sql").read_text()


def cosine_of_norms(first, second, together):
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE update_directions AS SELECT 'ppo' AS arm, 0 AS seed, 0 AS step, 1 AS states, "
            "?::DOUBLE AS estimated_norm, ?::DOUBLE AS monte_carlo_norm, ?::DOUBLE AS sum_norm",
            [first, second, together],
        )
        return connection.execute(f"SELECT cosine FROM ({VIEW})").fetchall()[0][0]


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=2, max_size=8))
def test_three_norms_give_the_cosine(rows):
    a, b = np.array(rows).T
    if np.linalg.norm(a) < 0.1 or np.linalg.norm(b) < 0.1:
        return
    norms = [float(np.linalg.norm(vector)) for vector in (a, b, a + b)]
    assert cosine_of_norms(*norms) == pytest.approx(cosine(a, b), abs=1e-6)


def test_a_gradient_without_length_has_no_direction():
    assert cosine_of_norms(0.0, 1.0, 1.0) is None
