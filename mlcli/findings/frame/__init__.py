"""The frame of all findings: what they are computed of, written to and read from, and what a page shows them with."""
