"""First bytes that identify a file's content whatever its name, and remedies for content that is not read."""

import re
import zlib
from contextlib import suppress

from mlcli.base.frozen import frozen
from mlcli.data.options.formats import OWN

START = 1 << 10  # bytes of a file that are compared
BINARY = b"\0"  # a byte that texts do not contain


@frozen
class Signature:
    """The content of files that begin with some bytes."""

    start: bytes
    name: str  # in messages
    format: str = ""  # the value of input.format, if such files are read
    tool: str = ""  # the program that decompresses to a pipe
    remedy: str = ""  # what to do with a file that is not read
    inside: bytes = b""  # bytes that must occur anywhere in the start
    at: int = 0  # offset of `start`
    form: re.Pattern[bytes] | None = None  # pattern of the start, if `start` could also begin a text

    @property
    def is_packed(self) -> bool:
        """Whether such files are read in compressed form."""
        return self.format in OWN and OWN[self.format].packed

    def fits(self, start: bytes) -> bool:
        """Whether the first bytes of a file match."""
        known = start.startswith(self.start, self.at) and self.inside in start
        return known and (self.form is None or self.form.match(start) is not None)


YAML = (".yaml", ".yml")  # suffixes of configurations of runs
SHEET = "save the sheet as CSV (File, Save as)"
FOLDER = "give the folder that holds the images, each of which is a row"
R = "in R: write.csv(as.matrix(x), \"data.csv\")"
PANDAS = "write it as Parquet or CSV, with pandas: "
UNPACK = "unpack it, and give the file inside"
PICKLE = "loading it can run code: where you trust it, load it in Python and save the numbers with numpy.save"
GENOTYPES = ("; then give {input.id_column=IID} and the genotypes, one column for each variant, by "
             "{input.columns=FIRST:LAST}")
FASTA = re.compile(rb">[^\r\n]*\r?\n[A-Za-z*-]+\r?\n")
NETPBM = re.compile(rb"P[1-6]\s(?:#[^\n]*\n)*\d+ +\d+\s")  # comments, width and height
SIGNATURES = (
    Signature(b"PK\x03\x04", "an Excel workbook", remedy=SHEET, inside=b"[Content_Types].xml"),
    Signature(b"PK\x03\x04", "an Excel workbook", remedy=SHEET, inside=b"xl/"),
    Signature(b"PK\x03\x04", "an OpenDocument file", remedy=SHEET, inside=b"application/vnd.oasis.opendocument"),
    Signature(b"PK\x03\x04", "a PyTorch or other zip archive with pickles", remedy=PICKLE, inside=b"data.pkl"),
    Signature(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook of the old form (xls)", remedy=SHEET),
    Signature(b"\x1f\x8b", "gzip", tool="zcat"), Signature(b"\x28\xb5\x2f\xfd", "zstd", tool="zstdcat"),
    Signature(b"BZh", "bz2", tool="bzcat"), Signature(b"\xfd7zXZ\0", "xz", tool="xzcat"),
    Signature(b"\x89PNG\r\n", "PNG", remedy=FOLDER), Signature(b"\xff\xd8\xff", "JPEG", remedy=FOLDER),
    Signature(b"GIF8", "GIF", remedy=FOLDER, inside=BINARY), Signature(b"II*\0", "TIFF", remedy=FOLDER),
    Signature(b"BM", "BMP", remedy=FOLDER, inside=b"\0\0\0\0"),
    Signature(b"MM\0*", "TIFF", remedy=FOLDER), Signature(b"RIFF", "WebP", remedy=FOLDER, inside=b"WEBP"),
    *(Signature(start, name, remedy=FOLDER, form=NETPBM) for start, name in (
        (b"P1", "PBM"), (b"P2", "PGM"), (b"P3", "PPM"), (b"P4", "PBM"), (b"P5", "PGM"), (b"P6", "PPM"))),
    Signature(b"X\n\0\0\0", "RDS of R", remedy=R), Signature(b"RDX2\n", "RData of R", remedy=R),
    Signature(b"RDX3\n", "RData of R", remedy=R),
    *(Signature(b"l\x1b" + mode, "the genotypes of PLINK (.bed)",
                remedy=f"write them as numbers: plink --bfile NAME --recode A makes plink.raw{GENOTYPES}")
      for mode in (b"\0", b"\1")),
    Signature(b"l\x1b", "the genotypes of PLINK 2 (.pgen)",
              remedy=f"write them as numbers: plink2 --pfile NAME --export A makes plink2.raw{GENOTYPES}"),
    Signature(b"##fileformat=VCF", "VCF",
              remedy=f"write its genotypes as numbers: plink --vcf FILE --recode A makes plink.raw{GENOTYPES}"),
    Signature(b"BCF\2", "BCF", remedy=f"write its genotypes as numbers: plink2 --bcf FILE --export A makes "
              f"plink2.raw{GENOTYPES}"),
    Signature(b">", "FASTA", form=FASTA,
              remedy="compute distances of the aligned sequences, and give their matrix: {input.kind=dissimilarities}"),
    Signature(b"SQLite format 3\0", "SQLite",
              remedy="write a table of it: sqlite3 -header -csv FILE 'select * from TABLE' > data.csv"),
    Signature(b"SIMPLE  =", "FITS", remedy="write it as CSV or NPY, with astropy: Table.read(FILE).write('data.csv')"),
    Signature(b"CDF\x01", "NetCDF", remedy="convert it to HDF5: nccopy -k nc4 FILE data.h5"),
    Signature(b"CDF\x02", "NetCDF", remedy="convert it to HDF5: nccopy -k nc4 FILE data.h5"),
    Signature(b"<stata_dta>", "Stata", remedy=f"{PANDAS}read_stata(FILE)"),
    Signature(b"$FL2", "SPSS", remedy=f"{PANDAS}read_spss(FILE)"),
    Signature(b"\0" * 12 + b"\xc2\xea\x81\x60", "SAS", remedy=f"{PANDAS}read_sas(FILE)"),
    Signature(b"ORC", "ORC", remedy=f"{PANDAS}read_orc(FILE)", inside=BINARY),
    Signature(b"FEA1", "Feather of the first version", remedy=f"{PANDAS}read_feather(FILE)", inside=BINARY),
    Signature(b"Obj\x01", "Avro", remedy="write it as Parquet or CSV"),
    Signature(b"DICM", "DICOM", remedy="write its images as PNG, and give their folder", inside=BINARY, at=128),
    Signature(b"ustar", "a tar archive", remedy=UNPACK, inside=BINARY, at=257),
    Signature(b"7z\xbc\xaf'\x1c", "a 7-Zip archive", remedy=UNPACK),
    Signature(b"%PDF-", "PDF", remedy="give the numbers themselves, as CSV"),
    *(Signature(start, "a pickle of Python", remedy=PICKLE) for start in (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")),
    *(Signature(start, "a page of HTML", remedy="download the data themselves, not the page that shows them")
      for start in (b"<!DOCTYPE html", b"<!doctype html", b"<html", b"<HTML")),
    Signature(b"{", "BIOM of the first version", inside=b'Biological Observation Matrix',
              remedy="write it as HDF5: biom convert -i FILE -o data.biom --to-hdf5"),
    *(Signature(start, "JSON", remedy=f"{PANDAS}read_json(FILE)") for start in (b'{"', b"[{", b"[[", b"{\n", b"[\n")),
    *(Signature(start, format.content or format.title, format=format.name, form=format.form)
      for format in OWN.values() for start in format.starts),
)


def signature_of(start: bytes) -> Signature | None:
    """Return the signature that matches the first bytes, or None.

    In gzip files the content counts if it is not read in any form, or read in compressed form.
    """
    found = next((signature for signature in SIGNATURES if signature.fits(start)), None)
    if found is not None and found.tool == "zcat":
        with suppress(zlib.error):
            inner = signature_of(zlib.decompressobj(zlib.MAX_WBITS + 16).decompress(start, START))
            return inner if inner is not None and (inner.remedy or inner.is_packed) else found
    return found
