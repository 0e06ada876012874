// rowscan: op=Continuants numbers=4 types=floats
//
// continuants.cuh - the continued fraction x0 + 1 / (x1 + 1 / (x2 + ...)) of all elements so far, by 2 x 2 matrices
// SPDX-License-Identifier: MIT
//
// An element x is the matrix {x, 1; 1, 0}; a block is their product, of which the first column is the fraction. No
// product is 0, so that {0, 0; 0, 0} may stand for no elements. See continuants.c for the same on the host.
template <class A, class K> struct Continuants {
  struct Total {
    A a, b, c, d; // {a, b; c, d}
  };
  RS_METHOD static bool is_none(Total t) {
    return t.a == 0 && t.b == 0 && t.c == 0 && t.d == 0;
  }
  RS_METHOD static Total load(A x) {
    return {x, 1, 1, 0};
  }
  RS_METHOD static Total neutral() {
    return {0, 0, 0, 0};
  }
  RS_METHOD static Total combine(Total l, Total r) {
    if (is_none(r))
      return l;
    if (is_none(l))
      return r;
    return {fused(l.a, r.a, l.b * r.c), fused(l.a, r.b, l.b * r.d), fused(l.c, r.a, l.d * r.c),
            fused(l.c, r.b, l.d * r.d)};
  }
  RS_METHOD static A store(Total t) {
    return t.a / t.c;
  }
};
