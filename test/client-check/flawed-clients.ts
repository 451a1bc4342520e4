import type { ClientAction, DriveClient } from "@convoke/check";
import { ourClient } from "./our-client.ts";

/** A request of our client on its way out. */
interface Outgoing {
  url: string;
  readonly headers: Record<string, string>;
  /** The JSON of the body, if it has one. */
  readonly json: Json | undefined;
}

type Json = Record<string, unknown>;

/** What a wrong client does; everything else it does as ours does. */
interface Flaw {
  /** Changes a request to the agent. */
  readonly spoil?: (request: Outgoing) => void;
  /** Performs another action than it was told to. */
  readonly acts?: ClientAction;
  /** Repeats a request at once if the response has this status. */
  readonly repeatsAt?: number;
  /** A client of its own. */
  readonly drive?: DriveClient;
}

/**
 * A client that is wrong in one way at each probe. Without a flaw of its own it ignores errors, and
 * reports a text that the agent never sent.
 */
export const flawedClient: DriveClient = async (probe, signal) => {
  const flaw = FLAWS[probe.probe.replace(/^[a-z]+-[\d.]+-/, "")] ?? {};
  const drive = flaw.drive ?? ourClient({ fetch: fetchWith(flaw), retry: { attempts: 2 } });
  try {
    await drive({ ...probe, action: flaw.acts ?? probe.action }, signal);
  } catch {
    // Ignored, as a wrong client does.
  }
  return { kind: "text", text: "something else" };
};

/** `fetch` with the flaw in each request. */
function fetchWith({ spoil, repeatsAt }: Flaw): typeof fetch {
  return async (input, init = {}) => {
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as Json) : undefined;
    const headers = Object.fromEntries(new Headers(init.headers));
    const request: Outgoing = { url: new Request(input).url, headers, json: body };
    if (!request.url.endsWith("agent-card.json")) spoil?.(request);
    const send = () =>
      fetch(request.url, {
        ...init,
        headers: request.headers,
        ...(request.json !== undefined && { body: JSON.stringify(request.json) }),
      });
    const response = await send();
    return response.status === repeatsAt ? send() : response;
  };
}

const FLAWS: Readonly<Record<string, Flaw>> = {
  preference: {
    spoil: (request) => (request.url = request.url.replace(/\/rpc|(?=\/message)/, "/second$&")),
  },
  "foreign-interface": { drive: trustingClient },
  "foreign-redirect": { drive: trustingClient },
  "foreign-card": { drive: trustingClient },
  method: {
    spoil: (request) => {
      if (request.json?.["method"] !== undefined) request.json["method"] = "message/send";
      request.url = request.url.replace("/message:", "/v1/message:");
    },
  },
  "stream-method": { acts: "send" },
  "version-header": { spoil: ({ headers }) => delete headers["a2a-version"] },
  envelope: { spoil: ({ json }) => delete json?.["id"] },
  "ids-differ": { spoil: ({ json }) => set(json, "id", 1) },
  "content-type": { spoil: ({ headers }) => (headers["content-type"] = "text/plain") },
  "accepts-events": { spoil: ({ headers }) => (headers["accept"] = "application/json") },
  parts: { spoil: ({ json }) => set(messageIn(json), "parts", [{ kind: "text", text: "hello" }]) },
  "rest-body": { spoil: ({ json }) => set(messageIn(json), "role", "user") },
  tenant: {
    spoil: (request) => {
      delete (request.json?.["params"] as Json | undefined)?.["tenant"];
      request.url = request.url.replace("/acme/", "/");
    },
  },
  "message-id": { spoil: ({ json }) => delete messageIn(json)?.["messageId"] },
  "message-ids-differ": { spoil: ({ json }) => set(messageIn(json), "messageId", "the only one") },
  "no-invented-task": { spoil: ({ json }) => set(messageIn(json), "taskId", "my-task") },
  "no-invented-context": { spoil: ({ json }) => set(messageIn(json), "contextId", "my-context") },
  context: { spoil: ({ json }) => delete messageIn(json)?.["contextId"] },
  "finished-task": { spoil: ({ json }) => set(messageIn(json), "taskId", "task-1") },
  "answers-question": { spoil: ({ json }) => delete messageIn(json)?.["taskId"] },
  token: { spoil: ({ headers }) => delete headers["authorization"] },
  "too-many-requests": { repeatsAt: 429 },
  unavailable: { repeatsAt: 503 },
  "no-second-message": { acts: "converse" },
  "no-streaming": {
    spoil: (request) => {
      if (request.json?.["method"] !== undefined) request.json["method"] = "SendStreamingMessage";
      request.url = request.url.replace("/message:send", "/message:stream");
    },
  },
  "id-in-path": { spoil: (request) => (request.url = decodeURIComponent(request.url)) },
  cancel: {
    spoil: (request) => {
      set(request.json?.["params"] as Json | undefined, "id", "task-2");
      request.url = request.url.replace("task-1", "task-2");
    },
  },
  pages: {
    spoil: (request) => {
      delete (request.json?.["params"] as Json | undefined)?.["pageToken"];
      request.url = request.url.replace(/pageToken=[^&]*/, "");
    },
  },
  "push-configs": {
    spoil: (request) => {
      set(request.json?.["params"] as Json | undefined, "token", "another-token");
      if (request.url.endsWith("/pushNotificationConfigs")) set(request.json, "token", "another");
    },
  },
};

function messageIn(json: Json | undefined): Json | undefined {
  const params = (json?.["params"] as Json | undefined) ?? json;
  return params?.["message"] as Json | undefined;
}

function set(json: Json | undefined, name: string, value: unknown): void {
  if (json !== undefined) json[name] = value;
}

/** Follows every card and redirect, and sends its token everywhere. */
async function trustingClient({
  cardUrl,
  token,
}: Parameters<DriveClient>[0]): ReturnType<DriveClient> {
  const headers = { authorization: `Bearer ${token}` };
  const visit = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    const location = response.headers.get("location");
    return location === null ? response : visit(location, init);
  };
  const card = (await (await visit(cardUrl, {})).json()) as {
    readonly supportedInterfaces: readonly { readonly url: string }[];
  };
  const url = card.supportedInterfaces[0]?.url ?? "";
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "hello" }] };
  const isRpc = url.endsWith("/rpc");
  const request = isRpc
    ? { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }
    : { message };
  await visit(isRpc ? url : `${url}/message:send`, {
    method: "POST",
    body: JSON.stringify(request),
  });
  return { kind: "text", text: "" };
}

/** Reads a stream as if each piece of it were a whole number of events, in their usual form. */
export const naiveReader: DriveClient = async ({ cardUrl }) => {
  const url = cardUrl.replace("/.well-known/agent-card.json", "/rpc");
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "hello" }] };
  const response = await fetch(url, {
    method: "POST",
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendStreamingMessage",
      params: { message },
    }),
  });
  let text = "";
  for await (const piece of response.body ?? []) {
    for (const frame of new TextDecoder("utf-8", { ignoreBOM: true }).decode(piece).split("\n\n")) {
      if (frame === "") continue;
      text += textIn(JSON.parse(frame.replace("data: ", "")) as StreamedArtifact);
    }
  }
  return { kind: "text", text };
};

interface StreamedArtifact {
  readonly result: {
    readonly artifactUpdate?: {
      readonly artifact: { readonly parts: readonly { readonly text: string }[] };
    };
  };
}

/** The text of an artifact update in a JSON-RPC response. */
function textIn({ result }: StreamedArtifact): string {
  return result.artifactUpdate?.artifact.parts.map(({ text }) => text).join("") ?? "";
}
