"""Compares an HTTP API with its OpenAPI document, both ways: what comes has to be described, and what is described has
to come. Knows the part of JSON Schema that our document uses, and refuses any other word."""

import json
import re

KNOWN_WORDS = {"$ref", "type", "required", "additionalProperties", "properties", "items", "minItems", "maxItems",
               "enum", "const", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "oneOf", "anyOf",
               "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
DATE_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


class ApiDescription:
    def __init__(self, document):
        assert document["openapi"] == "3.1.0"
        self.document = document
        self.seen_answers = set()  # (method, path, status)
        self.seen_members = set()  # where a schema has the member
        self.sent_members = set()

    def resolve(self, part):
        while "$ref" in part:
            found = self.document
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            part = found
        return part

    def operation(self, method, path):
        """The operation, and its path as the document has it."""
        for template, item in self.document["paths"].items():
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                return item[method.lower()], template
        raise AssertionError(f"{path} is not in the document")

    # --- what was seen ---------------------------------------------------------------------------

    def saw(self, method, path, sent, answer):
        """Checks an answer, and notes what it shows. A request that was accepted must be a valid one."""
        operation, template = self.operation(method, path)
        assert str(answer.status) in operation["responses"], (method, path, answer)
        self.seen_answers.add((method.lower(), template, str(answer.status)))
        response = self.resolve(operation["responses"][str(answer.status)])
        kind = answer.header("Content-Type")
        assert kind in response["content"], answer
        self.check(json.loads(answer.body), response["content"][kind]["schema"], "answer", self.seen_members)
        for name in response.get("headers", {}):
            if answer.header(name) is not None:
                self.seen_members.add(("header", name))
        if sent is not None and answer.status < 300:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            self.check(sent, schema, "request", self.sent_members)

    # --- what is described -----------------------------------------------------------------------

    def described_answers(self):
        return {(method, path, status) for path, item in self.document["paths"].items()
                for method, operation in item.items() for status in operation["responses"]}

    def described_members(self, schemas):
        """Every member of these schemas, as check() notes them."""
        found = set()
        for name in schemas:
            found |= self._members(self.document["components"]["schemas"][name])
        return found

    def _members(self, schema):
        schema = self.resolve(schema)
        found = {(id(schema), name) for name in schema.get("properties", {})}
        for part in [*schema.get("properties", {}).values(), *schema.get("anyOf", []),
                     *([schema["items"]] if "items" in schema else [])]:
            found |= self._members(part)
        return found

    def name_of(self, member):
        """For people who look at what is missing."""
        for name, schema in self.document["components"]["schemas"].items():
            if member in self._members(schema):
                return f"{name}: {member[1]}"
        return str(member[1])

    # --- schemas ---------------------------------------------------------------------------------

    def check(self, value, schema, where, seen):
        schema = self.resolve(schema)
        assert set(schema) <= KNOWN_WORDS, set(schema) - KNOWN_WORDS
        if "type" in schema:
            kind = TYPES[schema["type"]]
            assert isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), (where, value)
        if "enum" in schema:
            assert value in schema["enum"], (where, value)
        if "const" in schema:
            assert value == schema["const"], (where, value)
        if "oneOf" in schema:
            fitting = [s for s in schema["oneOf"] if set(s["required"]) <= set(value)]
            assert len(fitting) == 1, (where, value)
        if "anyOf" in schema:
            self._check_any(value, schema["anyOf"], where, seen)
        if isinstance(value, dict):
            self._check_object(value, schema, where, seen)
        elif isinstance(value, list):
            assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), (where, value)
            for item in value:
                self.check(item, schema.get("items", {}), f"{where}[]", seen)
        elif isinstance(value, str):
            self._check_text(value, schema, where)
        elif isinstance(value, int):
            assert schema.get("minimum", value) <= value <= schema.get("maximum", value), (where, value)

    def _check_any(self, value, schemas, where, seen):
        failures = []
        for schema in schemas:
            try:
                return self.check(value, schema, where, seen)
            except AssertionError as failure:
                failures.append(failure)
        raise AssertionError(failures)

    def _check_object(self, value, schema, where, seen):
        properties = schema.get("properties", {})
        missing = set(schema.get("required", [])) - set(value)
        assert not missing, (where, missing)
        for name, member in value.items():
            if name in properties:
                seen.add((id(schema), name))
                self.check(member, properties[name], f"{where}.{name}", seen)
            else:
                others = schema.get("additionalProperties", True)
                assert others is not False, f"{where}.{name} is not described"
                if isinstance(others, dict):
                    self.check(member, others, f"{where}.{name}", seen)

    @staticmethod
    def _check_text(value, schema, where):
        if "pattern" in schema:
            assert re.search(schema["pattern"], value), (where, value)
        if schema.get("format") == "date-time":
            assert re.fullmatch(DATE_TIME, value), (where, value)
        assert schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)), (where, value)
