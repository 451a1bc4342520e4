import type { ServerResponse } from "node:http";
import { gateOpened } from "./control.ts";
import { SSE_HEADERS, listen, readJson } from "./listen.ts";
import { type Order, chunkText, parseOrder, pauseAfterChunk } from "./order.ts";

/**
 * The cost of Node itself: parse the request, stringify every event of the same stream, one `write`
 * each. No validation, no log, no disk, and a single task.
 */
const taskId = "01a1dd92-3a70-707f-8878-6323c3be3541";
const contextId = "01a1dd92-3a70-773d-b691-800de7410cc6";

interface Message {
  readonly parts: readonly { readonly text: string }[];
}

interface Request {
  readonly method: string;
  readonly id: number;
  readonly params: { readonly message: Message };
}

/** The same events in the format of each wire version. */
interface Wire {
  task(state: string, message: Message, text?: string): object;
  status(state: string, final: boolean): object;
  chunk(text: string, append: boolean): object;
  end(): object;
}

const WIRE_03: Wire = {
  task: (state, message, text) => ({
    kind: "task",
    id: taskId,
    contextId,
    status: { state, timestamp: new Date().toISOString() },
    history: [{ ...message, taskId, contextId }],
    ...(text !== undefined && {
      artifacts: [{ artifactId: "answer-1", parts: [{ kind: "text", text }] }],
    }),
  }),
  status: (state, final) => ({
    kind: "status-update",
    taskId,
    contextId,
    status: { state, timestamp: new Date().toISOString() },
    final,
  }),
  chunk: (text, append) => ({
    kind: "artifact-update",
    taskId,
    contextId,
    artifact: { artifactId: "answer-1", parts: [{ kind: "text", text }] },
    append,
  }),
  end: () => ({ ...WIRE_03.chunk("", true), lastChunk: true }),
};

const WIRE_10: Wire = {
  task: (state, message, text) => ({
    task: {
      id: taskId,
      contextId,
      status: { state: stateName(state), timestamp: new Date().toISOString() },
      history: [{ ...message, taskId, contextId }],
      ...(text !== undefined && { artifacts: [{ artifactId: "answer-1", parts: [{ text }] }] }),
    },
  }),
  status: (state) => ({
    statusUpdate: {
      taskId,
      contextId,
      status: { state: stateName(state), timestamp: new Date().toISOString() },
    },
  }),
  chunk: (text, append) => ({
    artifactUpdate: {
      taskId,
      contextId,
      artifact: { artifactId: "answer-1", parts: [{ text }] },
      append,
    },
  }),
  end: () => ({
    artifactUpdate: {
      taskId,
      contextId,
      artifact: { artifactId: "answer-1", parts: [{ text: "" }] },
      append: true,
      lastChunk: true,
    },
  }),
};

function stateName(state: string): string {
  return `TASK_STATE_${state.toUpperCase()}`;
}

/** The streams that watch the task in addition to its own. */
const subscribers = new Set<ServerResponse>();

listen((request, response) => {
  readJson(request, (body) => void answer(body as Request, response));
});

function answer(request: Request, response: ServerResponse): void | Promise<void> {
  switch (request.method) {
    case "message/send":
      return send(WIRE_03, request, response);
    case "SendMessage":
      return send(WIRE_10, request, response);
    case "message/stream":
      return stream(WIRE_03, request, response);
    case "SendStreamingMessage":
      return stream(WIRE_10, request, response);
    default:
      response.writeHead(200, SSE_HEADERS);
      response.write(": subscribed\n\n");
      subscribers.add(response);
      return undefined;
  }
}

function send(wire: Wire, { id, params }: Request, response: ServerResponse): void {
  const { message } = params;
  const { count } = orderOf(message);
  const text = Array.from({ length: count }, (_, place) => chunkText(place)).join("");
  const result = wire.task("completed", message, text);
  const body = JSON.stringify({ jsonrpc: "2.0", id, result });
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

async function stream(
  wire: Wire,
  { id, params }: Request,
  response: ServerResponse,
): Promise<void> {
  const { message } = params;
  const order = orderOf(message);
  let sequence = 0;
  response.writeHead(200, SSE_HEADERS);
  const write = (result: object): void => {
    const frame = `id: ${++sequence}\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;
    response.write(frame);
    if (order.gated === true) for (const each of subscribers) each.write(frame);
  };
  write(wire.task("submitted", message));
  write(wire.status("working", false));
  if (order.gated === true) await gateOpened();
  for (let place = 0; place < order.count; place++) {
    write(wire.chunk(chunkText(place), place > 0));
    const pause = pauseAfterChunk(order);
    if (pause !== undefined) await pause;
  }
  write(wire.end());
  write(wire.status("completed", true));
  response.end();
  if (order.gated !== true) return;
  for (const each of subscribers) each.end();
  subscribers.clear();
}

function orderOf({ parts }: Message): Order {
  return parseOrder(parts[0]?.text ?? "");
}
