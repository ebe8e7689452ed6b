"""Ways to find the answer in a completion, one a file.

Each has `STRICT`, whether it reads only what the model marked as its answer, and `extract(completion)`, which returns
the text found (None where there is none) and how it was found or why it was not.
"""
