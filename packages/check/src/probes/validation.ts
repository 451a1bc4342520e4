import { GRPC_STATUS } from "@convoke/protocol";
import { type Claim, must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import { changed } from "../scene/changed.ts";
import { ordinary } from "../scene/tasks.ts";
import { Failed } from "../verdict.ts";
import type { Binding } from "../wire/binding.ts";
import { isObject } from "../wire/json.ts";
import { describeReason } from "../wire/is-refused-as.ts";
import type { WireError } from "../wire/wire-error.ts";

interface Spoiled {
  readonly name: string;
  readonly says: string;
  readonly claims: readonly Claim[];
  /** Where something is spoiled; `parts` stands for whatever the dialect calls them. */
  readonly path: readonly string[];
  /** What is there instead; `undefined` for nothing at all. */
  readonly value: unknown;
  readonly bindings?: readonly Binding[];
}

/** More than small limits take, and less than anybody would mind. */
const LARGE = 256 * 1024;

/** gRPC cannot even say what has the wrong type. */
const WRITERS: readonly Binding[] = ["jsonrpc", "rest"];

const SPOILED: readonly Spoiled[] = [
  {
    name: "no-message",
    says: "A send without a message is refused.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message"],
    value: undefined,
  },
  {
    name: "empty-parts",
    says: "A message without parts is refused.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§10.2")],
    path: ["message", "parts"],
    value: [],
  },
  {
    name: "no-role",
    says: "A message without a role is refused.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§10.2")],
    path: ["message", "role"],
    value: undefined,
  },
  {
    name: "no-message-id",
    says: "A message without an id is refused.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§10.2")],
    path: ["message", "messageId"],
    value: undefined,
  },
  {
    name: "empty-part",
    says: "A part that holds nothing is refused.",
    claims: [should("v1-S46", "§5.7"), should("v03-S14", "§6.5, §10.2")],
    path: ["message", "parts"],
    value: [{}],
  },
  {
    name: "parts-of-wrong-type",
    says: "Parts that are no list are refused.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message", "parts"],
    value: "zzz",
    bindings: WRITERS,
  },
  {
    name: "unknown-role",
    says: "A role that does not exist is refused.",
    claims: [must("v1-S48", "§3.3.2"), must("v03-S14", "§10.2")],
    path: ["message", "role"],
    value: "convoke-check",
    bindings: WRITERS,
  },
];

/** Input is checked before anything is done with it. */
export const VALIDATION: readonly Probe[] = [
  ...SPOILED.map(({ path, value, ...facts }) => probeOf(path, value, facts)),
  {
    name: "large-message",
    says: "A large message is served, or refused in the words of the binding.",
    claims: [should("v1-S64", "§13.4"), should("v03-S14", "§10.2")],
    bindings: WRITERS,
    async run(scene) {
      const text = scene.settings.message.padEnd(LARGE, " ");
      const answer = await scene.call("sendMessage", scene.requests.send(text));
      if (answer.kind === "served" || isObject(answer.body)) return;
      throw new Failed("an answer, or an error in JSON", answer.exchange);
    },
  },
  {
    name: "names-the-field",
    says: "A refusal says which field is wrong.",
    claims: [should("v1-S48", "§3.3.2")],
    async run(scene) {
      const params = changed(scene.requests.send(scene.settings.message), ["message"], undefined);
      const error = await scene.refused(scene.call("sendMessage", params));
      if (/message/i.test(`${error.message} ${JSON.stringify(error.details)}`)) return;
      throw new Failed('an error that names the field "message"');
    },
  },
  {
    name: "unknown-fields",
    says: "Fields that nobody knows are ignored.",
    claims: [should("v1-S47", "§5.7")],
    bindings: WRITERS,
    async run(scene) {
      const { value } = await ordinary(scene);
      const plain = scene.requests.send(scene.settings.message);
      const strange = changed(plain, ["message", "convokeCheck"], { deep: [1, null] });
      const params = changed(strange, ["convokeCheck"], true);
      await scene.served(scene.call("sendMessage", params), `a ${value.kind} as before`);
    },
  },
];

function isStumble({ reason, http = 0, grpc = 0 }: WireError): boolean {
  const status = GRPC_STATUS[grpc];
  return reason === "Internal" || http >= 500 || status === "INTERNAL" || status === "UNKNOWN";
}

function probeOf(
  path: readonly string[],
  value: unknown,
  facts: Omit<Spoiled, "path" | "value">,
): Probe {
  return {
    ...facts,
    async run(scene) {
      const { requests, settings } = scene;
      const place = path.map((name) => (name === "parts" ? requests.partsName : name));
      const params = changed(requests.send(settings.message), place, value);
      const answer = await scene.call("sendMessage", params);
      // Whatever the error is called, it must not be that the server stumbled over it.
      if (answer.kind === "refused" && !isStumble(answer.error)) return;
      throw new Failed(`an error such as ${describeReason("InvalidParams")}`, answer.exchange);
    },
  };
}
