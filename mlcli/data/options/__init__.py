"""The section `input`, conditions on columns, and words for messages."""
