"""CSV and TSV in blocks: pieces of the text that one pass over its bytes delimits."""

import codecs
from collections.abc import Sequence
from dataclasses import replace

from mlcli.base.stages.stage import no_listeners
from mlcli.base.values.compute import Compute
from mlcli.data.files.file_id import FileId
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import seekable
from mlcli.data.formats.block_file import BlockFile, is_short
from mlcli.data.formats.parts import parts_differ
from mlcli.data.options.input import Input, finds_texts, with_found
from mlcli.data.table.sheet import require_content
from mlcli.data.text.blocks import Cuts, TextFile, TextRows, open_here
from mlcli.data.text.delimited import separator_of
from mlcli.data.text.head import detect_dialect, read_head
from mlcli.data.text.layout import RecordLayout, features_layout, require_numbers
from mlcli.data.text.records import InputText, survey_text


def blocks_of(usual: str, opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile | None:
    """Return a text in pieces; None if it cannot be cut or its table is short (`block_file.is_short`)."""
    text, cuts = _survey_cuts(opened, input, separator_of(usual, input))
    if cuts.stray or not seekable(text.input):
        return None
    with no_listeners():  # notes on the layout are made when the text is read
        layout = features_layout(text, read_head(text), known)
    if is_short(text.survey.lines * layout.width, input, compute):
        return None
    file = cut(text, features_layout(text, read_head(text), known), cuts)
    require_content(file.firsts[-1], file.layout.choice.width, opened.path)
    return block_file_of_texts((file,))


def _survey_cuts(opened: Opened, input: Input, separator: str) -> tuple[InputText, Cuts]:
    """Return a text with the possible cuts, by the separator that is detected."""
    cuts = Cuts(separator)
    text = detect_dialect(survey_text(opened, input, separator, cuts.add))
    return (text, cuts) if text.separator == separator else (text, _survey_cuts(opened, text.input, text.separator)[1])


def cut(text: InputText, layout: RecordLayout, cuts: Cuts) -> TextFile:
    """Return a text in pieces; raises DataError for one without numbers, or with quotes that do not match."""
    require_numbers(layout, text.path)
    skipped = Cuts(text.separator)
    with text.stream() as stream:
        if layout.skip:
            skipped.add(stream.read(layout.skip))
    starts, firsts = cuts.pieces(layout.skip, skipped, layout.width == 1)
    opened, marked = text.opened, 0
    with opened.stream() as stream:
        marked = len(codecs.BOM_UTF8) if stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
    file = TextFile(FileId(opened.path, opened.state), text.input, text.separator, text.survey, layout,
                    starts=tuple(marked + start for start in starts), firsts=firsts)
    if text.survey.quotes % 2:
        file.refused("the quotes do not match").require_none()
    return file


def block_file_of_texts(files: tuple[TextFile, ...]) -> BlockFile:
    """Return the table of several texts of one layout."""
    layout = files[0].layout
    return BlockFile(TextRows(files, layout.choice.columns), layout.choice, named=layout.named)


def cut_alike(opened: Opened, input: Input, separator: str, first: RecordLayout | None) -> TextFile | None:
    """Return a text with the columns of the first; None if they differ, or it cannot be cut."""
    text, cuts = _survey_cuts(opened, input, separator)
    head = read_head(text)
    if first is None:
        return None if cuts.stray else cut(text, features_layout(text, head), cuts)
    if cuts.stray or len(head.cells) != first.width or (first.named and head.cells != first.choice.names):
        return None
    end, lines = (head.end, head.end_lines) if first.named else (head.top, head.top_lines)
    return cut(text, replace(first, skip=end, lines=lines), cuts)


def blocks_of_parts(usual: str, ids: Sequence[FileId], input: Input) -> BlockFile:
    """Return the table of the files of a folder, with the columns of the first one; raises DataError."""
    texts: list[TextFile] = []
    for id in ids:
        asked = texts[0].input if texts else input  # in the dialect detected in the first
        text = cut_alike(open_here(id), asked, separator_of(usual, asked), texts[0].layout if texts else None)
        if text is None:
            raise parts_differ(id, ids[0], "the same columns in the same order, and no quote within a cell that does "
                               "not begin with one")
        columns = text.faults().columns if finds_texts(asked) else ()
        if (again := with_found(asked, columns)) is not None:
            return blocks_of_parts(usual, ids, again)
        texts.append(text)
    found = block_file_of_texts(tuple(texts))
    require_content(found.file.bounds[-1], found.choice.width, input.path)
    return found
