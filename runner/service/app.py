"""The HTTP routes of the Tinker interface, over the engine."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runner.service.engine import Engine
from runner.service.faults import UserFault
from runner.service.requests import (
    CreateCustomLoss,
    CreateModel,
    CreateSamplingSession,
    LoadWeights,
    ModelRequest,
    OptimStep,
    RetrieveFuture,
    Sample,
    SaveWeights,
    SaveWeightsForSampler,
    SessionRequest,
    WeightsInfo,
    parse,
)
from runner.service.wire import PROTOBUF, decode_forward_backward

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_GRAPH_BYTES = 1024 * 1024
LONG_POLL_SECONDS = 20.0
"""How long a poll for a result waits; the SDK gives up on one after 45 seconds."""

Handler = Callable[[bytes], dict[str, Any]]
Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(engine: Engine) -> Starlette:
    """Return the ASGI application over an engine."""
    posts: dict[str, Handler] = {
        "client/config": lambda _body: {"custom_loss_server_side": True},
        "client/dynamic_config": lambda _body: {},
        "telemetry": lambda _body: {"status": "accepted"},
        "create_session": lambda _body: {"type": "create_session", "session_id": engine.create_session()},
        "session_heartbeat": lambda body: _heartbeat(engine, body),
        "get_info": lambda body: engine.info(parse(ModelRequest, body).model_id),
        "weights_info": lambda body: engine.weights_info(parse(WeightsInfo, body).tinker_path),
        "create_sampling_session": lambda body: _sampling_session(engine, body),
        "create_custom_loss": lambda body: engine.create_custom_loss(_custom_loss(body), _fingerprint(body)),
        "create_model": lambda body: engine.create_model(parse(CreateModel, body), _fingerprint(body)),
        "forward_backward": lambda body: engine.forward_backward(decode_forward_backward(body)),
        "optim_step": lambda body: engine.optim_step(parse(OptimStep, body), _fingerprint(body)),
        "save_weights": lambda body: engine.save_weights(parse(SaveWeights, body), _fingerprint(body)),
        "save_weights_for_sampler": lambda body: engine.save_weights_for_sampler(
            parse(SaveWeightsForSampler, body), _fingerprint(body)
        ),
        "load_weights": lambda body: engine.load_weights(parse(LoadWeights, body), _fingerprint(body)),
        "asample": lambda body: engine.sample(parse(Sample, body), _fingerprint(body)),
    }
    routes = [Route(f"/api/v1/{path}", _post(path, handler), methods=["POST"]) for path, handler in posts.items()]
    routes += [
        Route("/api/v1/retrieve_future", _retrieve(engine), methods=["POST"]),
        Route("/api/v1/sessions/{session_id}/finish", _finish(engine), methods=["POST"]),
        Route("/api/v1/samplers/{sampler_id}", _sampler(engine)),
        Route("/api/v1/get_server_capabilities", _get(engine.capabilities)),
        Route("/api/v1/healthz", _get(lambda: {"status": "ok"})),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={UserFault: _fault, HTTPException: _http_fault},
        # A page in a browser must not reach the service under a name of its own that points to this machine.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
    )


def _post(path: str, handler: Handler) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        body = await _body(request)
        if path == "forward_backward" and PROTOBUF not in request.headers.get("content-type", ""):
            raise UserFault(f"forward_backward is sent as {PROTOBUF}; use tinker SDK 0.38", status=415)
        return JSONResponse(handler(body))

    return endpoint


def _get(answer: Callable[[], dict[str, Any]]) -> Endpoint:
    async def endpoint(_request: Request) -> Response:
        return JSONResponse(answer())

    return endpoint


def _retrieve(engine: Engine) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        request_id = parse(RetrieveFuture, await _body(request)).request_id
        payload = await engine.futures.fetch(request_id, LONG_POLL_SECONDS)
        if payload is None:
            pending = {"type": "try_again", "request_id": request_id, "queue_state": "active"}
            return JSONResponse(pending, status_code=408)  # the one status that the SDK takes for "not yet"
        return Response(payload.body, media_type=payload.media_type)

    return endpoint


def _finish(engine: Engine) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        engine.finish_session(request.path_params["session_id"])
        return JSONResponse({})

    return endpoint


def _sampler(engine: Engine) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return JSONResponse(engine.sampler_info(request.path_params["sampler_id"]))

    return endpoint


def _heartbeat(engine: Engine, body: bytes) -> dict[str, Any]:
    engine.require_session(parse(SessionRequest, body).session_id)
    return {"type": "session_heartbeat"}


def _sampling_session(engine: Engine, body: bytes) -> dict[str, Any]:
    sampler_id = engine.create_sampling_session(parse(CreateSamplingSession, body))
    return {"type": "create_sampling_session", "sampling_session_id": sampler_id}


def _custom_loss(body: bytes) -> CreateCustomLoss:
    if len(body) > MAX_GRAPH_BYTES:
        raise UserFault(f"create_custom_loss: the graph is larger than {MAX_GRAPH_BYTES} bytes", status=413)
    return parse(CreateCustomLoss, body)


async def _body(request: Request) -> bytes:
    """Read the body, but no more than is allowed, whatever length its header claims."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise UserFault("compressed bodies are not served", status=415)
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > MAX_BODY_BYTES:
            raise UserFault(f"the body is larger than {MAX_BODY_BYTES} bytes", status=413)
        pieces.append(piece)
    return b"".join(pieces)


def _fingerprint(body: bytes) -> bytes:
    return sha256(body).digest()


async def _fault(_request: Request, error: Exception) -> Response:
    if not isinstance(error, UserFault):
        raise error
    return JSONResponse({"detail": error.message}, status_code=error.status)


async def _http_fault(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    detail = f"{request.method} {request.url.path}: {error.detail}; this service does not have it"
    return JSONResponse({"detail": detail}, status_code=error.status_code)
