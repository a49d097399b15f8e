"""Exact reference arithmetic on binary formats: fractions rounded by the definition, independent of the core."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A binary interchange format: `bits(x)` and `value(bits)` convert, NaN excluded."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    def is_nan(self, bits: int) -> bool:
        return (bits & (self.sign - 1)) > self.infinity

    def is_infinite(self, bits: int) -> bool:
        return (bits & (self.sign - 1)) == self.infinity

    def is_tiny(self, bits: int) -> bool:
        """Zero or denormal."""
        return (bits & self.infinity) == 0

    def value(self, bits: int) -> Fraction:
        exponent = (bits >> self.fraction_bits) & ((1 << self.exponent_bits) - 1)
        fraction = bits & ((1 << self.fraction_bits) - 1)
        significand = fraction if exponent == 0 else fraction | 1 << self.fraction_bits
        scale = max(exponent, 1) - self.bias - self.fraction_bits
        magnitude = Fraction(significand) * Fraction(2) ** scale
        return -magnitude if bits & self.sign else magnitude

    def round(self, x: Fraction, mode: str = "RN", unbounded: bool = False) -> int:
        """Bits of a non-zero `x`; `unbounded` lets the exponent go below the format's (result: magnitude < 1 ulp
        rules do not apply, and the caller compares values)."""
        negative = x < 0
        magnitude = abs(x)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if magnitude < Fraction(2) ** exponent:
            exponent -= 1
        if not unbounded:
            exponent = max(exponent, 1 - self.bias)
        unit = Fraction(2) ** (exponent - self.fraction_bits)
        steps, rest = divmod(magnitude, unit)
        up = {
            "RN": rest * 2 > unit or (rest * 2 == unit and steps % 2 == 1),
            "RZ": False,
            "RM": negative and rest > 0,
            "RP": not negative and rest > 0,
        }[mode]
        rounded = (steps + (1 if up else 0)) * unit
        if unbounded:
            return 1 if rounded >= Fraction(2) ** (1 - self.bias) else 0
        return self._pack(rounded, negative, mode)

    def _pack(self, magnitude: Fraction, negative: bool, mode: str) -> int:
        sign = self.sign if negative else 0
        largest = self.value(self.infinity - 1)
        if magnitude > largest:
            to_largest = mode == "RZ" or (mode == "RM" and not negative) or (mode == "RP" and negative)
            return sign | (self.infinity - 1 if to_largest else self.infinity)
        if magnitude == 0:
            return sign
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if magnitude < Fraction(2) ** exponent:
            exponent -= 1
        if exponent < 1 - self.bias:
            return sign | int(magnitude / Fraction(2) ** (1 - self.bias - self.fraction_bits))
        significand = int(magnitude / Fraction(2) ** (exponent - self.fraction_bits))
        return (
            sign
            | (exponent + self.bias) << self.fraction_bits
            | (significand & ((1 << self.fraction_bits) - 1))
        )


F32 = Format(8, 23)
F64 = Format(11, 52)
F16 = Format(5, 10)
BF16 = Format(8, 7)


def fma(form: Format, a: int, b: int, c: int, mode: str = "RN", nan: int = 0, ftz: bool = False) -> int:
    """a * b + c on bits, with canonical `nan`; `ftz` flushes as the hardware does (after rounding to the
    format's precision with an unbounded exponent)."""
    if ftz:
        a, b, c = (x & form.sign if form.is_tiny(x) else x for x in (a, b, c))
    product_sign = (a ^ b) & form.sign
    if form.is_nan(a) or form.is_nan(b) or form.is_nan(c):
        return nan
    zero = (a & (form.sign - 1)) == 0 or (b & (form.sign - 1)) == 0
    infinite = form.is_infinite(a) or form.is_infinite(b)
    if infinite and zero:
        return nan
    if infinite:
        return (
            nan if form.is_infinite(c) and (c & form.sign) != product_sign else product_sign | form.infinity
        )
    if form.is_infinite(c):
        return c
    exact = form.value(a) * form.value(b) + form.value(c)
    if exact == 0:
        both = product_sign == (c & form.sign) and (zero or form.value(a) * form.value(b) == 0)
        if both:
            return product_sign
        return form.sign if mode == "RM" else 0
    if ftz and not form.round(exact, mode, unbounded=True):
        return form.sign if exact < 0 else 0
    return form.round(exact, mode)


def add(form: Format, a: int, b: int, mode: str = "RN", nan: int = 0, ftz: bool = False) -> int:
    one = form.bias << form.fraction_bits
    return fma(form, a, one, b, mode, nan, ftz)


def mul(form: Format, a: int, b: int, mode: str = "RN", nan: int = 0, ftz: bool = False) -> int:
    zero = (a ^ b) & form.sign  # a zero of the product's sign, so that the sign of zero results is right
    return fma(form, a, b, zero, mode, nan, ftz)


def saturate(form: Format, bits: int) -> int:
    """Clamp to [0, 1]; NaN and negatives are +0."""
    one = form.bias << form.fraction_bits
    if form.is_nan(bits) or bits & form.sign:
        return 0
    return min(bits, one)
