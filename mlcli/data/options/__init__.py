"""Options of the input: formats, the section `input`, conditions on columns, and words for messages."""
