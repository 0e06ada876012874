// rowscan: op=Welford numbers=3 types=floats
//
// welford.cuh - the variance of all elements so far, from their number, mean and sum of squared deviations
// SPDX-License-Identifier: MIT
//
// Two blocks are joined as Chan, Golub and LeVeque do (1979), so that nothing cancels; with one element each step is
// Welford's. Numbers of elements are exact up to 2^24. See welford.c for the same on the host.
template <class A, class K> struct Welford {
  struct Total {
    A count, mean, squares;
  };
  RS_METHOD static Total load(A x) {
    return {1, x, 0};
  }
  RS_METHOD static Total neutral() {
    return {0, 0, 0};
  }
  RS_METHOD static Total combine(Total l, Total r) {
    if (r.count == 0)
      return l;
    if (l.count == 0)
      return r;
    A count = l.count + r.count, delta = r.mean - l.mean, part = r.count / count;
    return {count, l.mean + delta * part, l.squares + r.squares + delta * delta * (l.count * part)};
  }
  RS_METHOD static A store(Total t) {
    return t.squares / t.count;
  }
};
