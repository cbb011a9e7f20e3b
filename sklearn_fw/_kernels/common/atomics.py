"""Atomic operations on elements of arrays that several threads share (numba has none for CPUs).

Each has an implementation in plain Python, used where NUMBA_DISABLE_JIT is set.

Relaxed ("monotonic") ordering: an operation on one element is indivisible, and nothing is promised
about the order in which other threads see different elements. The methods here need no more, since
their analysis allows inconsistent reads; `exchange` on the memory and `add` on its mean are what
keeps the two consistent in the end.
"""

import threading

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .._jit import intrinsic

ORDERING = "monotonic"

_lock = threading.Lock()  # of the plain versions: Python may change threads between any two steps


def _pointer(context, builder, signature, args):
    """Address of the element ``array[index]``, index a tuple; no bounds check, no wraparound."""
    array_type, index_type = signature.args[0], signature.args[1]
    array = context.make_array(array_type)(context, builder, args[0])
    indices = cgutils.unpack_tuple(builder, args[1], count=len(index_type))
    indices = [
        context.cast(builder, index, kind, types.intp) for index, kind in zip(indices, index_type)
    ]
    return cgutils.get_item_pointer(
        context, builder, array_type, array, indices, wraparound=False, boundscheck=False
    )


def plain_add(array, index, value):
    """What `add` does."""
    with _lock:
        array[index] += value


@intrinsic(plain_add)
def add(typingctx, array, index, value):
    """``array[index] += value`` in one step that no other thread can split."""

    def codegen(context, builder, signature, args):
        builder.atomic_rmw("fadd", _pointer(context, builder, signature, args), args[2], ORDERING)
        return context.get_dummy_value()

    return types.void(array, index, array.dtype), codegen


def plain_exchange(array, index, value):
    """What `exchange` does."""
    with _lock:
        old = array[index]
        array[index] = value
    return old


@intrinsic(plain_exchange)
def exchange(typingctx, array, index, value):
    """Store ``value`` at ``array[index]`` and return what was there, in one step."""

    def codegen(context, builder, signature, args):
        # As an integer of the same size: floating-point exchange is younger than numba's floor.
        kind = ir.IntType(signature.args[0].dtype.bitwidth)
        pointer = builder.bitcast(_pointer(context, builder, signature, args), ir.PointerType(kind))
        old = builder.atomic_rmw("xchg", pointer, builder.bitcast(args[2], kind), ORDERING)
        return builder.bitcast(old, args[2].type)

    return array.dtype(array, index, array.dtype), codegen


def plain_prefetch(array, index):
    """Nothing, which is what is seen of `prefetch`."""


@intrinsic(plain_prefetch)
def prefetch(typingctx, array, index):
    """Ask the processor for the cache line of ``array[index]``, which will be needed soon."""

    def codegen(context, builder, signature, args):
        byte, i32 = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        pointer = builder.bitcast(_pointer(context, builder, signature, args), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        to_read, keep, data = i32(0), i32(3), i32(1)
        builder.call(function, [pointer, to_read, keep, data])
        return context.get_dummy_value()

    return types.void(array, index), codegen
