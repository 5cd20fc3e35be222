"""A file of a kind that is not read is named as what it is, with what to do, whatever its name says."""

import gzip
import io
import pickle
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError, InputMissing
from tests.data.helpers import refused, written


def zipped(*names: str, content: bytes = b"x") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name in names:
            file.writestr(name, content)
    return stream.getvalue()


def image(format: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.zeros((9, 8), np.uint8)).save(stream, format)
    return stream.getvalue()


def tarred() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        file.addfile(tarfile.TarInfo("matrix.mtx"))
    return stream.getvalue()


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (x)")
    return connection.serialize()


RDS = b"X\n\0\0\0\3\0\4\2\2" + bytes(40)
KINDS: dict[str, tuple[bytes, str, str]] = {  # by the name that such files have: content, what it is called, a remedy
    "a.xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "Excel", "as CSV"),
    "b.xlsx": (zipped("xl/workbook.xml"), "Excel", "as CSV"),
    "a.ods": (zipped("mimetype", content=b"application/vnd.oasis.opendocument.spreadsheet"), "OpenDocument", "as CSV"),
    "a.xls": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(50), "xls", "as CSV"),
    "a.pt": (zipped("archive/data.pkl"), "PyTorch", "numpy.save"),
    "a.rds": (gzip.compress(RDS, mtime=0), "RDS", "write.csv"),
    "b.rds": (RDS, "RDS", "write.csv"), "a.RData": (gzip.compress(b"RDX3\n" + RDS, mtime=0), "RData", "write.csv"),
    "a.png": (image("PNG"), "PNG", "folder"), "a.jpg": (image("JPEG"), "JPEG", "folder"),
    "a.gif": (image("GIF"), "GIF", "folder"), "a.tif": (image("TIFF"), "TIFF", "folder"),
    "a.bmp": (image("BMP"), "BMP", "folder"),
    "a.pgm": (image("PPM"), "PGM", "folder"), "b.pgm": (b"P2\n# levels\n2 1\n255\n0 7\n", "PGM", "folder"),
    "a.webp": (image("WEBP"), "WebP", "folder"), "a.tar": (tarred(), "tar", "unpack"),
    "a.tar.gz": (gzip.compress(tarred(), mtime=0), "tar", "unpack"), "a.db": (database(), "SQLite", "sqlite3 -header"),
    "a.fits": (b"SIMPLE  =                    T", "FITS", "astropy"),
    "a.nc": (b"CDF\x01" + bytes(20), "NetCDF", "nccopy"), "a.dta": (b"<stata_dta><header>", "Stata", "read_stata"),
    "a.sav": (b"$FL2@(#) SPSS DATA FILE", "SPSS", "read_spss"), "a.orc": (b"ORC\x1f\0", "ORC", "read_orc"),
    "a.avro": (b"Obj\x01\x04", "Avro", "Parquet"), "a.pdf": (b"%PDF-1.7", "PDF", "CSV"),
    "a.dcm": (bytes(128) + b"DICM", "DICOM", "PNG"), "a.pkl": (pickle.dumps(np.eye(2)), "pickle", "numpy.save"),
    "a.biom": (b'{"id":null,"format":"Biological Observation Matrix 1.0.0","rows":[]}', "BIOM", "--to-hdf5"),
    "a.json": (b'[{"x": 1}]', "JSON", "read_json"), "b.json": (b'{"x": [1]}', "JSON", "read_json"),
    "a.html": (b"<!DOCTYPE html><html>", "HTML", "download"),
    "a.zip": (zipped("faces/one.png", "faces/two.png"), "zip archive of 2 files", "unpack"),
    "a.bed": (b"l\x1b\1" + bytes(range(256)), "PLINK", "plink --bfile NAME --recode A"),
    "b.bed": (b"l\x1b\0" + bytes(9), "PLINK", "--recode A"),
    "a.pgen": (b"l\x1b\x10" + bytes(9), "PLINK 2", "--export A"),
    "a.vcf": (b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", "VCF", "plink --vcf FILE --recode A"),
    "a.vcf.gz": (gzip.compress(b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", mtime=0), "VCF", "--recode A"),
    "a.bcf": (gzip.compress(b"BCF\2\2" + bytes(9), mtime=0), "BCF", "--export A"),
    "a.fasta": (b">one\nACGT\n>two\nACGA\n", "FASTA", "distances"),
    "a.7z": (b"7z\xbc\xaf'\x1c" + bytes(9), "7-Zip", "unpack"),
}


@pytest.mark.parametrize(("name", "suffix"), [(name, suffix) for name in KINDS for suffix in (
    "", ".csv", ".npy", ".h5", ".npz") if name != "a.zip" or suffix in ("", ".npz")])
def test_a_file_of_another_kind_is_named(tmp_path: Path, name: str, suffix: str) -> None:
    content, said, remedy = KINDS[name]
    error = refused(written(tmp_path, content, name + suffix), DataError, "NOT-READ")
    assert said in error.what and remedy in error.hint


@pytest.mark.parametrize(("name", "content", "said"), [
    ("a.npy", b"PAR1" + bytes(20), "Parquet, not NPY"), ("a.h5", b"\x93NUMPY\1\0", "NPY, not HDF5"),
    ("a.parquet", b"\x89HDF\r\n\x1a\n", "HDF5, not Parquet"), ("b.h5", b"MATLAB 5.0 MAT-file", "MAT, not HDF5"),
    ("a.h5ad", gzip.compress(b"HDF", mtime=0), "gzip, not HDF5")])
def test_a_file_that_is_read_under_another_name(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    error = refused(written(tmp_path, content, name), DataError, "OTHER-FORMAT")
    assert said in error.what and error.hint


@pytest.mark.parametrize("content", ["A\n2\n3\n", "ORC,b\n1,2\n3,4\n", "GIF89a,b\n1,2\n", "FEA1\n1\n", "X\n0\n",
                                      "P5\n6\n7\n", ">a\n1\n2\n", "l\n1\n2\n"])
def test_names_of_columns_are_no_signatures(tmp_path: Path, content: str) -> None:
    assert len(read(Input(path=written(tmp_path, content))).columns) in (1, 2)


@pytest.mark.parametrize("name", ["g.bim", "g.fam", "g.ped", "g.bim.gz"])
def test_files_beside_genotypes_are_named_and_read_as_tables_if_asked_to(tmp_path: Path, name: str) -> None:
    text = b"a b\n1 2\n3 4.5\n"
    path = written(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name)
    error = refused(path, DataError, "NOT-READ")
    assert "PLINK" in error.what and "--recode A" in error.hint and "--columns FIRST:LAST" in error.hint
    assert read(Input(path=path, format="csv")).columns == ("a", "b")


def test_folders_are_told_apart(tmp_path: Path) -> None:
    for marks, said, remedy in (((), "without a run, images, Parquet, CSV or Matrix Market", "one file"),
                                ((".zgroup",), "Zarr", "write_h5ad")):
        for mark in marks:
            (tmp_path / mark).touch()
        error = refused(str(tmp_path), InputMissing, "NOT-A-FILE")
        assert said in error.what and remedy in error.hint
