from mlcli.api import embed as embed
from mlcli.api import open_run as open_run

__version__: str
__all__ = ["embed", "open_run"]
