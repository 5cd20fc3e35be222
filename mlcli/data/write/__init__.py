"""Writers of tables; `table.py` writes CSV, Parquet and NPY, and so each embedding."""
