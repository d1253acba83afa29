"""x86-64 machine code for the C++ virtual methods that pretended CUDA devices need.

ctypes callbacks will not do: they cannot return the 16-byte c10::Stream, and the destructor of a c10
device guard may run while a Python exception is pending. A c10::Device is two bytes: the type, 1 for CUDA, is
the low one, the index the high one.
"""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass

from tests.judge.pretended.machine import current_device_key, device_count_byte, libc

_PAGE = 4096


class CodePage:
    """A page of executable memory that routines are added to; it lives as long as the process."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._used = 0

    def add(self, *pieces: bytes) -> int:
        """Writes a routine and returns its address."""
        code = b"".join(pieces)
        start = self._used
        self._used = start + -(-len(code) // 16) * 16
        if self._used > _PAGE:
            raise RuntimeError("the page for machine code is full")
        self._memory[start : start + len(code)] = code
        return self._base + start

    def add_constant(self, value: int) -> int:
        """Adds a routine that returns `value`."""
        return self.add(_mov_rax(value), _RET)


@dataclass(frozen=True, slots=True)
class Routines:
    """Addresses of the routines; those that end in `_index` work on a bare index instead of a Device."""

    nothing: int
    true: int
    false: int
    device_type: int
    device_count: int
    get_device: int
    exchange_device: int
    get_device_index: int
    exchange_device_index: int
    get_stream: int
    exchange_stream: int


_RET = b"\xc3"
_CALL_RAX = b"\xff\xd0"
_JMP_RAX = b"\xff\xe0"
_MOV_EAX_1 = b"\xb8\x01\x00\x00\x00"
_XOR_EAX_EAX = b"\x31\xc0"
_DEVICE_MINUS_1 = b"\xbe\x01\xff\x00\x00"  # mov esi, Device(CUDA, -1)
_DEVICE_FROM_SIL = b"\x40\x0f\xb6\xf6\xc1\xe6\x08\x83\xce\x01"  # esi = Device(CUDA, sil)
_ALIGN_STACK = b"\x48\x83\xec\x08"  # sub rsp, 8
_UNALIGN_STACK = b"\x48\x83\xc4\x08"  # add rsp, 8
_INDEX_OF_AX = b"\xc1\xe8\x08"  # shr eax, 8


def assemble(page: CodePage) -> Routines:
    """Writes all routines into `page`."""
    exchange = page.add(*_exchange_device())
    return Routines(
        nothing=page.add(_RET),
        true=page.add(_MOV_EAX_1, _RET),
        false=page.add(_XOR_EAX_EAX, _RET),
        device_type=page.add(_MOV_EAX_1, _RET),
        # movsx eax, byte [rax]
        device_count=page.add(_mov_rax(ctypes.addressof(device_count_byte)), b"\x0f\xbe\x00", _RET),
        get_device=page.add(_DEVICE_MINUS_1, _mov_rax(exchange), _JMP_RAX),
        exchange_device=exchange,
        get_device_index=page.add(
            _ALIGN_STACK, _DEVICE_MINUS_1, _mov_rax(exchange), _CALL_RAX, _INDEX_OF_AX, _UNALIGN_STACK, _RET
        ),
        exchange_device_index=page.add(
            _ALIGN_STACK, _DEVICE_FROM_SIL, _mov_rax(exchange), _CALL_RAX, _INDEX_OF_AX, _UNALIGN_STACK, _RET
        ),
        # Stream getStream(this = rdi, Device = si): the device in eax, stream number 0 in edx
        get_stream=page.add(b"\x0f\xb7\xc6\x31\xd2", _RET),
        # Stream exchangeStream(this = rdi, Stream = rsi and rdx): the same stream, rdx being in place
        exchange_stream=page.add(b"\x48\x89\xf0", _RET),
    )


def _exchange_device() -> list[bytes]:
    """Device exchangeDevice(this = rdi, Device = si): makes it current unless its index is -1."""
    key = b"\xbf" + current_device_key.value.to_bytes(4, "little")  # mov edi, key
    store = [
        b"\x89\xde\xc1\xee\x08",  # mov esi, ebx; shr esi, 8
        key,
        _mov_rax(_address(libc.pthread_setspecific)),
        _CALL_RAX,
    ]
    return [
        b"\x53\x41\x54",  # push rbx; push r12
        _ALIGN_STACK,
        b"\x0f\xb7\xde",  # movzx ebx, si
        key,
        _mov_rax(_address(libc.pthread_getspecific)),
        _CALL_RAX,
        b"\x41\x89\xc4",  # mov r12d, eax
        b"\xf6\xc7\x80",  # test bh, 0x80: the sign of the index
        b"\x75" + bytes([sum(map(len, store))]),  # jnz over the store
        *store,
        b"\x44\x89\xe0\xc1\xe0\x08\x83\xc8\x01\x0f\xb7\xc0",  # eax = Device(CUDA, r12b)
        _UNALIGN_STACK,
        b"\x41\x5c\x5b",  # pop r12; pop rbx
        _RET,
    ]


def _mov_rax(value: int) -> bytes:
    return b"\x48\xb8" + value.to_bytes(8, "little")


def _address(function: object) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    if address is None:
        raise RuntimeError("a function of the C library has no address")
    return address
