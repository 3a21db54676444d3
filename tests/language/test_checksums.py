"""Checksums bit by bit and by a table: against those of Python's library, on all backends, and as equivalent models."""

import binascii
import random
import zlib

import pytest

import workbench as wb
from workbench.language import parse

BACKENDS = ("reference", "compiled")
POLYNOMIAL = 0x1021


def entries(poly: int, bits: int, part: int) -> list[int]:
    """The remainders of all values of a part of a register that is shifted out at its upper end."""
    found = []
    for value in range(1 << part):
        value <<= bits - part
        for _ in range(part):
            value = (value << 1) ^ (poly if value >> (bits - 1) else 0)
            value &= (1 << bits) - 1
        found.append(value)
    return found


CRC16 = f"""
table ccitt = {entries(POLYNOMIAL, 16, 8)}
function shifted(c) = xor(bit_and(shift_left(c, 1), 65535), if c >= 32768 then {POLYNOMIAL} else 0)
function twice(c) = shifted(shifted(c))
function bitwise(crc, byte) = twice(twice(twice(twice(xor(crc, shift_left(byte, 8))))))
function by_table(crc, byte) = xor(shift_left(bit_and(crc, 255), 8), ccitt[xor(shift_right(crc, 8), byte)])
pipeline bits(x: 0..255) -> 0..65535 {{ return cumulate(x, bitwise, 0, 0..65535) }}
pipeline table_of_256(x: 0..255) -> 0..65535 {{ return cumulate(x, by_table, 0, 0..65535) }}
"""

CRC32 = """
function step(c) = xor(shift_right(c, 1), if odd(c) then 3988292384 else 0)
function byte(c, x) = step(step(step(step(step(step(step(step(xor(c, x)))))))))
pipeline crc32(x: int) -> int { return xor(cumulate(x, byte, 4294967295), 4294967295) }
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["bits", "table_of_256"])
def test_crc_16(name: str, backend: str) -> None:
    data = random.Random(1).randbytes(200)
    found = wb.run(parse(CRC16).get(name), {"x": list(data)}, backend=backend)["out"]
    assert found == [binascii.crc_hqx(data[: i + 1], 0) for i in range(len(data))]
    assert wb.run(parse(CRC16).get(name), {"x": list(b"123456789")}, backend=backend)["out"][-1] == 0x31C3


@pytest.mark.parametrize("backend", BACKENDS)
def test_crc_32_of_int(backend: str) -> None:
    data = random.Random(2).randbytes(100)
    found = wb.run(parse(CRC32).get(), {"x": list(data)}, backend=backend)["out"]
    assert found == [zlib.crc32(data[: i + 1]) for i in range(len(data))]


CRC4 = f"""
table remainders = {entries(3, 4, 4)}
function doubled(c) = bit_and(shift_left(c, 1), 15)
function shifted(c) = if c >= 8 then xor(doubled(c), 3) else doubled(c)
function bitwise(crc, x) = shifted(shifted(shifted(shifted(xor(crc, x)))))
function by_table(crc, x) = remainders[xor(crc, x)]
pipeline bits(x: {{0}}) -> {{0}} {{{{ return cumulate(x, bitwise, 0) }}}}
pipeline nibbles(x: {{0}}) -> {{0}} {{{{ return cumulate(x, by_table, 0) }}}}
check stepwise-equivalent(bits)
"""


@pytest.mark.parametrize("kind", ["0..15", "int mod 16"])
def test_crc_4_by_a_table_is_equivalent(kind: str) -> None:
    text = CRC4.format(kind)
    assert wb.check(parse(text).get("nibbles"), "stepwise-equivalent(bits)").outcome == "holds"
    wrong = text.replace("table remainders = [0, 3, 6,", "table remainders = [0, 3, 7,")
    assert wrong != text
    assert wb.check(parse(wrong).get("nibbles"), "stepwise-equivalent(bits)").outcome == "fails"
