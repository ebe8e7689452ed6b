"""Pure maths: arrays in, frozen dataclasses out; no input or output, no clock, no global random state."""
