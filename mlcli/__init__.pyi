from mlcli.door import embed as embed
from mlcli.door import open_run as open_run

__version__: str
__all__ = ["embed", "open_run"]
