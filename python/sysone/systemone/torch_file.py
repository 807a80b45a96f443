"""Files of ``torch.save``, read and written without torch and without running what they hold.

Such a file is a zip of one pickle and raw storages. A pickle is a program; this reader knows the
few words of it that tensors, ordered dicts and plain values need, and refuses every other.
"""

import collections
import io
import pickle
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_PICKLE_BYTES = 16 << 20
MAX_STORAGE_BYTES = 4 << 30
"""Of all storages together: the released pair of heads has 75 MB."""

# Storage class to element type; bfloat16 has no numpy type and is widened on reading.
_DTYPES: dict[str, str] = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}


class TorchFileError(ValueError):
    """Not a file of ``torch.save``, or one that holds more than tensors and plain values."""


def read_torch(path: Path) -> Any:
    """The saved object with numpy arrays in place of tensors; raises `TorchFileError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path.name)
    except zipfile.BadZipFile:
        raise TorchFileError(
            f"{path.name}: not a zip of torch.save (files from before PyTorch 1.6 are not read)"
        ) from None
    except (zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        # What zipfile raises for entries that are damaged, encrypted or packed in other ways.
        if isinstance(error, TorchFileError):
            raise
        raise TorchFileError(f"{path.name}: its zip cannot be read: {error}") from None
    except OSError as error:
        raise TorchFileError(f"{path.name}: cannot be read: {error.strerror or error}") from None


def _read(archive: zipfile.ZipFile, name: str) -> Any:
    entries = {entry.filename: entry for entry in archive.infolist()}
    pickles = [entry for entry in entries if entry.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise TorchFileError(f"{name}: expected one data.pkl in it, found {len(pickles)}")
    root = pickles[0].removesuffix("data.pkl")
    if entries[pickles[0]].file_size > MAX_PICKLE_BYTES:
        raise TorchFileError(f"{name}: its pickle is larger than {MAX_PICKLE_BYTES} bytes")
    if sum(entry.file_size for entry in entries.values()) > MAX_STORAGE_BYTES:
        raise TorchFileError(f"{name}: unpacks to more than {MAX_STORAGE_BYTES} bytes")
    order = entries.get(f"{root}byteorder")
    if order is not None and archive.read(order).strip() != b"little":
        raise TorchFileError(f"{name}: its byte order is not little-endian")
    program = archive.read(pickles[0])
    reader = _Unpickler(io.BytesIO(program), lambda key: archive.read(f"{root}data/{key}"))
    try:
        _check_program(program)
        return reader.load()
    except TorchFileError as error:
        raise TorchFileError(f"{name}: {error}") from None
    except (
        *(pickle.UnpicklingError, ValueError, KeyError, TypeError, AttributeError, EOFError),
        *(IndexError, MemoryError, OverflowError, RecursionError, ImportError, struct.error),
    ) as error:
        raise TorchFileError(f"{name}: broken: {type(error).__name__}: {error}") from None


def _check_program(program: bytes) -> None:
    """Refuse a pickle that asks for more memory than its own length warrants.

    CPython's unpickler makes room for a memo's highest number and for a byte array's announced
    length before it has seen any of it.
    """
    for opcode, argument, _ in pickletools.genops(program):
        if "PUT" in opcode.name and isinstance(argument, int) and argument > len(program):
            raise TorchFileError(f"its pickle numbers a value {argument}")


class _Unpickler(pickle.Unpickler):
    """Knows tensors and ordered dicts, and looks nothing up by name."""

    def __init__(self, data: io.BytesIO, read_storage: Callable[[str], bytes]) -> None:
        super().__init__(data, encoding="utf-8")
        self._read_storage = read_storage
        self._storages: dict[str, npt.NDArray[Any]] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            # A new function each time: a pickle may set attributes on what it is given.
            return lambda *arguments: _tensor(*arguments)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if (module, name) == ("torch", "Size"):
            return lambda items=(): tuple(items)
        if module == "torch" and name in _DTYPES:
            return lambda: name
        raise TorchFileError(f"holds {module}.{name}, which is neither a tensor nor a plain value")

    def persistent_load(self, pid: Any) -> Any:
        kind, storage_type, key, _, count = pid
        if kind != "storage" or not isinstance(key, str) or not key.isalnum():
            raise TorchFileError(f"has an unknown kind of reference: {str(pid)[:80]}")
        name = storage_type()
        if key not in self._storages:
            raw = np.frombuffer(self._read_storage(key), _DTYPES[name])
            if name == "BFloat16Storage":
                raw = (raw.astype("<u4") << 16).view("<f4")
            if len(raw) != count:
                raise TorchFileError(f"storage {key} has {len(raw)} numbers, expected {count}")
            self._storages[key] = raw
        return self._storages[key]


def _tensor(
    storage: npt.NDArray[Any], offset: int, size: Any, stride: Any, *_: Any
) -> npt.NDArray[Any]:
    """A tensor's numbers; refuses one that reaches beyond its storage."""
    size, stride = tuple(map(int, size)), tuple(map(int, stride))
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if offset < 0 or min((*size, *stride), default=0) < 0 or len(size) > 8:
        raise TorchFileError(f"a tensor has the shape {size} and the strides {stride}")
    if 0 in size:
        return np.empty(size, storage.dtype)
    if last >= len(storage):
        raise TorchFileError(f"a tensor reaches to number {last} of {len(storage)}")
    if np.prod([float(n) for n in size]) > len(storage):
        raise TorchFileError(f"a tensor of shape {size} repeats its {len(storage)} numbers")
    step = storage.dtype.itemsize
    view = np.lib.stride_tricks.as_strided(
        storage[offset:], size, tuple(step * n for n in stride), writeable=False
    )
    return view.copy()


def write_torch(value: Mapping[str, Any]) -> bytes:
    """The bytes of a file that ``torch.load`` reads, with float32 tensors for arrays.

    ``value`` holds dicts, lists, arrays and plain values. Equal values give equal bytes.
    """
    storages: list[bytes] = []
    program = io.BytesIO()
    program.write(pickle.PROTO + b"\x02")
    _emit(value, program, storages)
    program.write(pickle.STOP)
    text = program.getvalue()
    pickletools.dis(text, out=io.StringIO())  # refuses a program that leaves its stack untidy
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        entries = {"data.pkl": text, "byteorder": b"little"}
        entries |= {f"data/{index}": raw for index, raw in enumerate(storages)}
        entries |= {"version": b"3\n"}
        for name, raw in entries.items():
            archive.writestr(zipfile.ZipInfo(f"checkpoint/{name}"), raw)
    return out.getvalue()


def _emit(value: Any, out: io.BytesIO, storages: list[bytes]) -> None:
    """Add the opcodes that leave ``value`` on the stack."""
    if isinstance(value, Mapping):
        out.write(pickle.EMPTY_DICT + pickle.MARK)
        for key, item in value.items():
            _emit(key, out, storages)
            _emit(item, out, storages)
        out.write(pickle.SETITEMS)
    elif isinstance(value, list):
        out.write(pickle.EMPTY_LIST + pickle.MARK)
        for item in value:
            _emit(item, out, storages)
        out.write(pickle.APPENDS)
    elif isinstance(value, np.ndarray):
        _emit_tensor(value.astype("<f4", order="C"), out, storages)
    elif value is None or isinstance(value, bool | int | float | str):
        out.write(_plain(value))
    else:
        raise TypeError(f"cannot be written: {value!r}")


def _emit_tensor(array: npt.NDArray[Any], out: io.BytesIO, storages: list[bytes]) -> None:
    key = str(len(storages))
    storages.append(array.tobytes())
    out.write(b"ctorch._utils\n_rebuild_tensor_v2\n" + pickle.MARK + pickle.MARK)
    out.write(_plain("storage"))
    out.write(b"ctorch\nFloatStorage\n")
    for name in (key, "cpu", array.size):
        out.write(_plain(name))
    out.write(pickle.TUPLE + pickle.BINPERSID)
    strides = [int(step) // 4 for step in array.strides]
    for item in (0, tuple(array.shape), tuple(strides), False):
        out.write(_plain(item))
    out.write(b"ccollections\nOrderedDict\n" + pickle.EMPTY_TUPLE + pickle.REDUCE)
    out.write(pickle.TUPLE + pickle.REDUCE)


def _plain(value: Any) -> bytes:
    """The opcodes of a plain value, without the protocol's two bytes, memo entries and the end."""
    return pickletools.optimize(pickle.dumps(value, 2))[2:-1]
