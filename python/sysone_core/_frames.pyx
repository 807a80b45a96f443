# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Cython border of csrc/drive: lines, ticks, Base64, pixels, boxes. See frames.py."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcpy

import msgspec

cdef extern from "drive/base64.h" namespace "drive" nogil:
    cdef enum class Simd(int):
        kScalar
        kAvx2
        kAvx512
    Simd best_simd()
    size_t base64_length(size_t raw)
    size_t decoded_length(const uint8_t* source, size_t length)
    bint base64_decode(const uint8_t* source, size_t length, uint8_t* target, Simd simd)
    void base64_encode(const uint8_t* source, size_t length, uint8_t* target, Simd simd)
    const size_t kNotBase64

cdef extern from "drive/pixels.h" namespace "drive" nogil:
    cdef cppclass GroundPicture:
        const uint8_t* cells
        int64_t width
        int64_t height
        double west
        double north
        double cell
    cdef cppclass GroundCamera:
        int64_t width
        int64_t height
        double focal
        double mount_x
        double mount_y
        double mount_z
    void _bgra_to_bgr "drive::bgra_to_bgr"(
        const uint8_t* source, size_t count, uint8_t* target, Simd simd)
    void _draw_ground "drive::draw_ground"(
        const GroundPicture& ground, const GroundCamera& camera, double x, double y, double yaw,
        const uint8_t* palette, uint8_t* target)
    void _fill_convex "drive::fill_convex"(
        const double* corners, size_t count, const uint8_t* colour, int64_t width,
        int64_t height, uint8_t* target)

cdef extern from "drive/boxes.h" namespace "drive" nogil:
    cdef cppclass Box:
        double x
        double y
        double yaw
        double half_length
        double half_width
    cdef cppclass Overlap:
        bint touches
        double depth
        double normal_x
        double normal_y
    Overlap _boxes_overlap "drive::boxes_overlap"(const Box& box, const Box& other)


class NotBase64Error(ValueError):
    """The text is not strict standard Base64."""


class LineTooLongError(ValueError):
    """More bytes than the limit came without a line end."""


cdef dict _LEVELS = {"scalar": 0, "avx2": 1, "avx512": 2}
cdef Simd _simd = best_simd()


def simd_levels():
    """Instruction sets that this processor has, slowest first."""
    return tuple(name for name, level in _LEVELS.items() if level <= <int>best_simd())


def simd_level():
    """The instruction set in use."""
    for name, level in _LEVELS.items():
        if level == <int>_simd:
            return name


def set_simd_level(name):
    """Use another instruction set, for tests and benches."""
    global _simd
    if name not in simd_levels():
        raise ValueError(f"level is {name!r}, expected one of {', '.join(simd_levels())}")
    _simd = <Simd><int>_LEVELS[name]


def b64_length(Py_ssize_t raw):
    """Characters that so many bytes encode to."""
    return base64_length(<size_t>raw)


def b64_decoded_length(source not None):
    """Bytes that the text decodes to, judged by its length and padding alone."""
    cdef Py_buffer view
    PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
    cdef size_t raw = decoded_length(<const uint8_t*>view.buf, <size_t>view.len)
    cdef Py_ssize_t length = view.len
    PyBuffer_Release(&view)
    if raw == kNotBase64:
        raise NotBase64Error(f"{length} characters, expected a multiple of 4")
    return raw


def b64_decode_into(source not None, target not None):
    """Decode strict standard Base64 into a writable buffer; the number of bytes written."""
    cdef Py_buffer text
    cdef Py_buffer room
    cdef size_t raw
    cdef bint good = False
    PyObject_GetBuffer(source, &text, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(target, &room, PyBUF_WRITABLE)
        try:
            raw = decoded_length(<const uint8_t*>text.buf, <size_t>text.len)
            if raw == kNotBase64:
                raise NotBase64Error(f"{text.len} characters, expected a multiple of 4")
            if raw > <size_t>room.len:
                raise ValueError(f"{raw} bytes do not fit in {room.len}")
            with nogil:
                good = base64_decode(
                    <const uint8_t*>text.buf, <size_t>text.len, <uint8_t*>room.buf, _simd)
        finally:
            PyBuffer_Release(&room)
    finally:
        PyBuffer_Release(&text)
    if not good:
        raise NotBase64Error("a character is not of the standard alphabet")
    return raw


def b64_encode_into(source not None, target not None):
    """Encode into a writable buffer, with padding; the number of characters written."""
    cdef Py_buffer raw
    cdef Py_buffer room
    cdef size_t length
    PyObject_GetBuffer(source, &raw, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(target, &room, PyBUF_WRITABLE)
        try:
            length = base64_length(<size_t>raw.len)
            if length > <size_t>room.len:
                raise ValueError(f"{length} characters do not fit in {room.len}")
            with nogil:
                base64_encode(
                    <const uint8_t*>raw.buf, <size_t>raw.len, <uint8_t*>room.buf, _simd)
        finally:
            PyBuffer_Release(&room)
    finally:
        PyBuffer_Release(&raw)
    return length


def bgra_to_bgr(source not None, target not None):
    """Keep the first three of four channels."""
    cdef Py_buffer four
    cdef Py_buffer three
    PyObject_GetBuffer(source, &four, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(target, &three, PyBUF_WRITABLE)
        try:
            if four.len % 4 != 0 or four.len // 4 * 3 != three.len:
                raise ValueError(
                    f"{four.len} bytes of four channels and {three.len} of three do not match")
            with nogil:
                _bgra_to_bgr(
                    <const uint8_t*>four.buf, <size_t>four.len // 4, <uint8_t*>three.buf, _simd)
        finally:
            PyBuffer_Release(&three)
    finally:
        PyBuffer_Release(&four)


cdef class LineReader:
    """Lines out of a byte stream: one growing buffer, no byte scanned twice.

    A line that `next` returns is a view into the buffer, good until the next `feed_into` or `feed`.
    """

    cdef bytearray _buffer
    cdef Py_ssize_t _start  # of the line that comes next
    cdef Py_ssize_t _scanned  # no line end before this
    cdef Py_ssize_t _end  # of what was received
    cdef readonly Py_ssize_t max_bytes
    cdef readonly Py_ssize_t chunk

    def __init__(self, Py_ssize_t max_bytes=16 << 20, Py_ssize_t chunk=1 << 18):
        if max_bytes < 1 or chunk < 1:
            raise ValueError("max_bytes and chunk must be positive")
        self.max_bytes = max_bytes
        self.chunk = min(chunk, max_bytes + 1)
        self._buffer = bytearray(self.chunk)
        self._start = self._scanned = self._end = 0

    @property
    def pending(self):
        """Bytes received that are no whole line yet, or not yet taken."""
        return self._end - self._start

    @property
    def capacity(self):
        """Size of the buffer."""
        return len(self._buffer)

    def rest(self):
        """A copy of what was received and not taken."""
        return bytes(memoryview(self._buffer)[self._start:self._end])

    cdef _make_room(self, Py_ssize_t wanted):
        cdef Py_ssize_t held = self._end - self._start
        cdef Py_ssize_t size = len(self._buffer)
        cdef bytearray larger
        if size - self._end >= wanted:
            return
        if held + wanted <= size and held <= self._start:
            # the tail of an incomplete line, to the front; it was never handed out
            memcpy(<char*>self._buffer, <char*>self._buffer + self._start, held)
        else:
            while size < held + wanted:
                size *= 2
            larger = bytearray(size)
            memcpy(<char*>larger, <char*>self._buffer + self._start, held)
            self._buffer = larger
        self._scanned -= self._start
        self._start = 0
        self._end = held

    def feed_into(self, receive):
        """Call ``receive(view)`` (as `socket.recv_into`) once; the bytes it says it wrote."""
        cdef Py_ssize_t got
        self._make_room(self.chunk)
        view = memoryview(self._buffer)
        try:
            got = receive(view[self._end:])
        finally:
            view.release()
        if got < 0 or got > <Py_ssize_t>len(self._buffer) - self._end:
            raise ValueError(f"receive says {got} bytes")
        self._end += got
        return got

    def feed(self, data not None):
        """Take bytes that were received elsewhere."""
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            self._make_room(view.len)
            memcpy(<char*>self._buffer + self._end, view.buf, view.len)
            self._end += view.len
        finally:
            PyBuffer_Release(&view)

    def next(self):
        """The next whole line without its line end, or None."""
        cdef char* base = <char*>self._buffer
        cdef void* found = NULL
        cdef Py_ssize_t stop, start = self._start
        if self._scanned < self._end:
            found = memchr(base + self._scanned, 10, <size_t>(self._end - self._scanned))
        if found == NULL:
            self._scanned = self._end
            if self._end - start > self.max_bytes:
                raise LineTooLongError(f"more than {self.max_bytes} bytes without a line end")
            return None
        stop = <char*>found - base
        self._start = self._scanned = stop + 1
        if stop - start > self.max_bytes:
            raise LineTooLongError(f"more than {self.max_bytes} bytes without a line end")
        return memoryview(self._buffer)[start:stop]


cdef object _decode = msgspec.json.Decoder().decode
cdef tuple _BIG = (b'"rgb_b64"', b'"lidar_b64"')


cdef Py_ssize_t _find(const uint8_t* text, Py_ssize_t start, Py_ssize_t end, bytes word) noexcept:
    cdef const uint8_t* needle = <const uint8_t*><char*>word
    cdef Py_ssize_t length = len(word)
    cdef Py_ssize_t i = start
    cdef const void* found
    cdef Py_ssize_t j
    while i + length <= end:
        found = memchr(text + i, needle[0], <size_t>(end - length - i + 1))
        if found == NULL:
            return -1
        i = <const uint8_t*>found - text
        j = 1
        while j < length and text[i + j] == needle[j]:
            j += 1
        if j == length:
            return i
        i += 1
    return -1


cdef bint _blank(uint8_t c) noexcept:
    return c == 32 or c == 9 or c == 13 or c == 10


def parse_tick(line not None):
    """A message as a dictionary whose big Base64 values are views into ``line``.

    Only where they are the last members of the object, as the sender that knows puts them; then
    nothing builds a string from them. Everything else takes the plain path: a dictionary of plain
    values. The views are good as long as ``line`` is.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(line, &view, PyBUF_SIMPLE)
    try:
        message = _cut(<const uint8_t*>view.buf, view.len, line)
    finally:
        PyBuffer_Release(&view)
    if message is None:
        message = _decode(line)
        if type(message) is not dict:
            raise TypeError("the message is not an object")
    return message


cdef object _cut(const uint8_t* text, Py_ssize_t length, object line):
    cdef Py_ssize_t end = length
    cdef Py_ssize_t position = 0
    cdef Py_ssize_t key, first, last, member, expected, k
    cdef const void* found
    cdef bytes word
    while end > 0 and _blank(text[end - 1]):
        end -= 1
    while position < end and _blank(text[position]):
        position += 1
    if position >= end or text[position] != 123 or text[end - 1] != 125:
        return None
    message = {}
    spans = {}
    position += 1  # behind the opening brace
    # The members before, between and after the big values are small: each run is parsed as an
    # object of its own. A key that stands inside a string or a nested object leaves its run
    # unbalanced, so that it does not parse.
    while True:
        key = -1
        for word in _BIG:
            k = _find(text, position, min(end, position + 65536), word)
            if k >= 0 and (key < 0 or k < key):
                key = k
                name = word
        stop = key if key >= 0 else end - 1
        part = _members(text, position, stop, key >= 0, len(spans) > 0)
        if part is None:
            return None
        if part:
            for big in ("rgb_b64", "lidar_b64"):
                if big in part:
                    return None  # named twice: the plain path knows which one counts
            message.update(part)
        if key < 0:
            break
        label = name[1:-1].decode()
        if label in spans:
            return None
        position = key + len(name)
        while position < end and _blank(text[position]):
            position += 1
        if position >= end or text[position] != 58:
            return None
        position += 1
        while position < end and _blank(text[position]):
            position += 1
        if position >= end or text[position] != 34:
            return None
        first = position + 1
        expected = _expected(message, label)
        if expected >= 0 and first + expected < end and text[first + expected] == 34:
            last = first + expected
        else:
            found = memchr(text + first, 34, <size_t>(end - first))
            if found == NULL:
                return None
            last = <const uint8_t*>found - text
        spans[label] = (first, last)
        position = last + 1
    if not spans:
        return message
    whole = memoryview(line).cast("B")
    for label, (start, stop) in spans.items():
        message[label] = whole[start:stop]
    return message


cdef object _members(
    const uint8_t* text, Py_ssize_t start, Py_ssize_t stop, bint more, bint continued
):
    """The members between two big values; None where the text is not of that form."""
    while start < stop and _blank(text[start]):
        start += 1
    while stop > start and _blank(text[stop - 1]):
        stop -= 1
    if start == stop:
        # an object's first or last member is big; two big ones need a comma between them
        return None if continued and more else {}
    if continued:
        if text[start] != 44:
            return None
        start += 1
        while start < stop and _blank(text[start]):
            start += 1
        if start == stop:
            return {} if more else None
    if more:
        if text[stop - 1] != 44:
            return None
        stop -= 1
    try:
        part = _decode(b"{" + (<const char*>text)[start:stop] + b"}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return part if part else None


cdef Py_ssize_t _expected(dict message, str label):
    """Characters that the value has if the message says its size truly, else -1."""
    try:
        if label == "rgb_b64":
            h, w, c = message["rgb_shape"]
            raw = h * w * c
        else:
            raw = message["lidar_n"] * 16
        if type(raw) is int and 0 <= raw < 1 << 30:
            return base64_length(<size_t>raw)
    except (KeyError, TypeError, ValueError):
        pass
    return -1


def ground_camera(
    const uint8_t[:, ::1] cells not None, double west, double north, double cell,
    const uint8_t[:, ::1] palette not None, uint8_t[:, :, ::1] target not None,
    double x, double y, double yaw, double focal, double mount_x, double mount_y, double mount_z,
):
    """Draw the ground below the horizon; see frames.py."""
    cdef GroundPicture ground
    cdef GroundCamera camera
    if palette.shape[0] != 256 or palette.shape[1] != 3 or target.shape[2] != 3:
        raise ValueError("palette must be (256, 3) and target (height, width, 3)")
    if cells.shape[0] == 0 or cells.shape[1] == 0 or not cell > 0:
        raise ValueError("the picture of the ground is empty")
    ground.cells = &cells[0, 0]
    ground.height = cells.shape[0]
    ground.width = cells.shape[1]
    ground.west = west
    ground.north = north
    ground.cell = cell
    camera.height = target.shape[0]
    camera.width = target.shape[1]
    camera.focal = focal
    camera.mount_x = mount_x
    camera.mount_y = mount_y
    camera.mount_z = mount_z
    if camera.height == 0 or camera.width == 0:
        return
    with nogil:
        _draw_ground(ground, camera, x, y, yaw, &palette[0, 0], &target[0, 0, 0])


def fill_convex(const double[:, ::1] corners not None, colour, uint8_t[:, :, ::1] target not None):
    """Fill a convex polygon; see frames.py."""
    cdef uint8_t[3] bgr
    bgr[0], bgr[1], bgr[2] = colour
    if corners.shape[1] != 2 or target.shape[2] != 3:
        raise ValueError("corners must be (n, 2) and target (height, width, 3)")
    if corners.shape[0] < 3 or target.shape[0] == 0 or target.shape[1] == 0:
        return
    with nogil:
        _fill_convex(
            &corners[0, 0], corners.shape[0], bgr, target.shape[1], target.shape[0],
            &target[0, 0, 0])


def boxes_overlap(
    double x, double y, double yaw, double half_length, double half_width,
    double other_x, double other_y, double other_yaw, double other_half_length,
    double other_half_width,
):
    """Depth and push direction of two oriented boxes, or None; see frames.py."""
    cdef Box box, other
    box.x, box.y, box.yaw = x, y, yaw
    box.half_length, box.half_width = half_length, half_width
    other.x, other.y, other.yaw = other_x, other_y, other_yaw
    other.half_length, other.half_width = other_half_length, other_half_width
    cdef Overlap found = _boxes_overlap(box, other)
    return (found.depth, found.normal_x, found.normal_y) if found.touches else None
