"""Random damage to any content: bits, cuts, splices, repeated parts, numbers at the ends of their ranges, odd texts."""

import random
import re
from collections.abc import Callable, Sequence

EDGE = 160  # bytes at either end of a file, where headers and footers are
LARGEST = 1 << 21  # bytes that a damaged content may grow to
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
NUMBERS = ("0", "-1", "1", "2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808",
           "18446744073709551616", "1e308", "-1.7976931348623157e308", "1e309", "5e-324", "1e-400", "nan", "inf",
           "-inf", "NaN", "Infinity", "1_0", "0x1F", "\uff11\uff12", "1,5", "9" * 400, "1" * 100_000, "", "'7'", "1e",
           "+", "--2")
TEXTS = (b"\xef\xbb\xbf", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae",
         b"\xe9", b"e\xcc\x81", b"\xe2\x98\x83", b"\x1b[31m", b'"', b'""', b'"\n', b"\r", b"\r\n", b"\n\n", b"\x85",
         b"\xe2\x80\xa8", b",", b";", b"\t", b"#", b"\x1a", b"=1+1", b"<script>", b"../", b"%s%n", b": ", b"- ",
         b"&a ", b"*a ", b"!!python/object/apply:os.system ", b"{", b"}", b"[", b"]", b"y" * 200_000)
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-8", "utf-7")
DEEP = (b"[", b"(", b"{", b'{"a":', b"- ", b"[{", b'"')
Change = Callable[[bytes, random.Random], bytes]


def mutated(content: bytes, draw: random.Random, others: Sequence[bytes] = ()) -> tuple[str, bytes]:
    """A content damaged one to four times, and what was done; parts of the others may come into it."""
    told = []
    for _ in range(draw.choice((1, 1, 1, 2, 3, 4))):
        if others and draw.random() < 0.1:
            name, content = "a part of another", spliced(content, draw, draw.choice(others))
        else:
            name, change = draw.choice(CHANGES)
            content = change(content, draw)
        content = content[:LARGEST]
        told.append(name)
    return ", ".join(told), content


def place(content: bytes, draw: random.Random) -> int:
    """A place in a content; those near its ends are likelier than the others."""
    last = max(0, len(content) - 1)
    first, final = draw.choice(((0, last), (0, min(EDGE, last)), (max(0, last - EDGE), last)))
    return draw.randint(first, final)


def part(content: bytes, draw: random.Random) -> tuple[int, int]:
    """A part of a content; short ones are likelier than long ones."""
    start = place(content, draw)
    return start, min(len(content), start + draw.choice((1, 2, 4, 8, 30, 200, len(content))))


def bits(content: bytes, draw: random.Random) -> bytes:
    """Some bits turned over."""
    changed = bytearray(content or b"\0")
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[place(changed, draw)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def octets(content: bytes, draw: random.Random) -> bytes:
    """Some bytes overwritten at random."""
    start = place(content, draw)
    return content[:start] + draw.randbytes(draw.choice((1, 2, 8, 64))) + content[start + 1:]


def cut(content: bytes, draw: random.Random) -> bytes:
    """The start or the end alone."""
    at = place(content, draw)
    return content[:at] if draw.random() < 0.8 else content[at:]


def dropped(content: bytes, draw: random.Random) -> bytes:
    """A part left out."""
    start, end = part(content, draw)
    return content[:start] + content[end:]


def repeated(content: bytes, draw: random.Random) -> bytes:
    """A part repeated."""
    start, end = part(content, draw)
    times = min(draw.choice((2, 3, 50, 5000)), 1 + LARGEST // max(1, end - start))
    return content[:start] + content[start:end] * times + content[end:]


def spliced(content: bytes, draw: random.Random, other: bytes | None = None) -> bytes:
    """A part of another content, or another part of this one, over or between what stands there."""
    first, last = part(content if other is None else other, draw)
    taken, start = (content if other is None else other)[first:last], place(content, draw)
    return content[:start] + taken + content[start + draw.choice((0, len(taken))):]


def number(content: bytes, draw: random.Random) -> bytes:
    """A number in a text replaced by one at the end of a range, or by none."""
    found = [*NUMBER.finditer(content[:LARGEST])]
    if not found:
        return integer(content, draw)
    chosen = draw.choice(found if draw.random() < 0.5 else found[:12])
    return content[:chosen.start()] + draw.choice(NUMBERS).encode() + content[chosen.end():]


def integer(content: bytes, draw: random.Random) -> bytes:
    """A binary number at the end of a range, written over what stands there."""
    size = draw.choice((1, 2, 4, 8))
    value = draw.choice((0, 1, -1, 1 << (8 * size - 1), (1 << (8 * size - 1)) - 1, 1 << (4 * size), 0x7FFF, 1 << 20,
                         draw.getrandbits(8 * size))) % (1 << (8 * size))
    start = place(content, draw)
    return content[:start] + value.to_bytes(size, draw.choice(("little", "big"))) + content[start + size:]


def text(content: bytes, draw: random.Random) -> bytes:
    """A text of odd characters put in."""
    start = place(content, draw)
    return content[:start] + draw.choice(TEXTS) + content[start:]


def coded(content: bytes, draw: random.Random) -> bytes:
    """The same text in another encoding."""
    return content.decode("latin-1").encode(draw.choice(ENCODINGS))


def deep(content: bytes, draw: random.Random) -> bytes:
    """Brackets in brackets."""
    start = place(content, draw)
    return content[:start] + draw.choice(DEEP) * draw.choice((33, 1000, 100_000)) + content[start:]


def lines(content: bytes, draw: random.Random) -> bytes:
    """A line twice, left out, or in another place."""
    rows = content.split(b"\n")
    row = rows.pop(draw.randrange(len(rows)))
    for _ in range(draw.choice((0, 1, 2, 2))):
        rows.insert(draw.randint(0, len(rows)), row)
    return b"\n".join(rows)


CHANGES: tuple[tuple[str, Change], ...] = (
    ("bits turned", bits), ("bytes", octets), ("cut", cut), ("a part left out", dropped), ("a part repeated", repeated),
    ("parts exchanged", spliced), ("a number", number), ("another number", number), ("a binary number", integer),
    ("another binary number", integer), ("odd characters", text), ("another encoding", coded), ("deep", deep),
    ("lines", lines))
