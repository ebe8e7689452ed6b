"""Both arms had the same chance to be tuned: equal grids, a best rate inside the grid, and the best rate in use.

Where one method was tuned and the other runs at whatever rate was at hand, the gap may be the tuning's. A best rate at
the edge of its grid says that a better one may lie beyond, for the arm that is worse off perhaps more than for the
other.

`fail`: the arms' grids differ, or their rates were scored on other numbers of seeds or items; the rate in use is not
in the grid, or not the one that the sweep's rule chose; the rate in use, or an arm's own best one, is the smallest or
largest of its grid; rates were chosen on other items than validation. `warn`: no grid is planned and the arms share
one rate that nothing chose, which is equal but untuned: the comparison holds at this rate alone; a grid of one rate is
no better. `audit run` copies the `sweep.json` of the plan's sweep into the run directory: without it the audit is
`inconclusive`, and a rate in use at the edge is a `warn`. The scores are what that file states; of equal scores the
smaller rate is the best, as in the sweep's own rule. It cannot see tuning that no plan names.
"""

from audits.engine.audit import Audit, needs_plan

AUDIT = Audit(
    title="the arms' learning rates were tuned alike, and the best one is inside the grid",
    requires=("updates",),
    examines="derived_tuning",
    mend="give each arm the same grid with rates beyond the best one, run `audit sweep`, and run a plan with the "
    "chosen rate that supersedes the swept one: `audit run` finds the sweep beside --out, or takes it by --sweep",
    derived=("tuning",),
    applies=needs_plan,
)
