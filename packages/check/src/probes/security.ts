import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import type { ErrorResponse } from "../wire/client.ts";
import { HOOK, UNKNOWN_TASK } from "../scene/fixtures.ts";
import type { OperationName } from "@convoke/protocol";

/** Hosts that are not reachable from outside. */
const LOCAL =
  /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]|.*\.(local|internal)$)/;

/** Encryption. */
export const TRANSPORT_SECURITY: readonly Probe[] = [
  {
    name: "tls",
    says: "A production server uses TLS.",
    claims: [must("v1-S62", "§7.1"), must("v03-S1", "§4.1")],
    async run({ stage }) {
      const { protocol, hostname } = new URL(stage.target.url);
      if (protocol === "https:") return;
      if (LOCAL.test(hostname)) throw new Skipped("a local address is not in production");
      throw new Failed("an https address", { sent: "nothing", received: stage.target.url });
    },
  },
];

const WRONG = "convoke-check-wrong-credentials";

/** Authentication. */
export const CREDENTIALS: readonly Probe[] = [
  {
    name: "no-credentials",
    says: "A request without credentials is rejected.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      await errorWith(scene, undefined);
    },
  },
  {
    name: "wrong-credentials",
    says: "A request with wrong credentials is rejected.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      await errorWith(scene, WRONG);
    },
  },
  {
    name: "every-operation",
    says: "Every operation is rejected without credentials.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      if (!scene.card.requiresCredentials) throw new Skipped(NOT_REQUIRED);
      const stranger = withCredentials(scene, undefined);
      const { requests } = scene;
      const calls: readonly (readonly [OperationName, unknown])[] = [
        ["getTask", requests.get(UNKNOWN_TASK)],
        ["cancelTask", requests.cancel(UNKNOWN_TASK)],
        ["createPushConfig", requests.createPush(UNKNOWN_TASK, HOOK)],
        ["getPushConfig", requests.getPush(UNKNOWN_TASK, HOOK.id)],
        ["listPushConfigs", requests.listPush(UNKNOWN_TASK)],
        ["deletePushConfig", requests.deletePush(UNKNOWN_TASK, HOOK.id)],
        ...(scene.client.version === "1.0" ? [["listTasks", requests.list()] as const] : []),
      ];
      for (const [operation, params] of calls) {
        await stranger.expectError(
          stranger.call(operation, params),
          "Unauthenticated",
          "Forbidden",
        );
      }
    },
  },
  {
    name: "status",
    says: "Missing credentials are rejected with 401 or 403, over gRPC with UNAUTHENTICATED or PERMISSION_DENIED.",
    claims: [should("v1-S54", "§3.3.2"), should("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      const { error, exchange } = await errorWith(scene, undefined);
      if (error.reason === "Unauthenticated" || error.reason === "Forbidden") return;
      throw new Failed("401 or 403, or UNAUTHENTICATED or PERMISSION_DENIED", exchange);
    },
  },
  {
    name: "challenge",
    says: "A 401 names the accepted schemes in WWW-Authenticate.",
    claims: [should("v1-S54", "§3.3.2"), should("v03-S12", "§4.4")],
    bindings: ["jsonrpc", "rest"],
    needsNoGate: true,
    async run(scene) {
      const { error, headers, exchange } = await errorWith(scene, undefined);
      if (error.http !== 401) throw new Skipped("the status is not 401");
      if ((headers["www-authenticate"] ?? "") !== "") return;
      throw new Failed("a WWW-Authenticate header", exchange);
    },
  },
  {
    name: "no-credentials-for-streams",
    says: "A stream without credentials is rejected.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      if (!scene.card.requiresCredentials) throw new Skipped(NOT_REQUIRED);
      if (!scene.card.streaming) throw new Skipped("the card does not offer streaming");
      const stranger = withCredentials(scene, undefined);
      for (const [operation, params] of [
        ["sendStreamingMessage", scene.requests.send(scene.settings.message)],
        ["subscribeToTask", scene.requests.subscribe(UNKNOWN_TASK)],
      ] as const) {
        await stranger.expectStreamError(operation, params, "Unauthenticated", "Forbidden");
      }
    },
  },
  {
    name: "extended-card",
    says: "The extended card requires credentials.",
    claims: [must("v1-S57", "§13.3")],
    run: expectGuardedCard,
  },
  {
    name: "extended-card",
    says: "The extended card requires credentials.",
    claims: [must("v03-S20", "§7.10")],
    // In gRPC 0.3 the same method returns the public card.
    bindings: ["jsonrpc", "rest"],
    run: expectGuardedCard,
  },
];

async function expectGuardedCard(scene: Scene): Promise<void> {
  if (!scene.card.extendedCard) throw new Skipped("the card announces no extended card");
  const response = await withCredentials(scene, undefined).call("getExtendedCard", {});
  if (response.kind === "error") return;
  throw new Failed("an error without credentials", response.exchange);
}

const NOT_REQUIRED = "the card requires no credentials";

/** The error of a send with other credentials than ours. */
async function errorWith(scene: Scene, credentials: string | undefined): Promise<ErrorResponse> {
  if (!scene.card.requiresCredentials) throw new Skipped(NOT_REQUIRED);
  const params = scene.requests.send(scene.settings.message);
  const response = await withCredentials(scene, credentials).call("sendMessage", params);
  if (response.kind === "error") return response;
  throw new Failed("an error, because the card requires credentials", response.exchange);
}

/** The same probe without credentials, or with wrong ones in the same headers. */
function withCredentials(scene: Scene, credentials: string | undefined): Scene {
  const { stage } = scene;
  const names = Object.keys(scene.settings.credentials);
  const ours = Object.entries(stage.target.headers);
  const headers = Object.fromEntries(ours.filter(([name]) => !names.includes(name)));
  const wrong = credentials === undefined ? [] : ["authorization", ...names];
  const forged = Object.fromEntries(wrong.map((name) => [name, `Bearer ${credentials}`]));
  return scene.withStage({
    ...stage,
    target: { ...stage.target, headers: { ...headers, ...forged } },
  });
}
