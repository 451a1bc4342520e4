import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed, Skipped } from "../verdict.ts";
import type { Refused } from "../wire/call.ts";

const WRONG = "convoke-check-wrong-credentials";

/** Who may ask. */
export const CREDENTIALS: readonly Probe[] = [
  {
    name: "no-credentials",
    says: "Who has no credentials is refused.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      await refusedTo(scene, undefined);
    },
  },
  {
    name: "wrong-credentials",
    says: "Who has wrong credentials is refused.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      await refusedTo(scene, WRONG);
    },
  },
  {
    name: "status",
    says: "That refusal is 401 or 403, or UNAUTHENTICATED or PERMISSION_DENIED by gRPC.",
    claims: [should("v1-S54", "§3.3.2"), should("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      const { error, exchange } = await refusedTo(scene, undefined);
      if (error.reason === "Unauthenticated" || error.reason === "Forbidden") return;
      throw new Failed("401 or 403, or UNAUTHENTICATED or PERMISSION_DENIED", exchange);
    },
  },
  {
    name: "challenge",
    says: "A 401 says in WWW-Authenticate which credentials are wanted.",
    claims: [should("v1-S54", "§3.3.2"), should("v03-S12", "§4.4")],
    bindings: ["jsonrpc", "rest"],
    needsNoGate: true,
    async run(scene) {
      const { error, headers, exchange } = await refusedTo(scene, undefined);
      if (error.http !== 401) throw new Skipped("the refusal is no 401");
      if ((headers["www-authenticate"] ?? "") !== "") return;
      throw new Failed("a WWW-Authenticate header", exchange);
    },
  },
  {
    name: "no-credentials-for-streams",
    says: "A stream is refused as well to who has no credentials.",
    claims: [must("v1-S54", "§7.4"), must("v03-S12", "§4.4")],
    needsNoGate: true,
    async run(scene) {
      if (!scene.card.demandsCredentials) throw new Skipped(NOT_DEMANDED);
      if (!scene.card.streaming) throw new Skipped("the card does not offer streaming");
      const params = scene.requests.send(scene.settings.message);
      await stranger(scene, undefined).refusedStream(
        "sendStreamingMessage",
        params,
        "Unauthenticated",
        "Forbidden",
      );
    },
  },
  {
    name: "extended-card",
    says: "The extended card is for those who have credentials.",
    claims: [must("v1-S57", "§13.3"), must("v03-S20", "§7.10")],
    // By gRPC of 0.3 this is also how the card itself is got.
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      if (!scene.card.extendedCard) throw new Skipped("the card announces no extended one");
      const answer = await stranger(scene, undefined).call("getExtendedCard", {});
      if (answer.kind === "refused") return;
      throw new Failed("an error for who has no credentials", answer.exchange);
    },
  },
];

const NOT_DEMANDED = "the card demands no credentials";

/** How a send is refused to somebody with other credentials than ours. */
async function refusedTo(scene: Scene, credentials: string | undefined): Promise<Refused> {
  if (!scene.card.demandsCredentials) throw new Skipped(NOT_DEMANDED);
  const params = scene.requests.send(scene.settings.message);
  const answer = await stranger(scene, credentials).call("sendMessage", params);
  if (answer.kind === "refused") return answer;
  throw new Failed("an error, since the card demands credentials", answer.exchange);
}

/** Somebody who has no credentials, or wrong ones in the same headers as ours. */
function stranger(scene: Scene, credentials: string | undefined): Scene {
  const { stage } = scene;
  const names = Object.keys(scene.settings.credentials);
  const ours = Object.entries(stage.target.headers);
  const headers = Object.fromEntries(ours.filter(([name]) => !names.includes(name)));
  const wrong = credentials === undefined ? [] : ["authorization", ...names];
  const forged = Object.fromEntries(wrong.map((name) => [name, `Bearer ${credentials}`]));
  return scene.at({ ...stage, target: { ...stage.target, headers: { ...headers, ...forged } } });
}
