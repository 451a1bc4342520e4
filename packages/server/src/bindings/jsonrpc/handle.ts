import {
  A2AError,
  CODECS,
  type Caller,
  type Codec,
  type JsonRpcId,
  type JsonRpcRequest,
  LEGACY_CODECS,
  type OperationName,
  type ProtocolVersion,
  answeredTaskId,
  checkId,
  errorText,
  findMethod,
  fromLegacyRequest,
  idOf,
  isInterrupted,
  parseRequest,
  resultPrefix,
  resultText,
  sseDataFrame,
} from "@convoke/protocol";
import { type Activation, NOTHING_ACTIVE, activate, withHeaders } from "../extensions.ts";
import type { Admission } from "../../guard/admission.ts";
import { parseTenant, scopedCaller } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  checkNumbers,
  header,
  jsonResponse,
  parseJson,
  requestedVersion,
  retryHeaders,
} from "../../http/exchange.ts";
import { type Call, type EventStreamSource, LogReader } from "@convoke/engine";
import { checkOperation, performOperation } from "../operations.ts";
import { type App, addressAgent } from "../app.ts";
import { handleCommandMethod, isCommandMethod } from "./commands.ts";
import { EventStream } from "../event-stream.ts";
import { SSE_HEADERS, SseFraming } from "../sse.ts";

/** What is known about a request so far, which determines the format of an error. */
interface Known {
  id: JsonRpcId;
  codec: Codec;
  activation: Activation;
  /** Whether the client expects an event stream, and therefore reads nothing else (A2A 0.3). */
  isStream: boolean;
}

/** A caller that the guard has admitted. */
interface Admitted {
  readonly caller: Caller;
  readonly admission: Admission;
}

/** JSON-RPC 2.0 over HTTP, for both versions (0.3 §3.2.1, 1.0 §9). */
export async function handleJsonRpc(
  app: App,
  request: HttpRequest,
  { caller, admission }: Admitted,
): Promise<HttpResponse> {
  const known: Known = {
    id: null,
    codec: codecFor(request),
    activation: NOTHING_ACTIVE,
    isStream: false,
  };
  const response = await respond(app, request, { caller, admission, known });
  return withHeaders(response, known.activation);
}

async function respond(
  root: App,
  received: HttpRequest,
  { caller, admission, known }: Admitted & { readonly known: Known },
): Promise<HttpResponse> {
  admission.name("jsonrpc", "other");
  try {
    checkContentType(header(received, "content-type"));
    const body = parseJson(await received.body());
    known.id = idOf(body);
    const envelope = parseRequest(body);
    known.isStream = isStream03(envelope.method);
    checkNumbers(envelope.params, "params");
    const named = { app: root, request: received, tenant: parseTenant(envelope.params) };
    const { app, request, tenant } = addressAgent(named);
    const scoped = scopedCaller(caller, tenant, app.tenants);
    const official = app.isStrict
      ? envelope
      : fromLegacyRequest(envelope, header(request, "accept"));
    const taskId = app.isStrict ? undefined : answeredTaskId(official);
    const opened =
      taskId === undefined
        ? official
        : await answerTask(official, taskId, {
            engine: app.engine,
            agent: app.agent,
            caller: scoped,
          });
    known.isStream = isStream03(opened.method);
    if (app.agent.definition.commands !== undefined && isCommandMethod(opened.method)) {
      return await handleCommandMethod(app, opened, { request, caller: scoped, admission });
    }
    const { operation, codec } = openMethod(opened, requestedVersion(request), app.isStrict);
    known.codec = codec;
    await admission.start("jsonrpc", operation);
    if (opened.id === undefined) checkOperation(app, operation, { params: opened.params, codec });
    checkId(opened);
    const { version } = codec;
    known.activation = await activate(app, { request, caller: scoped, version });
    const outcome = await performOperation(app, {
      operation,
      params: opened.params,
      codec,
      caller: scoped,
      activation: known.activation,
      request,
      lastEventId: header(request, "last-event-id"),
    });
    if (outcome.kind === "events") return rpcStream(app, outcome.source, known);
    const confirms = operation === "createPushConfig" && version === "0.3" && app.confirmsPush;
    const value = confirms ? { ...(outcome.value as object), success: true } : outcome.value;
    return jsonResponse(200, resultText(known.id, value));
  } catch (thrown) {
    const error = await admission.count("read").then(
      () => thrown,
      (limit: unknown) => limit,
    );
    return rpcError(admission.toError(error), known);
  }
}

/** Whether a method of A2A 0.3 responds with an event stream. */
function isStream03(method: string): boolean {
  const found = findMethod(method);
  if (found?.version !== "0.3") return false;
  return found.operation === "sendStreamingMessage" || found.operation === "subscribeToTask";
}

/** The response to a request whose result is a stream: each event is a response of its own. */
export function rpcStream(
  app: App,
  source: EventStreamSource,
  { id, codec }: Pick<Known, "id" | "codec">,
): HttpResponse {
  const framing = new SseFraming({
    codec,
    prefix: resultPrefix(id),
    suffix: "}",
    errorText: (thrown) => errorText(id, codec.encodeError(app.toA2AError(thrown))),
  });
  const body = new EventStream({
    source,
    reader: new LogReader(source),
    framing,
    keepAlive: app.keepAlive,
  });
  return { status: 200, headers: SSE_HEADERS, body };
}

/** Rejects a body that is not declared as JSON. */
export function checkContentType(contentType: string | undefined): void {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "application/json") return;
  const given = type === undefined ? "the request has no Content-Type" : `Content-Type is ${type}`;
  throw new A2AError("UnsupportedMediaType", `${given}; it must be application/json`, {
    field: "Content-Type",
  });
}

/** A request whose operation and version are known. */
interface Opened {
  readonly operation: OperationName;
  readonly codec: Codec;
}

/**
 * Finds the operation and the version of a method. Method names differ between the
 * versions, so the method determines the version. Outside strict mode a header
 * with another version is ignored, because older 1.0 clients do not send it
 * correctly (1.0 §3.6.2), and forms of early 0.3 documents are accepted.
 */
export function openMethod(
  { method }: JsonRpcRequest,
  asked: ProtocolVersion | undefined,
  isStrict = false,
): Opened {
  const found = findMethod(method);
  const fits = !isStrict || asked === undefined || asked === found?.version;
  if (found !== undefined && fits) {
    const codecs = isStrict ? CODECS : LEGACY_CODECS;
    return { operation: found.operation, codec: codecs[found.version] };
  }
  const known = asked === "1.0" ? "1.0" : "0.3";
  throw new A2AError("MethodNotFound", `A2A ${known} has no method ${JSON.stringify(method)}`, {
    details: { method },
  });
}

/**
 * The codec for errors before the method is known. For an unsupported version it
 * is the one of 1.0.
 */
export function codecFor(request: HttpRequest): Codec {
  try {
    return CODECS[requestedVersion(request) ?? "0.3"];
  } catch {
    return CODECS["1.0"];
  }
}

/**
 * JSON-RPC errors have status 200; errors of the transport keep their own. Clients of 0.3 that
 * asked for a stream discard a successful response of another type and lose its error, so they get
 * the error as the only event of a stream.
 */
export function rpcError(
  error: A2AError,
  { id, codec, isStream }: Pick<Known, "id" | "codec" | "isStream">,
): HttpResponse {
  const { transport, http } = error.row;
  const text = errorText(id, codec.encodeError(error));
  if (transport === true) return jsonResponse(http, text, retryHeaders(error));
  return isStream
    ? { status: 200, headers: SSE_HEADERS, body: sseDataFrame(text) }
    : jsonResponse(200, text);
}

/**
 * In legacy requests of A2A 0.3, a tool result without a `taskId` answers the task that it
 * references if that task waits for the caller.
 */
async function answerTask(
  official: JsonRpcRequest,
  taskId: string,
  { engine, agent, caller }: Pick<Call, "engine" | "agent" | "caller">,
): Promise<JsonRpcRequest> {
  const params = official.params as { readonly message: { readonly contextId?: unknown } };
  const { message } = params;
  const scope = engine.scope(caller, agent);
  const record = await engine.backend.tasks.get(taskId);
  const isWaiting =
    record?.owner === scope.owner &&
    scope.agent?.owns(record) !== false &&
    isInterrupted(record.state) &&
    (message.contextId === undefined || message.contextId === record.contextId);
  return isWaiting
    ? { ...official, params: { ...params, message: { ...message, taskId } } }
    : official;
}
