import { OPERATIONS, type OperationName, type ProtocolVersion } from "@convoke/protocol";
import { type JsonSchema, operationMessages } from "@convoke/protocol/grpc";
import { ROUTES, type Route } from "../bindings/rest/routes.ts";
import { type RouteFacts, anyObject, eventStream, json, object } from "./operation.ts";

/** What comes before the names of the messages of a version in the document. */
export const SCHEMA_PREFIXES: Readonly<Record<ProtocolVersion, string>> = {
  "0.3": "v0_3.",
  "1.0": "v1.",
};

const SUMMARIES: Readonly<Record<OperationName, string>> = {
  sendMessage: "Sends a message, and waits for the answer unless the configuration says otherwise.",
  sendStreamingMessage: "Sends a message and streams what the agent does.",
  getTask: "Returns a task.",
  listTasks: "Lists the tasks of the caller, newest first.",
  cancelTask: "Cancels a task.",
  subscribeToTask: "Streams the events of a task. `Last-Event-ID` resumes after that event.",
  createPushConfig: "Registers a webhook for the events of a task.",
  getPushConfig: "Returns a push notification config.",
  listPushConfigs: "Lists the push notification configs of a task.",
  deletePushConfig: "Deletes a push notification config.",
  getExtendedCard: "Returns the card for callers that authenticate.",
};

/** A request of the document: its path, its method in lower case, and what it says. */
export type DocumentedRoute = readonly [path: string, method: string, facts: RouteFacts];

/** The REST binding in both versions, from its route table and the messages of the proto files. */
export function restRoutes(): readonly DocumentedRoute[] {
  return (["1.0", "0.3"] as const).flatMap((version) =>
    ROUTES.flatMap((route) =>
      route.methods.map(
        (method) => [route.paths[version], method, restFacts(version, route, method)] as const,
      ),
    ),
  );
}

function restFacts(version: ProtocolVersion, route: Route, method: string): RouteFacts {
  const { operation, query, methods, empty } = route;
  const named = {
    id: `${operation}${method === methods[0] ? "" : `By${method}`}.${version}`,
    tag: `REST ${version}`,
  };
  const response = responseSchema(version, operation);
  if (response === undefined) {
    return { ...named, summary: `Is rejected: A2A ${version} does not have it.`, isRejected: true };
  }
  const answer = OPERATIONS[operation].streaming
    ? eventStream(response)
    : answerIn(version, response);
  return {
    ...named,
    summary: SUMMARIES[operation],
    ...(query !== undefined && { query }),
    ...(method === "POST" && bodyFor(version, operation)),
    ...(empty === undefined ? { answer } : { status: empty }),
  };
}

/** 1.0 has a media type of its own, unless the client accepts only plain JSON. */
function answerIn(version: ProtocolVersion, schema: JsonSchema): NonNullable<RouteFacts["answer"]> {
  return version === "0.3" ? json(schema) : { "application/a2a+json": schema, ...json(schema) };
}

function bodyFor(
  version: ProtocolVersion,
  operation: OperationName,
): Pick<RouteFacts, "body" | "isBodyOptional"> {
  switch (operation) {
    case "sendMessage":
    case "sendStreamingMessage":
      return { body: messageRef(version, "SendMessageRequest") };
    case "createPushConfig":
      return { body: messageRef(version, "TaskPushNotificationConfig") };
    case "cancelTask":
      return { body: object({ metadata: anyObject }), isBodyOptional: true };
    default:
      return {};
  }
}

function responseSchema(
  version: ProtocolVersion,
  operation: OperationName,
): JsonSchema | undefined {
  // The card of 0.3 has the JSON of its own also over REST.
  if (version === "0.3" && operation === "getExtendedCard") return anyObject;
  const messages = operationMessages(version, operation);
  return messages && messageRef(version, messages.response);
}

function messageRef(version: ProtocolVersion, name: string): JsonSchema {
  return { $ref: `#/components/schemas/${SCHEMA_PREFIXES[version]}${name}` };
}

/** The one request of JSON-RPC, at both of its paths. */
export function jsonRpcRoutes(): readonly DocumentedRoute[] {
  const methods = Object.values(OPERATIONS).flatMap(({ method, methods03 }) => [
    method,
    ...methods03,
  ]);
  const response = object({ jsonrpc: { const: "2.0" }, result: {}, error: anyObject });
  return ["/", "/api/a2a"].map((path, place) => [
    path,
    "POST",
    {
      id: place === 0 ? "jsonRpc" : "jsonRpcAlias",
      tag: "JSON-RPC",
      summary: "Calls a method of A2A 1.0 (PascalCase) or 0.3 (with a slash).",
      body: object(
        {
          jsonrpc: { const: "2.0" },
          id: { type: ["string", "integer"] },
          method: { enum: methods },
          params: anyObject,
        },
        ["jsonrpc", "id", "method"],
      ),
      answer: { ...json(response), ...eventStream(response) },
    },
  ]);
}
