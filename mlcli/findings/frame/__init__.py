"""The frame of all findings: the result that they are computed from, their files, and the contents of a page."""
