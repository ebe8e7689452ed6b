"""How results leave: tables for people, JSON for programs, JUnit and annotations for CI, HTML for reviewers."""
