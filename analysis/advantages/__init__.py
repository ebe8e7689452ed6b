"""Advantages: how much better than expected, one estimator a file; none of them knows which arm uses it."""
