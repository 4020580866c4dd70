/* SPDX-License-Identifier: Apache-2.0 */
/* custom/lapack_routines.c: the routines of LAPACK that JAX calls, each in its four types. Workspaces are what
 * LAPACK asks for. */
#include "custom/lapack.h"

#ifdef HALO_HAVE_LAPACKE

#include "base/memory.h"

#include <complex.h>
#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <lapacke.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* The function of LAPACKE, which is looked up once at each place that calls it. */
#define LAPACK(name)                                                                               \
  (*(__typeof__(&LAPACKE_##name))__extension__({                                                   \
    static void *_Atomic function;                                                                 \
    void *found = atomic_load_explicit(&function, memory_order_relaxed);                           \
    if (!found) atomic_store(&function, found = lapack_function("LAPACKE_" #name));                \
    found;                                                                                         \
  }))

#define COL LAPACK_COL_MAJOR
#define IN(i) ((void *)job->in[i].data)
#define OUT(i) ((void *)job->out[i].data)
#define ROWS(part) ((lapack_int)(part).rows)
#define COLS(part) ((lapack_int)(part).columns)
/* The letter that an attribute is, such as mode = 86 : ui8. */
#define LETTER(name, otherwise) ((char)halo_custom_call_integer(job->call, name, otherwise))

static lapack_int lapack_most(lapack_int a, lapack_int b) { return a > b ? a : b; }
static lapack_int lapack_least(lapack_int a, lapack_int b) { return a < b ? a : b; }

/* At least so many bytes of workspace beside what earlier calls for this problem gave: NULL, and a status,
 * when there is no memory. */
static void *lapack_work(lapack_job *job, size_t bytes) {
  if (job->status != HALO_OK) return NULL;
  if (bytes > job->work_size) {
    halo_free(job->work);
    job->work = NULL;
    job->work_size = 0;
    job->status = halo_try_alloc(bytes, "LAPACK's workspace", &job->work);
    if (job->status == HALO_OK) job->work_size = bytes;
  }
  return job->work;
}

/* info in result i. LAPACK takes no notice of what is empty; a leading dimension is 1 at least. */
static void lapack_info(lapack_job *job, int i, lapack_int info) { *(int32_t *)OUT(i) = info; }
static lapack_int lapack_ld(const lapack_part *part) { return lapack_most(1, ROWS(*part)); }

/* A routine for one type: p prefix, T elements, R real ones, and, of complex ones, the workspace of real numbers that they have
 * besides. */
#define FOR_REAL(M) M(s, float, float) M(d, double, double)
#define FOR_COMPLEX(M) M(c, float _Complex, float, reals) M(z, double _Complex, double, reals)
#define FOR_ALL(M) FOR_REAL(M) FOR_COMPLEX(M)

/* Calls a routine twice: first, with a count of -1, it says how many elements of workspace it wants, then it has them as `work` and
 * room for `real` numbers behind them as `reals`. `info` is what it gives. */
#define WITH_WORK(T, R, real, call)                                                                \
  T size = 0, none = 0, *work = &size;                                                             \
  R *reals = (R *)&none;                                                                           \
  lapack_int count = -1, info = (call);                                                            \
  count = lapack_most(1, (lapack_int)creal(size));                                                 \
  work = lapack_work(job, sizeof(T) * (size_t)count + sizeof(R) * (size_t)(real));                 \
  if (!work) return;                                                                               \
  reals = (R *)(work + count);                                                                     \
  info = (call);                                                                                   \
  (void)info, (void)reals;

#define POTRF(p, T, R, ...)                                                                        \
  static void p##potrf(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_info(job, 1,                                                                            \
                LAPACK(p##potrf_work)(COL, LETTER("uplo", 'L'), COLS(*a), a->data, lapack_ld(a))); \
  }
FOR_ALL(POTRF)

/* The first of some numbers, `step` apart, that is none, as a reflector or a pivot; and what it makes of everything behind
 * it, which the products of some BLAS (OpenBLAS 0.3.21) do not carry on. */
#define SPREAD(p, T, R, ...)                                                                       \
  static lapack_int p##not_a_number(const T *of, lapack_int count, size_t step) {                  \
    lapack_int i = 0;                                                                              \
    while (i < count && of[(size_t)i * step] == of[(size_t)i * step]) i++;                         \
    return i;                                                                                      \
  }                                                                                                \
  static void p##lose(T *data, lapack_int i) {                                                     \
    R *parts = (R *)(data + i);                                                                    \
    for (size_t k = 0; k < sizeof(T) / sizeof(R); k++) parts[k] = NAN;                             \
  }                                                                                                \
  static void p##spread(const lapack_part *a, lapack_int row, lapack_int column) {                 \
    for (lapack_int c = column; c < COLS(*a); c++) {                                               \
      for (lapack_int r = row; r < ROWS(*a); r++) p##lose(a->data, c *ROWS(*a) + r);               \
    }                                                                                              \
  }
FOR_ALL(SPREAD)

#define GETRF(p, T, R, ...)                                                                        \
  static void p##getrf(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_info(job, 2,                                                                            \
                LAPACK(p##getrf_work)(COL, ROWS(*a), COLS(*a), a->data, lapack_ld(a), OUT(1)));    \
    lapack_int k = lapack_least(ROWS(*a), COLS(*a));                                               \
    lapack_int first = p##not_a_number(a->data, k, (size_t)ROWS(*a) + 1);                          \
    if (first < k) p##spread(a, first + 1, first);                                                 \
  }
FOR_ALL(GETRF)

#define GEQRF(p, T, R, ...)                                                                        \
  static void p##geqrf(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int k = lapack_least(ROWS(*a), COLS(*a));                                               \
    T *tau = OUT(1);                                                                               \
    WITH_WORK(                                                                                     \
        T, R, 0,                                                                                   \
        LAPACK(p##geqrf_work)(COL, ROWS(*a), COLS(*a), a->data, lapack_ld(a), tau, work, count))   \
    lapack_int first = p##not_a_number(tau, k, 1);                                                 \
    if (first < k) p##spread(a, first, first);                                                     \
    /* A reflector of one number is none. */                                                       \
    for (lapack_int i = first + 1; i < k && i < ROWS(*a) - 1; i++) p##lose(tau, i);                \
  }
FOR_ALL(GEQRF)

#define ORGQR(p, routine, T)                                                                       \
  static void p##orgqr(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int k = ROWS(job->in[1]);                                                               \
    WITH_WORK(T, T, 0,                                                                             \
              LAPACK(p##routine##_work)(COL, ROWS(*a), COLS(*a), k, a->data, lapack_ld(a), IN(1),  \
                                        work, count))                                              \
    lapack_int first = p##not_a_number(IN(1), k, 1);                                               \
    if (first < k) p##spread(a, 0, first);                                                         \
  }
ORGQR(s, orgqr, float)
ORGQR(d, orgqr, double)
ORGQR(c, ungqr, float _Complex)
ORGQR(z, ungqr, double _Complex)

/* Reflectors, their factors and what they are applied to, of which the result is a copy. */
#define ORMQR(p, routine, T, adjoint)                                                              \
  static void p##ormqr(lapack_job *job) {                                                          \
    lapack_part *a = &job->in[0], *c = &job->out[0];                                               \
    lapack_int k = ROWS(job->in[1]), m = ROWS(*c), n = COLS(*c);                                   \
    char side = halo_custom_call_integer(job->call, "left", 1) ? 'L' : 'R';                        \
    char trans = halo_custom_call_integer(job->call, "transpose", 0) ? adjoint : 'N';              \
    memcpy(c->data, IN(2), sizeof(T) * (size_t)m * (size_t)n);                                     \
    WITH_WORK(T, T, 0,                                                                             \
              LAPACK(p##routine##_work)(COL, side, trans, m, n, k, a->data, lapack_ld(a), IN(1),   \
                                        c->data, lapack_ld(c), work, count))                       \
  }
ORMQR(s, ormqr, float, 'T')
ORMQR(d, ormqr, double, 'T')
ORMQR(c, unmqr, float _Complex, 'C')
ORMQR(z, unmqr, double _Complex, 'C')

#define GEQP3(p, T, R, ...)                                                                        \
  static void p##geqp3(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    WITH_WORK(T, R, 2 * lapack_most(1, COLS(*a)),                                                  \
              LAPACK(p##geqp3_work)(COL, ROWS(*a), COLS(*a), a->data, lapack_ld(a), OUT(1),        \
                                    OUT(2), work, count, ##__VA_ARGS__))                           \
  }
FOR_ALL(GEQP3)

#define SYEVD_REAL(p, T, R)                                                                        \
  static void p##syevd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int n = COLS(*a), whole = 1, ld = lapack_ld(a);                                         \
    char mode = LETTER("mode", 'V'), uplo = LETTER("uplo", 'L');                                   \
    T size = 0;                                                                                    \
    LAPACK(p##syevd_work)(COL, mode, uplo, n, a->data, ld, OUT(1), &size, -1, &whole, -1);         \
    lapack_int count = lapack_most(1, (lapack_int)size);                                           \
    T *work = lapack_work(job, sizeof(T) * (size_t)count + sizeof whole * (size_t)whole);          \
    if (!work) return;                                                                             \
    lapack_info(job, 2,                                                                            \
                LAPACK(p##syevd_work)(COL, mode, uplo, n, a->data, ld, OUT(1), work, count,        \
                                      (lapack_int *)(work + count), whole));                       \
  }
FOR_REAL(SYEVD_REAL)

#define HEEVD(p, T, R, ...)                                                                        \
  static void p##heevd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int n = COLS(*a), whole = 1, ld = lapack_ld(a);                                         \
    char mode = LETTER("mode", 'V'), uplo = LETTER("uplo", 'L');                                   \
    T size = 0;                                                                                    \
    R real_size = 0;                                                                               \
    LAPACK(p##heevd_work)                                                                          \
    (COL, mode, uplo, n, a->data, ld, OUT(1), &size, -1, &real_size, -1, &whole, -1);              \
    lapack_int count = lapack_most(1, (lapack_int)creal(size));                                    \
    lapack_int reals = lapack_most(1, (lapack_int)real_size);                                      \
    T *work = lapack_work(job, sizeof(T) * (size_t)count + sizeof(R) * (size_t)reals +             \
                                   sizeof whole * (size_t)whole);                                  \
    if (!work) return;                                                                             \
    R *real_work = (R *)(work + count);                                                            \
    lapack_info(                                                                                   \
        job, 2,                                                                                    \
        LAPACK(p##heevd_work)(COL, mode, uplo, n, a->data, ld, OUT(1), work, count, real_work,     \
                              reals, (lapack_int *)(real_work + reals), whole));                   \
  }
FOR_COMPLEX(HEEVD)

/* Results: what is left of a, singular values, u, v^H, info. */
#define GESDD_REAL(p, T, R)                                                                        \
  static void p##gesdd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0], *u = &job->out[2], *vt = &job->out[3];                          \
    lapack_int m = ROWS(*a), n = COLS(*a), least = lapack_least(m, n), ignored = 0;                \
    char mode = LETTER("mode", 'S');                                                               \
    T size = 0;                                                                                    \
    LAPACK(p##gesdd_work)                                                                          \
    (COL, mode, m, n, a->data, lapack_ld(a), OUT(1), u->data, lapack_ld(u), vt->data,              \
     lapack_ld(vt), &size, -1, &ignored);                                                          \
    lapack_int count = lapack_most(1, (lapack_int)size), whole = lapack_most(1, 8 * least);        \
    T *work = lapack_work(job, sizeof(T) * (size_t)count + sizeof whole * (size_t)whole);          \
    if (!work) return;                                                                             \
    lapack_info(job, 4,                                                                            \
                LAPACK(p##gesdd_work)(COL, mode, m, n, a->data, lapack_ld(a), OUT(1), u->data,     \
                                      lapack_ld(u), vt->data, lapack_ld(vt), work, count,          \
                                      (lapack_int *)(work + count)));                              \
  }
FOR_REAL(GESDD_REAL)

#define GESDD_COMPLEX(p, T, R, ...)                                                                \
  static void p##gesdd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0], *u = &job->out[2], *vt = &job->out[3];                          \
    lapack_int m = ROWS(*a), n = COLS(*a), least = lapack_least(m, n), ignored = 0;                \
    lapack_int most = lapack_most(m, n);                                                           \
    char mode = LETTER("mode", 'S');                                                               \
    T size = 0;                                                                                    \
    R none = 0;                                                                                    \
    LAPACK(p##gesdd_work)                                                                          \
    (COL, mode, m, n, a->data, lapack_ld(a), OUT(1), u->data, lapack_ld(u), vt->data,              \
     lapack_ld(vt), &size, -1, &none, &ignored);                                                   \
    lapack_int count = lapack_most(1, (lapack_int)creal(size)), whole = lapack_most(1, 8 * least); \
    size_t reals = (size_t)least * (size_t)lapack_most(5 * least + 7, 2 * most + 2 * least + 1);   \
    T *work = lapack_work(                                                                         \
        job, sizeof(T) * (size_t)count + sizeof(R) * (reals + 1) + sizeof whole * (size_t)whole);  \
    if (!work) return;                                                                             \
    R *real_work = (R *)(work + count);                                                            \
    lapack_info(job, 4,                                                                            \
                LAPACK(p##gesdd_work)(COL, mode, m, n, a->data, lapack_ld(a), OUT(1), u->data,     \
                                      lapack_ld(u), vt->data, lapack_ld(vt), work, count,          \
                                      real_work, (lapack_int *)(real_work + reals + 1)));          \
  }
FOR_COMPLEX(GESDD_COMPLEX)

/* As gesdd, by the QR iteration. */
#define GESVD(p, T, R, ...)                                                                        \
  static void p##gesvd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0], *u = &job->out[2], *vt = &job->out[3];                          \
    lapack_int m = ROWS(*a), n = COLS(*a);                                                         \
    char mode = LETTER("mode", 'S');                                                               \
    WITH_WORK(                                                                                     \
        T, R, 5 * lapack_least(m, n) + 1,                                                          \
        LAPACK(p##gesvd_work)(COL, mode, mode, m, n, a->data, lapack_ld(a), OUT(1), u->data,       \
                              lapack_ld(u), vt->data, lapack_ld(vt), work, count, ##__VA_ARGS__))  \
    lapack_info(job, 4, info);                                                                     \
  }
FOR_ALL(GESVD)

/* The complex vectors that LAPACK packs into real ones: where an eigenvalue is one of a pair, two columns are
 * the real and the imaginary part. */
#define UNPACK(p, R)                                                                               \
  static void p##unpack(lapack_int n, const R *imaginary, const R *packed, R _Complex *out) {      \
    for (lapack_int j = 0; j < n; j++) {                                                           \
      bool pair = imaginary[j] != 0 && j + 1 < n;                                                  \
      for (lapack_int i = 0; i < n; i++) {                                                         \
        R re = packed[j * n + i], im = pair ? packed[(j + 1) * n + i] : 0;                         \
        out[j * n + i] = re + im * I;                                                              \
        if (pair) out[(j + 1) * n + i] = re - im * I;                                              \
      }                                                                                            \
      j += pair;                                                                                   \
    }                                                                                              \
  }
UNPACK(s, float)
UNPACK(d, double)

/* Matrices with NaN or infinity have no eigenvalues, by argument 4 of the call; LAPACK itself finds some where
 * there is one row. */
#define FINITE(p, T, R, ...)                                                                       \
  static bool p##finite(const lapack_part *a) {                                                    \
    const R *parts = a->data;                                                                      \
    size_t count = (size_t)(a->rows * a->columns) * (sizeof(T) / sizeof(R));                       \
    for (size_t i = 0; i < count; i++) {                                                           \
      if (!isfinite(parts[i])) return false;                                                       \
    }                                                                                              \
    return true;                                                                                   \
  }
FOR_ALL(FINITE)

#define GEEV_REAL(p, T, R)                                                                         \
  static void p##geev(lapack_job *job) {                                                           \
    lapack_part *a = &job->in[0];                                                                  \
    lapack_int n = COLS(*a), ld = lapack_ld(a);                                                    \
    char left = LETTER("compute_left", 'N'), right = LETTER("compute_right", 'N');                 \
    size_t square = (size_t)n * (size_t)n;                                                         \
    if (!p##finite(a)) {                                                                           \
      lapack_info(job, 4, -4);                                                                     \
      return;                                                                                      \
    }                                                                                              \
    T size = 0;                                                                                    \
    LAPACK(p##geev_work)                                                                           \
    (COL, left, right, n, a->data, ld, OUT(0), OUT(1), NULL, ld, NULL, ld, &size, -1);             \
    lapack_int count = lapack_most(1, (lapack_int)size);                                           \
    T *work = lapack_work(job, sizeof(T) * ((size_t)count + 2 * square + 1));                      \
    if (!work) return;                                                                             \
    T *vl = work + count, *vr = vl + square;                                                       \
    lapack_info(job, 4,                                                                            \
                LAPACK(p##geev_work)(COL, left, right, n, a->data, ld, OUT(0), OUT(1), vl, ld, vr, \
                                     ld, work, count));                                            \
    if (left == 'V') p##unpack(n, OUT(1), vl, OUT(2));                                             \
    if (right == 'V') p##unpack(n, OUT(1), vr, OUT(3));                                            \
  }
FOR_REAL(GEEV_REAL)

#define GEEV_COMPLEX(p, T, R, ...)                                                                 \
  static void p##geev(lapack_job *job) {                                                           \
    lapack_part *a = &job->in[0];                                                                  \
    lapack_int n = COLS(*a), ld = lapack_ld(a);                                                    \
    char left = LETTER("compute_left", 'N'), right = LETTER("compute_right", 'N');                 \
    if (!p##finite(a)) {                                                                           \
      lapack_info(job, 3, -4);                                                                     \
      return;                                                                                      \
    }                                                                                              \
    WITH_WORK(T, R, 2 * n + 1,                                                                     \
              LAPACK(p##geev_work)(COL, left, right, n, a->data, ld, OUT(0), OUT(1), ld, OUT(2),   \
                                   ld, work, count, reals))                                        \
    lapack_info(job, 3, info);                                                                     \
  }
FOR_COMPLEX(GEEV_COMPLEX)

#define GEES_REAL(p, T, R)                                                                         \
  static void p##gees(lapack_job *job) {                                                           \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int n = COLS(*a), ld = lapack_ld(a);                                                    \
    char mode = LETTER("mode", 'V');                                                               \
    WITH_WORK(T, R, 0,                                                                             \
              LAPACK(p##gees_work)(COL, mode, 'N', NULL, n, a->data, ld, OUT(4), OUT(2), OUT(3),   \
                                   OUT(1), ld, work, count, NULL))                                 \
    lapack_info(job, 5, info);                                                                     \
  }
FOR_REAL(GEES_REAL)

#define GEES_COMPLEX(p, T, R, ...)                                                                 \
  static void p##gees(lapack_job *job) {                                                           \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int n = COLS(*a), ld = lapack_ld(a);                                                    \
    char mode = LETTER("mode", 'V');                                                               \
    WITH_WORK(T, R, n + 1,                                                                         \
              LAPACK(p##gees_work)(COL, mode, 'N', NULL, n, a->data, ld, OUT(3), OUT(2), OUT(1),   \
                                   ld, work, count, reals, NULL))                                  \
    lapack_info(job, 4, info);                                                                     \
  }
FOR_COMPLEX(GEES_COMPLEX)

#define GEHRD(p, T, R, ...)                                                                        \
  static void p##gehrd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int n = COLS(*a), ld = lapack_ld(a);                                                    \
    lapack_int low = (lapack_int)halo_custom_call_integer(job->call, "low", 1);                    \
    lapack_int high = (lapack_int)halo_custom_call_integer(job->call, "high", n);                  \
    WITH_WORK(T, R, 0, LAPACK(p##gehrd_work)(COL, n, low, high, a->data, ld, OUT(1), work, count)) \
    lapack_info(job, 2, info);                                                                     \
  }
FOR_ALL(GEHRD)

/* Results: a, diagonal, side, tau, info. */
#define SYTRD(p, routine, T)                                                                       \
  static void p##sytrd(lapack_job *job) {                                                          \
    lapack_part *a = &job->out[0];                                                                 \
    lapack_int n = COLS(*a), ld = lapack_ld(a);                                                    \
    char uplo = LETTER("uplo", 'L');                                                               \
    WITH_WORK(                                                                                     \
        T, T, 0,                                                                                   \
        LAPACK(p##routine##_work)(COL, uplo, n, a->data, ld, OUT(1), OUT(2), OUT(3), work, count)) \
    lapack_info(job, 4, info);                                                                     \
  }
SYTRD(s, sytrd, float)
SYTRD(d, sytrd, double)
SYTRD(c, hetrd, float _Complex)
SYTRD(z, hetrd, double _Complex)

/* JAX's lower diagonal has an unused first element. */
#define GTSV(p, T, R, ...)                                                                         \
  static void p##gtsv(lapack_job *job) {                                                           \
    lapack_part *b = &job->out[3];                                                                 \
    T *lower = OUT(0);                                                                             \
    lapack_info(job, 4,                                                                            \
                LAPACK(p##gtsv_work)(COL, ROWS(*b), COLS(*b), lower + 1, OUT(1), OUT(2), b->data,  \
                                     lapack_ld(b)));                                               \
  }
FOR_ALL(GTSV)

#define ALL(routine)                                                                               \
  { s##routine, d##routine, c##routine, z##routine }
#define SYEVD                                                                                      \
  { ssyevd, dsyevd, cheevd, zheevd }

#else

#define ALL(routine)                                                                               \
  { NULL }
#define SYEVD ALL(syevd)

#endif

/* ---- What the routines take and give ---- */

#define EXTENT(letter) (e->of[(letter) - 'a'])

static const char *rule_orgqr(const lapack_extents *e, const halo_custom_frame *call) {
  (void)call;
  bool fits = EXTENT('r') <= EXTENT('n') && EXTENT('n') <= EXTENT('m');
  return fits ? NULL : "a matrix has at least as many rows as columns, and as many as reflectors";
}

static const char *rule_ormqr(const lapack_extents *e, const halo_custom_frame *call) {
  bool left = halo_custom_call_integer(call, "left", 1) != 0;
  bool fits = EXTENT('h') == EXTENT(left ? 'm' : 'n') && EXTENT('r') <= EXTENT('w') &&
              EXTENT('r') <= EXTENT('h');
  return fits ? NULL
              : "reflectors are as long as the side that they are applied to, and not more than "
                "that";
}

/* How much of u and v there is, by the mode. */
static const char *rule_svd(const lapack_extents *e, const halo_custom_frame *call) {
  int64_t mode = halo_custom_call_integer(call, "mode", 'S');
  if (mode == 'N') return NULL;
  if (mode == 'A') {
    bool fits = EXTENT('u') == EXTENT('m') && EXTENT('v') == EXTENT('n');
    return fits ? NULL : "results 2 and 3 must be square matrices in mode 'A'";
  }
  if (mode != 'S') return "the mode must be 'A', 'S' or 'N'";
  bool fits = EXTENT('u') == EXTENT('k') && EXTENT('v') == EXTENT('k');
  return fits ? NULL : "results 2 and 3 must have as many vectors as there are singular values";
}

static const char *rule_gehrd(const lapack_extents *e, const halo_custom_frame *call) {
  int64_t n = EXTENT('n'), low = halo_custom_call_integer(call, "low", 1);
  int64_t high = halo_custom_call_integer(call, "high", n);
  bool fits = n == 0 || (1 <= low && low <= high && high <= n);
  return fits ? NULL : "low and high must be from 1 to the number of rows, in this order";
}

static const char *rule_trsm(const lapack_extents *e, const halo_custom_frame *call) {
  bool left = halo_custom_call_integer(call, "side", 'L') == 'L';
  bool fits = EXTENT('s') == EXTENT(left ? 'm' : 'n');
  return fits ? NULL : "the matrix must be as large as the side of b that it is solved for";
}

const lapack_routine lapack_routines[] = {
    {"potrf", NULL, "t[n,n]", "t[n,n] i", NULL, NULL, ALL(potrf), false},
    {"getrf", NULL, "t[m,n]", "t[m,n] i[k] i", NULL, NULL, ALL(getrf), false},
    {"geqrf", NULL, "t[m,n]", "t[m,n] t[k]", NULL, NULL, ALL(geqrf), false},
    {"orgqr", "ungqr", "t[m,n] t[r]", "t[m,n]", NULL, rule_orgqr, ALL(orgqr), false},
    {"ormqr", "unmqr", "t[h,w] t[r] t[m,n]", "t[m,n]", NULL, rule_ormqr, ALL(ormqr), true},
    {"geqp3", NULL, "t[m,n] i[n]", "t[m,n] i[n] t[k]", NULL, NULL, ALL(geqp3), false},
    {"syevd", "heevd", "t[n,n]", "t[n,n] r[n] i", NULL, NULL, SYEVD, false},
    {"gesdd", NULL, "t[m,n]", "t[m,n] r[k] t[m,u] t[v,n] i", NULL, rule_svd, ALL(gesdd), false},
    {"gesvd", NULL, "t[m,n]", "t[m,n] r[k] t[m,u] t[v,n] i", NULL, rule_svd, ALL(gesvd), false},
    {"geev", NULL, "t[n,n]", "t[n] t[n] c[n,n] c[n,n] i", "t[n] c[n,n] c[n,n] i", NULL, ALL(geev),
     true},
    {"gees", NULL, "t[n,n]", "t[n,n] t[n,n] t[n] t[n] i i", "t[n,n] t[n,n] t[n] i i", NULL,
     ALL(gees), false},
    {"gehrd", NULL, "t[n,n]", "t[n,n] t[n-1] i", NULL, rule_gehrd, ALL(gehrd), false},
    {"sytrd", "hetrd", "t[n,n]", "t[n,n] r[n] r[n-1] t[n-1] i", NULL, NULL, ALL(sytrd), false},
    {"gtsv", NULL, "t[n] t[n] t[n] t[n,r]", "t[n] t[n] t[n] t[n,r] i", NULL, NULL, ALL(gtsv),
     false},
    /* An operation of ours does it. */
    {"trsm", NULL, "t[s,s] t[m,n]", "t[m,n]", NULL, rule_trsm, {NULL}, false},
    {0}};
