import { GRPC_STATUS, type OperationName } from "@convoke/protocol";
import { type Claim, type Probe, must, should } from "./probe.ts";
import { isObject } from "@convoke/protocol/internal";
import { at, listAt, textAt, valuesNamed, withValueAt } from "../wire/json.ts";
import { UNKNOWN_TASK, finishedTask, ordinaryResult } from "../scene/fixtures.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import { type Binding, type ErrorResponse, JSON_BINDINGS } from "../wire/client.ts";
import { type WireError, describeReason, errorInfoIn, hasReason } from "../wire/errors.ts";
import type { Scene } from "../scene/scene.ts";

/** The format of errors. Every server has one for an unknown task. */
export const ERROR_FORMS: readonly Probe[] = [
  {
    name: "message",
    says: "An error has a message.",
    claims: [must("v1-S49", "§3.3.2"), must("v03-S11", "§6.12")],
    async run(scene) {
      const { error, exchange } = await unknownTaskError(scene);
      if (error.message === "") throw new Failed("an error with a message", exchange);
    },
  },
  {
    name: "typed-details",
    says: "The details of an error are objects with an @type.",
    claims: [must("v1-S49", "§9.5, §11.6")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const { body, error, exchange } = await unknownTaskError(scene);
      const data = at(body, "error", "data");
      if (data !== undefined && !Array.isArray(data)) {
        throw new Failed("error.data that is a list", exchange);
      }
      if (error.details.every((detail) => textAt(detail, "@type") !== "")) return;
      throw new Failed("details that each have an @type", exchange);
    },
  },
  {
    name: "error-info",
    says: "An error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [should("v1-S49", "§9.5")],
    bindings: ["jsonrpc"],
    run: expectErrorInfo,
  },
  {
    name: "error-info",
    says: "An error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [must("v1-S51", "§11.6")],
    bindings: ["rest"],
    run: expectErrorInfo,
  },
  {
    name: "error-info",
    says: "The status of an error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [must("v1-S53", "§10.6")],
    bindings: ["grpc"],
    run: expectErrorInfo,
  },
  {
    name: "error-status",
    says: "The HTTP status of an error is the one that belongs to its reason.",
    claims: [must("v1-S51", "§5.4, §11.6")],
    bindings: ["rest"],
    run: expectErrorStatuses,
  },
  {
    name: "error-status",
    says: "The gRPC status of an error is the one that belongs to its reason.",
    claims: [must("v1-S53", "§5.4, §10.6")],
    bindings: ["grpc"],
    run: expectErrorStatuses,
  },
  {
    name: "error-body",
    says: "The body of an error is a google.rpc.Status.",
    claims: [must("v1-S51", "§11.6")],
    bindings: ["rest"],
    async run(scene) {
      const { body, error, exchange } = await unknownTaskError(scene);
      const status = at(body, "error");
      const isStatus = isObject(status) && textAt(status, "status") !== "";
      if (isStatus && status["code"] === error.http && textAt(status, "message") !== "") return;
      throw new Failed("{error: {code, status, message, details}} with the HTTP status", exchange);
    },
  },
  {
    name: "error-body",
    says: "An error is JSON with a status from 400 to 499.",
    claims: [must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const { body, error, exchange } = await unknownTaskError(scene);
      const isFitting = error.http !== undefined && error.http >= 400 && error.http < 500;
      if (isObject(body) && isFitting) return;
      throw new Failed("JSON, and a status from 400 to 499", exchange);
    },
  },
];

interface InvalidMessage {
  readonly name: string;
  readonly says: string;
  readonly claims: readonly Claim[];
  /** The field to change; `parts` stands for the name in the dialect. */
  readonly path: readonly string[];
  /** The invalid value; `undefined` removes the field. */
  readonly value: unknown;
  readonly bindings?: readonly Binding[];
}

/** Above small body limits, but harmless. */
const LARGE = 256 * 1024;

const INVALID: readonly InvalidMessage[] = [
  {
    name: "no-message",
    says: "A send without a message is rejected.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message"],
    value: undefined,
  },
  {
    name: "empty-parts",
    says: "A message without parts is rejected.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§10.2")],
    path: ["message", "parts"],
    value: [],
  },
  {
    name: "no-role",
    says: "A message without a role is rejected.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§10.2")],
    path: ["message", "role"],
    value: undefined,
  },
  {
    name: "no-message-id",
    says: "A message without a messageId is rejected.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§10.2")],
    path: ["message", "messageId"],
    value: undefined,
  },
  {
    name: "empty-part",
    says: "An empty part is rejected.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§6.5, §10.2")],
    path: ["message", "parts"],
    value: [{}],
  },
  {
    name: "context-of-wrong-type",
    says: "A contextId that is not a string is rejected, not replaced.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message", "contextId"],
    value: 7,
    bindings: JSON_BINDINGS,
  },
  {
    name: "parts-of-wrong-type",
    says: "Parts that are not a list are rejected.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message", "parts"],
    value: "zzz",
    bindings: JSON_BINDINGS,
  },
  {
    name: "unknown-role",
    says: "An unknown role is rejected.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message", "role"],
    value: "convoke-check",
    bindings: JSON_BINDINGS,
  },
];

/** Invalid requests. */
export const VALIDATION: readonly Probe[] = [
  ...INVALID.map(({ path, value, ...facts }) => toProbe(path, value, facts)),
  {
    name: "large-message",
    says: "A large message is accepted, or rejected with an error in the format of the binding.",
    claims: [should("v1-S64", "§13.4"), should("v03-S14", "§10.2")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const text = scene.settings.message.padEnd(LARGE, " ");
      const response = await scene.call("sendMessage", scene.requests.send(text));
      if (response.kind === "result" || isObject(response.body)) return;
      throw new Failed("a response, or an error in JSON", response.exchange);
    },
  },
  {
    name: "empty-second-part",
    says: "Each part is validated, not only the first.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§6.5, §10.2")],
    async run(scene) {
      const { requests, settings } = scene;
      const params = requests.send(settings.message);
      const path = ["message", requests.partsName];
      const parts = [...listAt(params, ...path), {}];
      await expectRejected(scene, "sendMessage", withValueAt(params, path, parts));
    },
  },
  {
    name: "not-base64",
    says: "The bytes of a file are rejected if they are not base64.",
    claims: [should("v1-S48", "§3.3.2"), should("v03-S14", "§6.6.1, §10.2")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const file = { name: "check", mimeType: "text/plain", bytes: "***" };
      const params = scene.requests.send("", { parts: [{ kind: "file", file }] });
      await expectRejected(scene, "sendMessage", params);
    },
  },
  {
    name: "no-task-id",
    says: "A request about a task is rejected if it does not name one.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    // In REST the path names the task, so the id cannot be missing.
    bindings: ["jsonrpc", "grpc"],
    async run(scene) {
      await expectRejected(scene, "getTask", {});
      await expectRejected(scene, "cancelTask", {});
    },
  },
  {
    name: "negative-history",
    says: "A negative historyLength is rejected.",
    claims: [should("v1-S48", "§3.3.2"), should("v03-S14", "§10.2")],
    async run(scene) {
      const { requests, settings } = scene;
      const { taskId } = (await finishedTask(scene)).value;
      await expectRejected(scene, "getTask", requests.get(taskId, -1));
      const send = requests.send(settings.message, {}, { historyLength: -1 });
      await expectRejected(scene, "sendMessage", send);
    },
  },
  {
    name: "names-the-field",
    says: "A validation error names the invalid field.",
    claims: [should("v1-S48", "§3.3.2")],
    async run(scene) {
      const { requests, settings } = scene;
      for (const path of [["message"], ["message", "messageId"], ["message", "parts"]]) {
        const field = path.at(-1) ?? "";
        const params = withValueAt(requests.send(settings.message), path, undefined);
        const response = await scene.call("sendMessage", params);
        // Other probes report what is accepted although it is invalid.
        if (response.kind === "result") continue;
        const { message, details } = response.error;
        if (`${message} ${JSON.stringify(details)}`.toLowerCase().includes(field.toLowerCase()))
          continue;
        throw new Failed(`an error that names the field "${field}"`, response.exchange);
      }
    },
  },
  {
    name: "unknown-fields-dropped",
    says: "Unknown fields are not stored and returned.",
    claims: [should("v1-S47", "§5.7")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const plain = scene.requests.send(scene.settings.message);
      const params = withValueAt(plain, ["message", UNKNOWN_FIELD], "returned");
      const { result, exchange } = await scene.expectResult(
        scene.call("sendMessage", params),
        "a task or a message",
      );
      if (valuesNamed(result, UNKNOWN_FIELD).length === 0) return;
      throw new Failed(`a result without the field ${UNKNOWN_FIELD}`, exchange);
    },
  },
  {
    name: "unknown-fields",
    says: "Unknown fields are ignored.",
    claims: [should("v1-S47", "§5.7")],
    bindings: JSON_BINDINGS,
    async run(scene) {
      const { value } = await ordinaryResult(scene);
      const plain = scene.requests.send(scene.settings.message);
      const strange = withValueAt(plain, ["message", UNKNOWN_FIELD], { deep: [1, null] });
      const params = withValueAt(strange, [UNKNOWN_FIELD], true);
      await scene.expectResult(
        scene.call("sendMessage", params),
        `a ${value.kind}, as without the unknown fields`,
      );
    },
  },
];

/** Names that no version of the protocol has. */
const UNKNOWN_FIELD = "convokeCheck";

function isServerFailure({ reason, http = 0, grpc = 0 }: WireError): boolean {
  const status = GRPC_STATUS[grpc];
  return reason === "Internal" || http >= 500 || status === "INTERNAL" || status === "UNKNOWN";
}

function toProbe(
  path: readonly string[],
  value: unknown,
  facts: Omit<InvalidMessage, "path" | "value">,
): Probe {
  return {
    ...facts,
    async run(scene) {
      const { requests, settings } = scene;
      const place = path.map((name) => (name === "parts" ? requests.partsName : name));
      const params = withValueAt(requests.send(settings.message), place, value);
      await expectRejected(scene, "sendMessage", params);
    },
  };
}

/** Any error will do, except one that says the server itself failed. */
async function expectRejected(
  scene: Scene,
  operation: OperationName,
  params: unknown,
): Promise<void> {
  const response = await scene.call(operation, params);
  if (response.kind === "error" && !isServerFailure(response.error)) return;
  throw new Failed(`an error such as ${describeReason("InvalidParams")}`, response.exchange);
}

/** A media type that no agent accepts. */
const UNKNOWN_MEDIA_TYPE = "application/x-convoke-check";

/** Media types that the agent does not accept. */
export const MEDIA: readonly Probe[] = [
  {
    name: "strange-media-type",
    says: "A part with a media type that the card does not list is rejected with ContentTypeNotSupported.",
    claims: [must("v1-S10", "§3.1.1")],
    async run(scene) {
      needsNarrowModes(scene);
      const file = { name: "check", mimeType: UNKNOWN_MEDIA_TYPE, bytes: "aGVsbG8=" };
      const params = scene.requests.send("", { parts: [{ kind: "file", file }] });
      await scene.expectError(scene.call("sendMessage", params), "ContentTypeNotSupported");
    },
  },
];

function needsNarrowModes({ card }: Scene): void {
  const modes = card.inputModes;
  if (modes.length === 0) throw new Skipped("the card lists no media types");
  const wide = modes.find((mode) => mode.includes("*") || !mode.includes("/"));
  if (wide !== undefined)
    throw new Skipped(`the card accepts ${wide}, so there is no unsupported type`);
}

async function expectErrorInfo(scene: Scene): Promise<void> {
  const { error, exchange } = await unknownTaskError(scene);
  const info = errorInfoIn(error.details);
  const isRight = textAt(info, "reason") === "TASK_NOT_FOUND";
  if (isRight && textAt(info, "domain") === "a2a-protocol.org") return;
  throw new Failed("an ErrorInfo with TASK_NOT_FOUND and a2a-protocol.org", exchange);
}

/** Judges errors by their status alone, whatever their details say. */
async function expectErrorStatuses(scene: Scene): Promise<void> {
  const { requests, client } = scene;
  const { taskId } = (await finishedTask(scene)).value;
  for (const [reason, operation, params] of [
    ["TaskNotFound", "getTask", requests.get(UNKNOWN_TASK)],
    ["TaskNotCancelable", "cancelTask", requests.cancel(taskId)],
    ["UnsupportedOperation", "sendMessage", requests.send(scene.settings.message, { taskId })],
    ["InvalidParams", "sendMessage", {}],
  ] as const) {
    const response = await scene.call(operation, params);
    if (response.kind === "error") {
      const { reason: _, ...error } = response.error;
      if (hasReason({ ...error, reason: undefined }, reason, client.version)) continue;
    }
    throw new Failed(`the error ${describeReason(reason)}`, response.exchange);
  }
}

async function unknownTaskError(scene: Scene): Promise<ErrorResponse> {
  const response = await scene.call("getTask", scene.requests.get(UNKNOWN_TASK));
  if (response.kind === "error") return response;
  throw new Failed("the error TaskNotFound", response.exchange);
}
