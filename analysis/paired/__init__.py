"""Paired comparison: the sample, the interval, the verdict, the registered rule."""
