"""Cuts of a text into pieces that are read independently: at ends of records."""

import numpy as np

from mlcli.base.types import AnyArray

PIECE = 2 << 20  # least bytes of a piece
RETURN, NEWLINE, QUOTE = b'\r\n"'


class Cuts:
    """The ends of records in a text that is added in chunks, and the number of records before each cut.

    A line end ends a record if the number of quotes before it is even, provided that every quote that opens
    a cell is its first character.
    """

    def __init__(self, separator: str, piece: int = 0) -> None:
        self._before = {ord(separator), RETURN, NEWLINE, QUOTE}  # bytes allowed before an opening quote
        self._size = self._rows = self._lines = self._quotes = 0
        self._last, self._end, self._piece = NEWLINE, -1, piece or PIECE
        self.stray = False  # whether a quote stands within a cell that did not begin with one
        self._cuts: list[tuple[int, int, int]] = []  # bytes, records, records with blank lines

    def add(self, chunk: bytes) -> None:
        """Add the next bytes of the text."""
        text = np.frombuffer(chunk, np.uint8)
        ends = self._closed(text, np.flatnonzero((text == NEWLINE) | (text == RETURN)))
        before = np.where(ends > 0, text[ends - 1], self._last)
        rows = self._rows + np.cumsum(np.diff(ends + self._size, prepend=self._end) > 1)
        lines = self._lines + np.cumsum(~((text[ends] == NEWLINE) & (before == RETURN)))
        self._cut(text, ends, rows=rows, lines=lines)
        if len(ends):
            self._rows, self._lines, self._end = int(rows[-1]), int(lines[-1]), self._size + int(ends[-1])
        self._last, self._size = int(text[-1]), self._size + len(text)

    def pieces(self, skip: int, above: "Cuts", blanks: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the starts of pieces after the skipped bytes, with the end of the text, and the records before each.

        `above` describes the skipped bytes; blank lines are records if these have one cell (`blanks`).
        """
        every = [*self._cuts, self._all()]
        known = [above._all(), *(cut for cut in every[:-1] if cut[0] > skip), every[-1]]
        first = known[0][1 + blanks]
        return tuple(cut[0] for cut in known), tuple(cut[1 + blanks] - first for cut in known)

    def _all(self) -> tuple[int, int, int]:
        """Return the bytes, the records, and the records with blank lines, a last one without a line end included."""
        open_end = self._size - self._end > 1
        return self._size, self._rows + open_end, self._lines + open_end

    def _closed(self, text: AnyArray, stops: AnyArray) -> AnyArray:
        """Return the line ends outside of quotes."""
        quotes = np.flatnonzero(text == QUOTE)
        if not len(quotes) and self._quotes % 2 == 0:
            return stops
        opening = quotes[self._quotes % 2 :: 2]
        before = np.where(opening > 0, text[opening - 1], self._last)
        self.stray = self.stray or not np.isin(before, list(self._before)).all()
        inside = (self._quotes + np.searchsorted(quotes, stops)) % 2
        self._quotes += len(quotes)
        closed: AnyArray = stops[inside == 0]
        return closed

    def _cut(self, text: AnyArray, ends: AnyArray, *, rows: AnyArray, lines: AnyArray) -> None:
        """Record the first ends that are far enough from the last cut, none between a return and a newline."""
        after = text[np.minimum(ends + 1, len(text) - 1)]
        whole = (text[ends] == NEWLINE) | ((ends + 1 < len(text)) & (after != NEWLINE))
        places = ends[whole] + 1 + self._size
        last = self._cuts[-1][0] if self._cuts else 0
        while (place := int(np.searchsorted(places, last + self._piece))) < len(places):
            last = int(places[place])
            self._cuts.append((last, int(rows[whole][place]), int(lines[whole][place])))
