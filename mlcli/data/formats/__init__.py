"""Formats of files, one module each: from bytes to a sheet or to blocks of rows."""
