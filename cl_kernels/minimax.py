# SPDX-License-Identifier: Apache-2.0
"""The coefficients of the polynomials in math_f32.cl and math_f64.cl.

usage: minimax.py [NAME...]   Needs mpmath. Prints, for each approximation, the coefficients in the order of rising
powers and the largest weighted error, before and after rounding.

Each is the polynomial of least weighted maximum error by Remez' exchange. Coefficients are then rounded to the type;
for f32 the first ones one by one, the lowest power first, and the rest is fitted again to what the rounded ones leave.
"""
import sys

from mpmath import mp, mpf, lu_solve, matrix

mp.dps = 50


def series(f, order):
    """f as a function that loses no digits near 0: (f(x) - its Taylor terms below `order`) / x^order."""
    taylor = mp.taylor(f, 0, order + 60)

    def value(x):
        if abs(x) < mpf("0.05"):
            return mp.polyval(taylor[order:order + 45][::-1], x)
        return (f(x) - mp.polyval(taylor[:order][::-1], x)) / x**order
    return value


def in_squares(f, order):
    """The same as a function of z = x^2."""
    rest = series(f, order)
    return lambda z: rest(mp.sqrt(z))


def odd(f):
    """(f(x) - x) / x^3 as a function of z = x^2."""
    return in_squares(f, 3)


LN2, PI = mp.log(2), mp.pi
# name: function, interval, weight of its error (what it does to the result, relatively), degree for f32 and f64 (0: not used)
APPROXIMATIONS = {
    # exp r = 1 + r + r^2 q(r), expm1 alike
    "exp": (series(mp.exp, 2), -LN2 / 2 * mpf("1.001"), LN2 / 2 * mpf("1.001"), lambda r: abs(r) + mpf("1e-9"), 5, 10),
    # 2^f = 1 + f q(f)
    "exp2": (series(lambda x: mpf(2)**x, 1), -mpf("0.501"), mpf("0.501"), lambda f: abs(f) + mpf("1e-9"), 5, 11),
    # log(1 + f) = f - f^2/2 + f^3 q(f)
    "log": (series(mp.log1p, 3), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, lambda f: f * f + mpf("1e-9"), 8, 0),
    # atanh s = s + s^3 q(s^2), as far as log needs
    "atanh_small": (odd(mp.atanh), mpf("1e-12"), (3 - 2 * mp.sqrt(2))**2, lambda z: z, 2, 6),
    # atanh s = s + s^3/3 + s^5 q(s^2), times 2/ln 2
    "log2_rest": (in_squares(lambda s: 2 / LN2 * mp.atanh(s), 5), mpf("1e-12"), (3 - 2 * mp.sqrt(2))**2,
                  lambda z: z * z, 2, 6),
    "tanh": (odd(mp.tanh), mpf("1e-12"), mpf("0.5625")**2, lambda z: z, 4, 11),
    # erf x = x + x q(x^2), and log erfc
    "erf": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, mpf("1e-12"), mpf("0.925")**2, lambda z: mpf(1), 6, 12),
    "erfc": (lambda t: mp.log(mp.erfc(t)), mpf("0.92"), mpf(4), lambda t: mp.erfc(t) / mp.erf(t), 6, 0),
    "erfc_wide": (lambda t: mp.log(mp.erfc(t)), mpf("0.92"), mpf(6), lambda t: mp.erfc(t) / mp.erf(t), 0, 19),
    "sin": (odd(mp.sin), mpf("1e-12"), (PI / 4 * mpf("1.001"))**2, lambda z: z, 2, 5),
    "cos": (in_squares(mp.cos, 4), mpf("1e-12"), (PI / 4 * mpf("1.001"))**2, lambda z: z * z, 2, 5),
    "tan": (odd(mp.tan), mpf("1e-12"), (PI / 4 * mpf("1.001"))**2, lambda z: z, 6, 14),
    "atan": (odd(mp.atan), mpf("1e-12"), mpf(1), lambda z: z, 8, 20),
    "asin": (odd(mp.asin), mpf("1e-12"), mpf("0.25"), lambda z: z, 4, 11),
    "sinh": (odd(mp.sinh), mpf("1e-12"), mpf(1), lambda z: z, 3, 7),
    "asinh": (odd(mp.asinh), mpf("1e-12"), mpf("0.5"), lambda z: z, 7, 16),
    "atanh": (odd(mp.atanh), mpf("1e-12"), mpf("0.25"), lambda z: z, 6, 14),
}


def round_to(x, bits):
    if x == 0:
        return x
    exponent = mp.floor(mp.log(abs(x), 2))
    scale = mpf(2)**(bits - 1 - exponent)
    return mp.nint(x * scale) / scale


def remez(points, wanted, weights, first, last):
    """Coefficients of powers first..last for the least maximum of |weights (wanted - polynomial)|, and that maximum."""
    unknown = last - first + 1
    count = len(points)
    scale = max(abs(points[0]), abs(points[-1]))
    chosen = [round((count - 1) * (1 - float(mp.cos(PI * i / unknown))) / 2) for i in range(unknown + 1)]
    for _ in range(30):
        a, b = matrix(unknown + 1, unknown + 1), matrix(unknown + 1, 1)
        for row, i in enumerate(chosen):
            for j in range(unknown):
                a[row, j] = (points[i] / scale)**(first + j) * weights[i]
            a[row, unknown] = (-1)**row
            b[row] = wanted[i] * weights[i]
        solution = lu_solve(a, b)
        c = [solution[j] / scale**(first + j) for j in range(unknown)]
        error = [(wanted[i] - points[i]**first * mp.polyval(c[::-1], points[i])) * weights[i] for i in range(count)]
        # the largest error of each run of equal signs
        runs, start = [], 0
        for i in range(1, count + 1):
            if i == count or (error[i] > 0) != (error[start] > 0):
                runs.append(max(range(start, i), key=lambda k: abs(error[k])))
                start = i
        while len(runs) > unknown + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < unknown + 1 or runs == chosen:
            break
        chosen = runs
    return c, max(abs(e) for e in error)


def least_squares(points, wanted, weights, first, last):
    """Where Remez' exchange fails, since all that is left vanishes inside the interval: the nodes are Chebyshev's, so
    that the maximum is not much larger than the least one."""
    scale = max(abs(points[0]), abs(points[-1]))
    powers = range(first, last + 1)
    columns = [[(x / scale)**j * w for x, w in zip(points, weights)] for j in powers]
    b = [v * w for v, w in zip(wanted, weights)]
    normal = matrix([[mp.fdot(p, q) for q in columns] for p in columns])
    solution = lu_solve(normal, matrix([mp.fdot(p, b) for p in columns]))
    return [solution[i] / scale**j for i, j in enumerate(powers)], None


def fit(name, degree, bits):
    function, low, high, weight = APPROXIMATIONS[name][:4]
    count = 400
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(PI * (i + mpf(0.5)) / count) for i in range(count)]
    exact = [function(x) for x in points]
    weights = [weight(x) for x in points]
    left, rounded, best = list(exact), [], None
    again = remez if low > 0 else least_squares
    for power in range(degree + 1):
        if power == 0 or (bits == 24 and power < 4):
            c, error = (again if power else remez)(points, left, weights, power, degree)
        else:
            c = c[1:]
        best = error if best is None else best
        rounded.append(round_to(c[0], bits))
        left = [v - rounded[-1] * x**power for v, x in zip(left, points)]
    return rounded, best, max(abs(v * w) for v, w in zip(left, weights))


def main():
    for name in sys.argv[1:] or APPROXIMATIONS:
        for bits, degree in ((24, APPROXIMATIONS[name][4]), (53, APPROXIMATIONS[name][5])):
            if not degree:
                continue
            c, exact, rounded = fit(name, degree, bits)
            print(f"{name} f{32 if bits == 24 else 64}: error {mp.nstr(exact, 3)}, rounded {mp.nstr(rounded, 3)}"
                  f" = 2^{mp.nstr(mp.log(rounded, 2), 4)}")
            for value in c:
                text = float(value).hex()
                print(f"  {mp.nstr(value, 9 if bits == 24 else 17)}{'f' if bits == 24 else ''} {text}")


main()
