"""Losses that clients upload: a graph that `torch.fx` traced, as data; checked, kept, and run by an interpreter.

Nothing of a client is ever executed as code. A graph names operations, and what `operations` does not list is refused.
"""
