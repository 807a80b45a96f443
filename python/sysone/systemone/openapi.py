"""The OpenAPI document of the service: what ``GET /openapi.json`` returns."""

from importlib.metadata import version
from typing import Any

from sysone.systemone.embed import MAX_INPUTS
from sysone.systemone.questions import MAX_LEVELS, MAX_TEMPERATURE

Schema = dict[str, Any]

# A state, an instruction or a description.
TEXT: Schema = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}]}
NULLABLE_TEXT: Schema = {"anyOf": [*TEXT["anyOf"], {"type": "null"}]}
PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: Schema, required: list[str] | None = None, **more: Any) -> Schema:
    found: Schema = {"type": "object", "properties": properties, **more}
    if required is None:
        required = list(properties)
    if required:
        found["required"] = required
    return found


def _map(values: Schema, **more: Any) -> Schema:
    return {"type": "object", "additionalProperties": values, **more}


def _schemas(max_options: int) -> Schema:
    kind = {name: {"const": name} for name in ("noul", "choice", "score")}
    model = {"type": ["string", "null"], "description": "A listed name; the default if absent."}
    temperature = {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": MAX_TEMPERATURE,
        "default": 1,
        "description": "Divides the logits.",
    }
    return {
        "Text": TEXT,
        "NullableText": NULLABLE_TEXT,
        "Noul": _object(
            {
                "type": kind["noul"],
                "instructions": _ref("NullableText"),
                "criteria": {
                    "anyOf": [
                        {"type": "null"},
                        _object(
                            {"true": _ref("NullableText"), "false": _ref("NullableText")},
                            [],
                            additionalProperties=False,
                        ),
                    ]
                },
            },
            ["type"],
            description="A yes/no question. Needs instructions or a description of one side.",
        ),
        "Choice": _object(
            {
                "type": kind["choice"],
                "instructions": _ref("NullableText"),
                "criteria": _map(_ref("NullableText"), minProperties=1, maxProperties=max_options),
            },
            ["type", "criteria"],
            description="One of several options: name to description, or null to read the name.",
        ),
        "Score": _object(
            {
                "type": kind["score"],
                "instructions": _ref("NullableText"),
                "criteria": {
                    "type": "array",
                    "items": _ref("Text"),
                    "minItems": 1,
                    "maxItems": MAX_LEVELS,
                },
            },
            ["type", "criteria"],
            description="A level of a described scale, lowest first.",
        ),
        "Question": {"oneOf": [_ref("Noul"), _ref("Choice"), _ref("Score")]},
        "DecisionRequest": _object(
            {
                "state": _ref("Text"),
                "questions": _map(_ref("Question"), minProperties=1),
                "model": model,
                "temperature": temperature,
                "assets": {"type": "null", "description": "This server reads text alone."},
            },
            ["state", "questions"],
        ),
        "NoulAnswer": _object({"type": kind["noul"], "noul": PROBABILITY}),
        "ChoiceAnswer": _object(
            {
                "type": kind["choice"],
                "choice": {"type": "string"},
                "confidence": PROBABILITY,
                "probabilities": _map(PROBABILITY),
            }
        ),
        "ScoreAnswer": _object(
            {
                "type": kind["score"],
                "score": {"type": "number", "minimum": 0},
                "confidence": PROBABILITY,
                "probabilities": _map(PROBABILITY),
                "legend": _map(_ref("Text")),
            }
        ),
        "Usage": _object({"input_tokens": COUNT, "output_tokens": COUNT, "billing_units": COUNT}),
        "DecisionReply": _object(
            {
                "model": {"type": "string"},
                "answers": _map(
                    {"oneOf": [_ref("NoulAnswer"), _ref("ChoiceAnswer"), _ref("ScoreAnswer")]}
                ),
                "usage": _ref("Usage"),
            },
            additionalProperties=False,
        ),
        "RankRequest": _object(
            {
                "context": _ref("NullableText"),
                "question": _ref("NullableText"),
                "answers": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1},
                    "minItems": 1,
                    "maxItems": max_options,
                },
                "model": model,
                "temperature": temperature,
            },
            ["answers"],
        ),
        "RankReply": _object(
            {
                "model": {"type": "string"},
                "ranked": {
                    "type": "array",
                    "items": _object(
                        {
                            "rank": {"type": "integer", "minimum": 1},
                            "candidate": {"type": "string"},
                            "prob": PROBABILITY,
                        }
                    ),
                },
            }
        ),
        "EmbeddingRequest": _object(
            {
                "input": {
                    "anyOf": [
                        {"type": "string"},
                        {
                            "type": "array",
                            "items": {"type": "string"},
                            "minItems": 1,
                            "maxItems": MAX_INPUTS,
                        },
                    ]
                },
                "model": model,
                "encoding_format": {"enum": ["float", "base64"], "default": "float"},
                "truncate_prompt_tokens": {"type": ["integer", "null"], "minimum": -1},
                "truncation_side": {"enum": ["left", "right"], "default": "right"},
            },
            ["input"],
        ),
        "EmbeddingReply": _object(
            {
                "object": {"const": "list"},
                "model": {"type": "string"},
                "data": {
                    "type": "array",
                    "items": _object(
                        {
                            "object": {"const": "embedding"},
                            "index": COUNT,
                            "embedding": {
                                "anyOf": [
                                    {"type": "string", "contentEncoding": "base64"},
                                    {"type": "array", "items": {"type": "number"}},
                                ]
                            },
                        }
                    ),
                },
                "usage": _object({"prompt_tokens": COUNT, "total_tokens": COUNT}),
            }
        ),
        "Models": _object(
            {
                "models": {
                    "type": "array",
                    "minItems": 1,
                    "items": _object(
                        {
                            "name": {"type": "string"},
                            "description": {"type": "string"},
                            "release_date": {"type": "string", "format": "date"},
                        }
                    ),
                }
            }
        ),
        "Health": _object(
            {
                "ok": {"type": "boolean"},
                "embedder": {"type": "boolean"},
                "models": {"type": "array", "items": {"type": "string"}},
                "cache": {"type": ["object", "null"]},
                "max_options": COUNT,
            }
        ),
        "Faults": _object(
            {
                "detail": {
                    "type": "array",
                    "minItems": 1,
                    "items": _object(
                        {
                            "loc": {
                                "type": "array",
                                "minItems": 1,
                                "items": {"type": ["string", "integer"]},
                            },
                            "msg": {"type": "string"},
                            "type": {"type": "string"},
                        }
                    ),
                }
            }
        ),
        "Error": _object(
            {"detail": _object({"error_type": {"type": "string"}, "message": {"type": "string"}})}
        ),
    }


def _json(schema: str, description: str) -> Schema:
    return {"description": description, "content": {"application/json": {"schema": _ref(schema)}}}


# What each of the three posts can say besides its answer.
_ERRORS: Schema = {
    "401": _json("Error", "A key is configured, and this is none of them."),
    "404": _json("Error", "Unknown model."),
    "408": _json("Error", "The body did not arrive in time."),
    "413": _json("Error", "Larger than this server reads or answers in time."),
    "415": _json("Error", "Unknown content-encoding."),
    "422": _json("Faults", "The request breaks the contract; every fault with its place."),
    "502": _json("Error", "The encoder or the upstream server cannot be reached."),
    "529": _json("Error", "Overloaded; retry-after says when to come back."),
}


def _post(request: str, reply: str, summary: str) -> Schema:
    return {
        "post": {
            "summary": summary,
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": _ref(request)}},
            },
            "responses": {"200": _json(reply, "The answer."), **_ERRORS},
        }
    }


def _get(reply: str, summary: str) -> Schema:
    return {
        "get": {
            "summary": summary,
            "responses": {"200": _json(reply, summary), "401": _ERRORS["401"]},
        }
    }


def document(max_options: int) -> Schema:
    """The document for a server with that limit."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "System One", "version": version("sysone-core")},
        "paths": {
            "/v1/systemone": _post(
                "DecisionRequest", "DecisionReply", "Answer typed questions about a state."
            ),
            "/v1/rank": _post("RankRequest", "RankReply", "Rank candidates, best first."),
            "/v1/embeddings": _post(
                "EmbeddingRequest", "EmbeddingReply", "Vectors of texts, from the encoder."
            ),
            "/v1/models": _get("Models", "The model list."),
            "/health": _get("Health", "Liveness, limits and cache figures."),
        },
        "components": {
            "schemas": _schemas(max_options),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }
