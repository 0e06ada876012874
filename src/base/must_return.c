/*
 * must_return.c - a personality that lets nothing pass
 * SPDX-License-Identifier: MIT
 */
#include "must_return.h"

#include <unwind.h>

/* Named in assembly alone. */
_Unwind_Reason_Code rs_must_return(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                   struct _Unwind_Exception *exception, struct _Unwind_Context *context)
    __attribute__((used, visibility("hidden")));

_Unwind_Reason_Code rs_must_return(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                   struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
  (void)version, (void)class, (void)exception, (void)context;
  return actions & _UA_SEARCH_PHASE ? _URC_FATAL_PHASE1_ERROR : _URC_FATAL_PHASE2_ERROR;
}
