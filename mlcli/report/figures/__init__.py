"""The figures of a report, each a function that returns a figure."""
