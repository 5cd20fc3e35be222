"""Binary formats, one file each: from bytes to a sheet or to blocks of rows."""
