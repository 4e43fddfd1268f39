"""Semel inside a Python program: runs a block once per key, over any store. Put libsemel.so.1 where the loader finds it, or
name it in LIBSEMEL.

    engine = semel.Engine("embedded:./data")
    with engine.once("close-the-books", "2026-11-18") as once:
        if once.claim:
            once.finish(close_the_books(once.derive("ledger")))   # bytes; left without a word: unknown
    print(once.verdict, once.body)
"""

import ctypes
import os

VERDICTS = ["executed", "replayed", "released", "busy", "mismatch", "unknown", "expired", "unavailable"]


class Call(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("operation", ctypes.c_char_p), ("tenant", ctypes.c_char_p),
                ("key", ctypes.c_char_p), ("fingerprint", ctypes.c_char_p), ("fingerprint_size", ctypes.c_size_t),
                ("wait_ms", ctypes.c_int64), ("ttl_ms", ctypes.c_int64), ("tombstone_ms", ctypes.c_int64),
                ("lease_ms", ctypes.c_int64), ("max_execution_ms", ctypes.c_int64), ("unknown", ctypes.c_int),
                ("version", ctypes.c_char_p)]


lib = ctypes.CDLL(os.environ.get("LIBSEMEL", "libsemel.so.1"))
P, INT, TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
for name, result, *arguments in [
        ("open", P, TEXT, TEXT, ctypes.c_size_t), ("close", None, P),
        ("begin", INT, P, ctypes.POINTER(Call), ctypes.POINTER(P), ctypes.POINTER(P)),
        ("finish", INT, P, INT, TEXT, ctypes.c_size_t, ctypes.POINTER(P)), ("release", INT, P, TEXT),
        ("leave", INT, P, TEXT), ("attempt", ctypes.c_uint32, P), ("derive", None, P, TEXT, TEXT),
        ("body", P, P, ctypes.POINTER(ctypes.c_size_t)), ("status", INT, P), ("why", TEXT, P), ("result_free", None, P)]:
    function = getattr(lib, f"semel_{name}")
    function.restype, function.argtypes = result, arguments


def verdict_of(code):
    return VERDICTS[code] if code >= 0 else "invalid"


class Once:
    """One call: `verdict`, `body`, `why`, and while it is to be executed, its `claim`."""

    def __init__(self, engine, call):
        claim, result = P(), P()
        code = lib.semel_begin(engine, ctypes.byref(call), ctypes.byref(claim), ctypes.byref(result))
        self.claim = claim.value
        self._take(code, result)
        if code < 0:
            raise ValueError(self.why)
        self.attempt = lib.semel_attempt(self.claim) if self.claim else None

    def _take(self, code, result):
        self.verdict = verdict_of(code)
        size = ctypes.c_size_t()
        self.body = ctypes.string_at(lib.semel_body(result, ctypes.byref(size)), size.value)
        self.why = lib.semel_why(result).decode()
        lib.semel_result_free(result)

    def derive(self, label):
        out = ctypes.create_string_buffer(44)
        lib.semel_derive(self.claim, label.encode(), out)
        return out.value.decode()

    def finish(self, body=b"", status=200):
        result, claim, self.claim = P(), self.claim, None
        self._take(lib.semel_finish(claim, status, body, len(body), ctypes.byref(result)), result)

    def release(self, why):
        claim, self.claim, self.why = self.claim, None, why
        self.verdict = verdict_of(lib.semel_release(claim, why.encode()))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.claim:
            claim, self.claim, self.why = self.claim, None, repr(error) if error else "it was left without a word"
            self.verdict = verdict_of(lib.semel_leave(claim, self.why.encode()))


class Engine:
    def __init__(self, url):
        why = ctypes.create_string_buffer(1024)
        self._engine = lib.semel_open(url.encode(), why, len(why))
        if not self._engine:
            raise RuntimeError(why.value.decode())

    def once(self, operation, key, fingerprint=b"", tenant="", **rules):
        """`rules`: wait_ms, ttl_ms, tombstone_ms, lease_ms, max_execution_ms, unknown (1: retry), version (bytes)."""
        return Once(self._engine, Call(ctypes.sizeof(Call), operation.encode(), tenant.encode(), key.encode(), fingerprint,
                                       len(fingerprint), **rules))

    def close(self):
        engine, self._engine = self._engine, None
        lib.semel_close(engine)
