"""Byte streams whose end, or whose second request, two servers could see at different places. In
each, {T} stands for the path of the request, {S} for the path of the one that must not be smuggled,
and {K} for the line of a key, or nothing."""

SMUGGLED = b"GET {S} HTTP/1.1\r\nHost: h\r\n\r\n"
HELLO = b"hello"
# The body of a request, and a whole request as well.
HIDDEN = SMUGGLED
EMPTY_CHUNKS = b"0\r\n\r\n"


def head(*lines, method=b"POST", version=b"HTTP/1.1", host=b"Host: h"):
    first = [method + b" {T} " + version] + ([host] if host is not None else [])
    return b"\r\n".join(first + [b"{K}"] + list(lines) + [b"", b""]).replace(b"{K}\r\n", b"{K}")


def sized(body, *lines):
    return head(b"Content-Length: %d" % len(body), *lines) + body


def chunked(body, *lines):
    return head(b"Transfer-Encoding: chunked", *lines) + body


def chunk(data=HELLO):
    return b"%x\r\n%s\r\n" % (len(data), data)


def content_lengths():
    values = {
        "plus": b"+5", "minus": b"-5", "minus zero": b"-0", "hexadecimal": b"0x5", "octal": b"0o5",
        "hex digits": b"5a", "letters": b"five", "fraction": b"5.0", "exponent": b"5e0",
        "underscore": b"0_5", "quoted": b'"5"', "empty": b"", "blank": b" ", "blank inside": b"5 0",
        "tab inside": b"5\t0", "list": b"5, 5", "tight list": b"5,5", "other list": b"5, 6",
        "trailing comma": b"5,", "leading comma": b",5", "semicolon": b"5;q=1", "NUL": b"5\0",
        "vertical tab": b"\x0b5", "form feed": b"5\x0c", "no-break space": b"\xa05",
        "arabic digit": "\u0665".encode(), "fullwidth digit": "\uff15".encode(),
        "past 32 bits": b"4294967301", "past 63 bits": b"9223372036854775808",
        "past 64 bits": b"18446744073709551621", "many digits": b"9" * 40,
        "leading zeros": b"005", "many zeros": b"0" * 30 + b"5", "tab before": b"\t5",
        "blank after": b"5 ", "tab after": b"5\t", "zero": b"0", "short": b"4", "long": b"6",
        "percent": b"%35", "brackets": b"(5)", "null": b"null", "comment": b"5 (five)",
    }
    for name, value in values.items():
        yield name, head(b"Content-Length: " + value) + HELLO
    twice = {"same": (b"5", b"5"), "smaller first": (b"0", b"5"), "larger first": (b"5", b"0"),
             "second empty": (b"5", b""), "first empty": (b"", b"5"), "zeros": (b"05", b"5"),
             "negative": (b"5", b"-5"), "thrice": (b"5", b"5", b"5")}
    for name, values in twice.items():
        yield "twice: " + name, head(*(b"Content-Length: " + v for v in values)) + HELLO
    names = {"lower case": b"content-length: 5", "upper case": b"CONTENT-LENGTH: 5",
             "no blank": b"Content-Length:5", "blank before the colon": b"Content-Length : 5",
             "tab before the colon": b"Content-Length\t: 5", "underscore": b"Content_Length: 5",
             "folded": b"Content-Length:\r\n 5", "folded twice": b"Content-Length:\r\n \r\n 5",
             "NUL in the name": b"Content\0-Length: 5", "leading blank": b" Content-Length: 5",
             "in another value": b"X: y\rContent-Length: 5",
             "behind LF": b"X: y\nContent-Length: 5",
             "high byte in the name": b"Content-Length\xa0: 5", "no colon": b"Content-Length 5",
             "two colons": b"Content-Length:: 5", "colon first": b":Content-Length: 5",
             "prefixed": b"XContent-Length: 5", "dotted": b"Content.Length: 5"}
    for name, line in names.items():
        yield "name: " + name, head(line) + HELLO
        yield "name, beside a length: " + name, head(b"Content-Length: 0", line) + HELLO
    yield "none, with a body", head() + HELLO
    yield "hides a request", sized(HIDDEN)
    yield "zero, hides a request", head(b"Content-Length: 0") + HIDDEN
    yield "in lower version", head(b"Content-Length: 5", version=b"HTTP/1.0") + HELLO


CODINGS = {
    "chunked": b"chunked", "upper case": b"CHUNKED", "mixed case": b"cHuNkEd", "no blank": None,
    "tab before": b"\tchunked", "tab after": b"chunked\t", "blank after": b"chunked ",
    "vertical tab": b"\x0bchunked", "form feed": b"chunked\x0c", "NUL": b"chunked\0",
    "NUL before": b"\0chunked", "no-break space": b"\xa0chunked", "quoted": b'"chunked"',
    "single quotes": b"'chunked'", "trailing comma": b"chunked,", "leading comma": b",chunked",
    "empty element": b"chunked,,", "twice": b"chunked, chunked", "identity": b"identity",
    "chunked, identity": b"chunked, identity", "identity, chunked": b"identity, chunked",
    "gzip": b"gzip", "gzip, chunked": b"gzip, chunked", "chunked, gzip": b"chunked, gzip",
    "deflate, chunked": b"deflate,chunked", "x-prefixed": b"xchunked", "suffixed": b"chunkedx",
    "parameter": b"chunked;q=1", "empty parameter": b"chunked;", "dash": b"chunk-ed",
    "empty": b"", "blank": b" ", "cow": b"cow", "cow, chunked": b"cow, chunked",
    "chunked and a word": b"chunked x", "word and chunked": b"x chunked", "equals": b"=chunked",
    "brackets": b"(chunked)", "comment": b"chunked (really)", "slash": b"chunked/1.1",
    "star": b"*", "backslash": b"chunked\\", "colon": b": chunked", "encoded": b"%63hunked",
    "fullwidth": "\uff43hunked".encode(), "long s": "chun\u212aed".encode(),
    "byte order": b"\xef\xbb\xbfchunked",
    "trailers": b"trailers", "two lines": b"chunked\r\n chunked", "folded": b"\r\n chunked",
    "bare LF": b"\nchunked", "bare CR": b"\rchunked", "CR at the end": b"chunked\r",
}


def transfer_encodings():
    for name, value in CODINGS.items():
        line = b"Transfer-Encoding:chunked" if value is None else b"Transfer-Encoding: " + value
        yield name, head(line) + EMPTY_CHUNKS
        yield name + ", with data", head(line) + chunk() + EMPTY_CHUNKS
        yield name + ", behind a length", head(b"Content-Length: 5", line) + EMPTY_CHUNKS
        yield name + ", before a length", head(line, b"Content-Length: 5") + EMPTY_CHUNKS
    names = {
        "blank before the colon": b"Transfer-Encoding : chunked",
        "leading blank": b" Transfer-Encoding: chunked",
        "tab before the colon": b"Transfer-Encoding\t: chunked",
        "underscore": b"Transfer_Encoding: chunked",
        "leading tab": b"\tTransfer-Encoding: chunked", "NUL": b"Transfer-Encoding\0: chunked",
        "prefixed": b"X-Transfer-Encoding: chunked",
        "behind LF": b"X: y\nTransfer-Encoding: chunked",
        "behind CR": b"X: y\rTransfer-Encoding: chunked",
        "behind CR LF blank": b"X: y\r\n Transfer-Encoding: chunked",
        "colon first": b":Transfer-Encoding: chunked", "dotted": b"Transfer.Encoding: chunked",
        "vertical tab": b"Transfer-Encoding\x0b: chunked",
        "no-break space": b"Transfer-Encoding\xa0: chunked",
        "TE": b"TE: chunked", "Content-Encoding": b"Content-Encoding: chunked",
        "backspace": b"Transfer-Encoding\x08: chunked",
        "long s": "Tran\u017ffer-Encoding: chunked".encode(),
        "quoted name": b'"Transfer-Encoding": chunked',
        "brackets": b"[Transfer-Encoding]: chunked", "equals": b"Transfer-Encoding= chunked",
        "named in Connection": b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked",
    }
    for name, line in names.items():
        yield "name: " + name, head(b"Content-Length: 5", line) + EMPTY_CHUNKS
        yield "name, alone: " + name, head(line) + EMPTY_CHUNKS
    two = b"Transfer-Encoding: %s\r\nTransfer-Encoding: %s"
    for first, second in ((b"chunked", b"chunked"), (b"chunked", b"identity"), (b"identity", b"chunked"),
                          (b"", b"chunked"), (b"chunked", b""), (b"gzip", b"chunked"),
                          (b"cow", b"chunked")):
        yield f"two fields: {first!r} {second!r}", head(two % (first, second)) + EMPTY_CHUNKS
    yield "in HTTP/1.0", head(b"Transfer-Encoding: chunked", version=b"HTTP/1.0") + EMPTY_CHUNKS
    yield "in HTTP/1.0 with a length", head(b"Transfer-Encoding: chunked", b"Content-Length: 5",
                                            version=b"HTTP/1.0") + EMPTY_CHUNKS
    yield "on GET", head(b"Transfer-Encoding: chunked", method=b"GET") + chunk() + EMPTY_CHUNKS
    yield "hides a request", chunked(chunk(HIDDEN) + EMPTY_CHUNKS)
    yield "a request behind the last chunk", chunked(EMPTY_CHUNKS + HIDDEN)


def chunks():
    sizes = {
        "none": b"", "blank": b" ", "plus": b"+5", "minus": b"-5", "0x": b"0x5", "0X": b"0X5",
        "h": b"5h",
        "letters": b"xyz", "blank before": b" 5", "tab before": b"\t5", "blank after": b"5 ",
        "tab after": b"5\t",
        "two blanks after": b"5  ", "zeros": b"0005", "many zeros": b"0" * 15 + b"5",
        "more zeros": b"0" * 40 + b"5",
        "past 32 bits": b"100000005", "past 64 bits": b"10000000000000005", "all ones": b"f" * 16,
        "17 digits": b"f" * 17, "100 digits": b"f" * 100, "NUL": b"5\0", "NUL before": b"\0" + b"5",
        "vertical tab": b"5\x0b", "comma": b"5,5", "fraction": b"5.0", "underscore": b"0_5",
        "quoted": b'"5"',
        "brackets": b"(5)", "arabic digit": "\u0665".encode(), "fullwidth": "\uff15".encode(),
        "colon": b"5:",
        "equals": b"5=", "upper case": b"A", "bare CR after": b"5\r", "two sizes": b"5\r\n5",
        "negative zero": b"-0",
        "short": b"4", "long": b"6", "huge": b"ffffffffffffffec", "zero with data": b"00",
        "semicolon first": b";5",
        "high byte": b"5\xff", "exponent": b"5e", "percent": b"%35", "CR before": b"\r5",
        "LF before": b"\n5",
    }
    for name, size in sizes.items():
        yield "size: " + name, chunked(size + b"\r\nhello\r\n" + EMPTY_CHUNKS)
    ends = {
        "LF after the size": b"5\nhello\r\n0\r\n\r\n",
        "CR after the size": b"5\rhello\r\n0\r\n\r\n",
        "LF after the data": b"5\r\nhello\n0\r\n\r\n",
        "CR after the data": b"5\r\nhello\r0\r\n\r\n",
        "nothing after the data": b"5\r\nhello0\r\n\r\n",
        "more after the data": b"5\r\nhello!\r\n0\r\n\r\n",
        "blank after the data": b"5\r\nhello \r\n0\r\n\r\n",
        "LF LF at the end": b"5\r\nhello\r\n0\n\n",
        "LF after the last size": b"5\r\nhello\r\n0\n\r\n",
        "LF at the end": b"5\r\nhello\r\n0\r\n\n",
        "CR CR at the end": b"5\r\nhello\r\n0\r\r", "CR LF LF": b"5\r\nhello\r\n0\r\n\n\n",
        "wrong pair after the data": b"5\r\nhelloXX0\r\n\r\n", "LF CR": b"5\n\rhello\n\r0\n\r\n\r",
        "two line ends after the data": b"5\r\nhello\r\n\r\n0\r\n\r\n",
        "two CR": b"5\r\r\nhello\r\n0\r\n\r\n",
        "no last chunk": b"5\r\nhello\r\n", "no empty line": b"5\r\nhello\r\n0\r\n",
        "two last chunks": b"0\r\n\r\n0\r\n\r\n",
        "last chunk in many zeros": b"5\r\nhello\r\n000000\r\n\r\n",
        "last chunk in 20 zeros": b"5\r\nhello\r\n" + b"0" * 20 + b"\r\n\r\n",
        "an empty line first": b"\r\n5\r\nhello\r\n0\r\n\r\n",
        "a chunk behind the last": b"0\r\n\r\n5\r\nhello\r\n",
    }
    for name, body in ends.items():
        yield "end: " + name, chunked(body)
    extensions = {
        "name": b";a", "name and value": b";a=b", "quoted": b';a="b"', "quoted CR LF": b';a="\r\n"',
        "blank": b" ;a=b",
        "blank behind": b"; a = b", "tab": b"\t;a=b", "empty": b";", "two": b";a=b;c=d",
        "LF": b";a\nb", "bare LF end": b";a\n",
        "CR": b";a\rb", "NUL": b";a\0b", "control byte": b";a\x01b", "high byte": b";\xff=\xfe",
        "unclosed quote": b';a="b',
        "a size": b";5", "long": b";" + b"a" * 4000, "longer": b";" + b"a" * 40000,
        "a request": b";GET {S} HTTP/1.1",
        "word without semicolon": b" a", "comma": b",a", "equals": b";=", "only equals": b"=b",
        "escaped quote": b';a="\\""',
        "LF in the last": None, "CR in the last": None, "in the last": None,
    }
    for name, text in extensions.items():
        last = {"LF in the last": b";a\nGET {S} HTTP/1.1", "CR in the last": b";a\rGET {S} HTTP/1.1",
                "in the last": b";a=b"}.get(name)
        yield "extension: " + name, (
            chunked(b"5" + (text or b"") + b"\r\nhello\r\n0" + (last or b"") + b"\r\n\r\n"))
    trailers = {
        "one": b"X-Trailer: t", "empty value": b"X-Trailer:",
        "Content-Length": b"Content-Length: 500",
        "Transfer-Encoding": b"Transfer-Encoding: chunked", "Host": b"Host: other",
        "key": b"Idempotency-Key: other",
        "Authorization": b"Authorization: Bearer other", "Semel-Token": b"Semel-Token: 1",
        "Connection": b"Connection: close",
        "Content-Type": b"Content-Type: a/b", "Trailer": b"Trailer: x",
        "X-Forwarded-For": b"X-Forwarded-For: 1.1.1.1",
        "no colon": b"nonsense", "no name": b": t", "blank before the colon": b"X-Trailer : t",
        "folded": b"X-Trailer: t\r\n u",
        "leading blank": b" X-Trailer: t", "NUL": b"X-Trailer: \0", "NUL in the name": b"X\0: t",
        "CR": b"X: a\rb",
        "LF": b"X: a\nb", "LF LF": b"X: a\n\nGET {S} HTTP/1.1\r\nHost: h",
        "a request line": b"GET {S} HTTP/1.1",
        "high byte": b"X: \xff", "high byte in the name": b"\xff: t", "long": b"X: " + b"a" * 4000,
        "longer": b"X: " + b"a" * 40000,
        "many": b"\r\n".join(b"X-%d: t" % n for n in range(100)), "control byte": b"X: \x01",
        "bare CR end": b"X: t\r",
    }
    for name, lines in trailers.items():
        yield "trailer: " + name, chunked(b"5\r\nhello\r\n0\r\n" + lines + b"\r\n\r\n")


def lines():
    raw = {
        "bare LF everywhere": b"POST {T} HTTP/1.1\nHost: h\n{K}Content-Length: 5\n\nhello",
        "bare LF after the first line": b"POST {T} HTTP/1.1\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "bare LF before the empty line": b"POST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\n\r\nhello",
        "bare LF as the empty line": b"POST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\nhello",
        "CR only": b"POST {T} HTTP/1.1\rHost: h\rContent-Length: 5\r\rhello",
        "LF CR": b"POST {T} HTTP/1.1\n\rHost: h\n\rContent-Length: 5\n\r\n\rhello",
        "CR CR LF": b"POST {T} HTTP/1.1\r\r\nHost: h\r\r\nContent-Length: 5\r\r\n\r\r\nhello",
        "CR CR LF at the end": b"POST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\r\nhello",
        "an empty line first": b"\r\nPOST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "two empty lines first": b"\r\n\r\nPOST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "a bare LF first": b"\nPOST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "a blank first": b" POST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "a NUL first": b"\0POST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "a byte order mark first": b"\xef\xbb\xbfPOST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "folded after the first line": b"POST {T} HTTP/1.1\r\n Host: h\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "blank line in the head": b"POST {T} HTTP/1.1\r\n \r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello",
        "no empty line": b"POST {T} HTTP/1.1\r\nHost: h\r\n{K}Content-Length: 5\r\n",
        "HTTP/0.9": b"GET {T}\r\n", "HTTP/0.9 with a head": b"GET {T}\r\nHost: h\r\n\r\n",
        "HTTP/0.9 POST": b"POST {T}\r\nContent-Length: 5\r\n\r\nhello",
        "CR LF in the target": b"POST {T}\r\nX HTTP/1.1\r\nHost: h\r\n\r\n",
        "empty lines between requests": sized(HELLO) + b"\r\n\r\n",
        "junk between requests": sized(HELLO) + b"junk\r\n",
    }
    yield from raw.items()
    fields = {
        "folded": b"X: a\r\n b", "folded with a tab": b"X: a\r\n\tb", "folded empty": b"X:\r\n b",
        "no colon": b"nonsense",
        "no name": b": v", "only a colon": b":", "blank in the name": b"X Y: v",
        "NUL in the name": b"X\0Y: v", "NUL in the value": b"X: a\0b",
        "NUL value": b"X: \0", "control byte": b"X: \x01", "DEL": b"X: \x7f",
        "escape": b"X: \x1b[1m", "vertical tab": b"X: \x0b",
        "CR in the value": b"X: a\rb", "CR at the end": b"X: a\r", "LF in the value": b"X: a\nb",
        "tab in the value": b"X: a\tb",
        "high bytes": b"X: \xff\xfe", "high byte in the name": b"X\xff: v",
        "brackets in the name": b"X(Y): v", "slash": b"X/Y: v",
        "quote in the name": b'X"Y: v', "at": b"X@Y: v", "comma": b"X,Y: v", "braces": b"{X}: v",
        "equals": b"X=Y: v", "semicolon": b"X;Y: v",
        "odd but allowed name": b"!#$%&'*+-.^_`|~: v", "a request line": b"GET {S} HTTP/1.1",
        "a status line": b"HTTP/1.1 200 OK",
        "request in a value": b"X: GET {S} HTTP/1.1",
        "encoded line end": b"X: a%0d%0aContent-Length: 5",
        "unicode line end": "X: a\u010d\u010aY: b".encode("utf-16-be").replace(b"\0", b""),
        "next line": b"X: a\x85Content-Length: 9", "long name": b"X" * 5000 + b": v",
        "long value": b"X: " + b"v" * 20000,
        "too long": b"X: " + b"v" * 70000,
        "200 fields": b"\r\n".join(b"X-%d: v" % n for n in range(200)),
        "2000 fields": b"\r\n".join(b"X-%d: v" % n for n in range(2000)), "empty value": b"X:",
        "blank value": b"X:  \t ",
    }
    for name, line in fields.items():
        yield "field: " + name, sized(HELLO, line)
        yield "last field: " + name, head(line, b"Content-Length: 5") + HELLO


def first_lines():
    for name, line in {
        "two blanks": b"POST  {T} HTTP/1.1", "two blanks before the version": b"POST {T}  HTTP/1.1",
        "tab": b"POST\t{T}\tHTTP/1.1",
        "tab before the version": b"POST {T}\tHTTP/1.1", "blank at the end": b"POST {T} HTTP/1.1 ",
        "tab at the end": b"POST {T} HTTP/1.1\t",
        "no version": b"POST {T}", "blank for the version": b"POST {T} ",
        "lower-case version": b"POST {T} http/1.1", "mixed case": b"POST {T} Http/1.1",
        "no dot": b"POST {T} HTTP/11", "no minor": b"POST {T} HTTP/1",
        "no minor digit": b"POST {T} HTTP/1.", "two minor digits": b"POST {T} HTTP/1.10",
        "leading zero": b"POST {T} HTTP/01.1", "minor 2": b"POST {T} HTTP/1.2",
        "minor 9": b"POST {T} HTTP/1.9", "version 0.9": b"POST {T} HTTP/0.9",
        "version 2": b"POST {T} HTTP/2.0", "version 3": b"POST {T} HTTP/3.0",
        "plus": b"POST {T} HTTP/+1.1", "comma": b"POST {T} HTTP/1,1",
        "blank in the version": b"POST {T} HTTP/ 1.1",
        "blank around the slash": b"POST {T} HTTP /1.1", "another protocol": b"POST {T} ICAP/1.1",
        "a word more": b"POST {T} x HTTP/1.1", "version twice": b"POST {T} HTTP/1.1 HTTP/1.1",
        "vertical tab": b"POST\x0b{T} HTTP/1.1", "no-break space": b"POST\xa0{T} HTTP/1.1",
        "NUL in the method": b"PO\0ST {T} HTTP/1.1", "lower-case method": b"post {T} HTTP/1.1",
        "colon in the method": b"PO:ST {T} HTTP/1.1", "quote in the method": b'PO"ST {T} HTTP/1.1',
        "empty method": b" {T} HTTP/1.1", "unknown method": b"FROB {T} HTTP/1.1",
        "odd method": b"!#$%&'*+-.^_`|~ {T} HTTP/1.1",
        "long method": b"M" * 5000 + b" {T} HTTP/1.1", "PRI": b"PRI * HTTP/2.0",
        "CONNECT": b"CONNECT h:443 HTTP/1.1", "TRACE": b"TRACE {T} HTTP/1.1",
        "OPTIONS star": b"OPTIONS * HTTP/1.1", "star": b"POST * HTTP/1.1",
        "authority": b"POST h:80 HTTP/1.1", "no slash": b"POST framing HTTP/1.1",
        "empty target": b"POST  HTTP/1.1",
        "NUL in the target": b"POST {T}\0 HTTP/1.1", "high byte": b"POST {T}\xff HTTP/1.1",
        "utf-8": "POST {T}é HTTP/1.1".encode(), "control byte": b"POST {T}\x01 HTTP/1.1",
        "DEL": b"POST {T}\x7f HTTP/1.1",
        "blank in the target": b"POST {T} x HTTP/1.1", "CR in the target": b"POST {T}\rx HTTP/1.1",
        "fragment": b"POST {T}#x HTTP/1.1", "backslash": b"POST {T}\\x HTTP/1.1",
        "bad escape": b"POST {T}%zz HTTP/1.1", "cut escape": b"POST {T}% HTTP/1.1",
        "escaped NUL": b"POST {T}%00 HTTP/1.1", "escaped slash": b"POST {T}%2Fx HTTP/1.1",
        "escaped letters": b"POST {T}%78%2d HTTP/1.1",
        "escaped line end": b"POST {T}%0d%0aX:%20y HTTP/1.1", "dots": b"POST {T}/../x HTTP/1.1",
        "escaped dots": b"POST {T}/%2e%2E/x HTTP/1.1", "dot": b"POST {T}/./x HTTP/1.1",
        "dots and an escaped slash": b"POST {T}/..%2fx HTTP/1.1",
        "two slashes": b"POST /{T}//x HTTP/1.1", "parameters": b"POST {T};a=b?c=d?e HTTP/1.1",
        "empty query": b"POST {T}? HTTP/1.1", "escape in the query": b"POST {T}?a=%zz HTTP/1.1",
        "quotes": b"POST {T}?a=\"<>^`{|} HTTP/1.1",
        "long target": b"POST {T}?" + b"a" * 6000 + b" HTTP/1.1",
        "too long target": b"POST {T}?" + b"a" * 70000 + b" HTTP/1.1",
        "absolute": b"POST http://h{T} HTTP/1.1",
        "absolute, other host": b"POST http://other{T} HTTP/1.1",
        "absolute, upper case": b"POST HTTP://h{T} HTTP/1.1",
        "absolute, user": b"POST http://u@h{T} HTTP/1.1",
        "absolute, port": b"POST http://h:80{T} HTTP/1.1",
        "absolute, https": b"POST https://h{T} HTTP/1.1",
        "absolute, no host": b"POST http://{T} HTTP/1.1",
        "absolute, ftp": b"POST ftp://h{T} HTTP/1.1",
        "absolute, backslash": b"POST http://h\\@other{T} HTTP/1.1",
    }.items():
        yield name, line + b"\r\nHost: h\r\n{K}Content-Length: 5\r\n\r\nhello"
    for name, host in {
        "none": None, "empty": b"Host:", "twice": b"Host: h\r\nHost: h",
        "two": b"Host: h\r\nHost: other", "list": b"Host: h, other", "blank": b"Host: h other",
        "user": b"Host: u@h", "path": b"Host: h/x",
        "no port": b"Host: h:", "letters": b"Host: h:http", "port twice": b"Host: h:80:80",
        "port too large": b"Host: h:65536", "escaped": b"Host: %68", "high byte": b"Host: \xff",
        "NUL": b"Host: h\0", "blank before the colon": b"Host : h",
        "folded": b"Host:\r\n h", "IPv6": b"Host: [::1]:80", "IPv6 bare": b"Host: ::1",
        "IPv6 open": b"Host: [::1", "zone": b"Host: [::1%25lo]", "underscore": b"Host: a_b",
        "quote": b'Host: "h"', "tab": b"Host:\th", "comma": b"Host: h,", "semicolon": b"Host: h;x",
        "URL": b"Host: http://h",
        "beside X-Host": b"Host: h\r\nX-Host: other", "imitation": b"Host: h\r\nHost_: other",
        "leading blank": b" Host: h\r\nHost: h", "NUL name": b"Host\0: other\r\nHost: h",
        "behind LF": b"X: y\nHost: other\r\nHost: h",
    }.items():
        yield "Host: " + name, head(b"Content-Length: 5", host=host) + HELLO
        if host is None:
            yield "Host: none in HTTP/1.0", (
                head(b"Content-Length: 5", host=None, version=b"HTTP/1.0") + HELLO)


def options():
    for name, line in {
        "100-continue": b"Expect: 100-continue",
        "100-continue, upper case": b"Expect: 100-CONTINUE", "other": b"Expect: 200-ok",
        "two": b"Expect: 100-continue\r\nExpect: 100-continue", "list": b"Expect: 100-continue, x",
        "empty": b"Expect:",
        "blank before the colon": b"Expect : 100-continue", "tab": b"Expect:\t100-continue",
        "folded": b"Expect:\r\n 100-continue", "parameter": b"Expect: 100-continue;x",
        "quoted": b'Expect: "100-continue"',
    }.items():
        yield "Expect: " + name, sized(HELLO, line)
        yield "Expect, chunked: " + name, chunked(chunk() + EMPTY_CHUNKS, line)
    for name, line in {
        "websocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
        "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        "without Connection": b"Upgrade: h2c", "TLS": b"Connection: Upgrade\r\nUpgrade: TLS/1.0",
    }.items():
        yield "Upgrade: " + name, sized(HELLO, line)
        yield "Upgrade, GET: " + name, head(line, method=b"GET")
    for name, line in {
        "close": b"Connection: close", "both": b"Connection: keep-alive, close",
        "names the length": b"Connection: Content-Length", "names the host": b"Connection: Host",
        "names the coding": b"Connection: Transfer-Encoding",
        "names the key": b"Connection: Idempotency-Key", "empty": b"Connection:",
        "commas": b"Connection: ,,,", "long": b"Connection: " + b"a," * 200 + b"a",
        "proxy": b"Proxy-Connection: keep-alive", "names itself": b"Connection: Connection",
        "keep-alive": b"Connection: Keep-Alive\r\nKeep-Alive: timeout=5",
        "TE": b"Connection: TE\r\nTE: trailers", "trailer": b"Trailer: Content-Length",
        "quoted": b'Connection: "close"', "NUL": b"Connection: close\0",
    }.items():
        yield "Connection: " + name, sized(HELLO, line)
        yield "Connection, chunked: " + name, chunked(chunk() + EMPTY_CHUNKS, line)
    for method in (b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"PUT", b"PATCH", b"TRACE"):
        text = method.decode()
        yield text + " with a body", head(b"Content-Length: 5", method=method) + HELLO
        yield text + " hides a request", (
            head(b"Content-Length: %d" % len(HIDDEN), method=method) + HIDDEN)
        yield text + " in chunks", (
            head(b"Transfer-Encoding: chunked", method=method) + chunk(HIDDEN) + EMPTY_CHUNKS)
        yield text + " without a length", head(method=method)
    yield "two requests", sized(HELLO) + head(b"Content-Length: 2") + b"ok"
    yield "three requests", sized(HELLO) + chunked(chunk() + EMPTY_CHUNKS) + head(method=b"GET")
    yield "a sound one, then a broken one", sized(HELLO) + head(b"Content-Length: 5, 5") + HELLO
    yield "close, then another", sized(HELLO, b"Connection: close") + sized(HELLO)
    yield "HTTP/1.0 keep-alive, then another", (
        head(b"Content-Length: 5", b"Connection: keep-alive", version=b"HTTP/1.0") + HELLO)


GROUPS = {"content-length": content_lengths, "transfer-encoding": transfer_encodings, "chunks": chunks,
          "lines": lines, "first line": first_lines, "options": options}


def framings():
    """Every stream by its name; a request that must not be smuggled follows in each."""
    named = {}
    for group, make in GROUPS.items():
        for name, wire in make():
            assert f"{group}: {name}" not in named, name
            named[f"{group}: {name}"] = wire + SMUGGLED
    return named
