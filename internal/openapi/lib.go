package openapi

// LibName is the name of [Lib] in the folder lib of the tools.
const LibName = "openapi.star"

// Lib is the file that the scripts load. It is the same for all documents.
const Lib = `"""What the tools that were imported from OpenAPI documents have in common."""

def plain(value):
    """Write a value as text: as JSON, but a string without quotes."""
    return value if type(value) == "string" else json.encode(value)

def segment(value):
    """Write a value as a part of a path, which leads to no other path."""
    text = plain(value)
    if text in ["", ".", ".."]:
        fail("%s cannot be a part of a path" % json.encode(text), type = "validation_error")
    return url.quote(text)

def joined(values, separator):
    """Write a list as one value."""
    return None if values == None else separator.join([plain(v) for v in values])

def encoded(value):
    """Write a value as JSON."""
    return None if value == None else json.encode(value)

def flat(value):
    """Write a value, or each one in a list, as text: a query has no objects."""
    if type(value) == "list":
        return [plain(v) for v in value]
    return None if value == None else plain(value)

def given(fields):
    """Return the fields that have a value."""
    return {k: v for k, v in (fields or {}).items() if v != None}

def spread(fields, name = None):
    """Return the fields of an object as a query has them: with names such as filter[color], if there is a name."""
    return {"%s[%s]" % (name, k) if name else k: flat(v) for k, v in given(fields).items()}

def answer(r):
    """Return the result of a request, or fail with what the server says."""
    if not r["ok"]:
        fail(
            "the server answered with status %d: %s" % (r["status"], (r["text"] or "")[:500]),
            type = "system_error" if r["status"] >= 500 else "user_error",
        )
    if r["json"] != None:
        return r["json"]
    return r["text"] or r["bytes"]

def headers(r):
    """Return the headers of a response without a body."""
    answer(r)
    return r["headers"]
`
