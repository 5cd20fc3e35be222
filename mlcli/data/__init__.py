"""Data in and out: tables read, prepared and written."""
