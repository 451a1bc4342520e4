import type { Claim } from "../probes/probe.ts";
import type { ProbePlace, Reply } from "../probe-server/answer.ts";
import type { Speaking, Step } from "../probe-server/seen-request.ts";
import type { Visit } from "../probe-server/visit.ts";
import type { Binding } from "../wire/client.ts";
import { PUSH_CONFIG } from "../probe-server/honest-agent.ts";
import { TASK_ID } from "../probe-server/scripted-agent.ts";

/** A check of a client: an agent to visit, and a judgment of what the client does there. */
export interface ClientProbe {
  /** Follows the requirement in the id: `v1-client.version-header`. */
  readonly name: string;
  /** What a conforming client does: a sentence whose subject is the client. */
  readonly says: string;
  /** One for each version that the probe is about. */
  readonly claims: readonly Claim[];
  /** Default: all bindings. */
  readonly bindings?: readonly Binding[];
  readonly action: ClientAction;
  /** The client has to authenticate with the token of the probe. */
  readonly needsToken?: true;
  /** The card of the agent. Default: one interface, without credentials. */
  readonly card?: (place: ProbePlace) => unknown;
  /** How the agent differs from a correct one. */
  readonly replies?: Readonly<Partial<Record<Step, Reply>>>;
  /** Throws `Failed` or `Skipped`; otherwise the client has passed. */
  judge(visit: Visit, speaking: Speaking): void;
}

/** What the client under test has to do, for programs and for people. */
export const CLIENT_ACTIONS = {
  send: "Send the message `hello` and wait for the answer.",
  stream: "Send the message `hello` with streaming and follow the task to its end.",
  converse: "Send the message `hello`, and then `again` in the same conversation.",
  answer: "Send the message `order`, and answer the agent's question with `blue`.",
  get: `Get the task \`${TASK_ID}\`.`,
  "get-odd": "Get the task `a/b c`.",
  cancel: `Cancel the task \`${TASK_ID}\`.`,
  subscribe: `Subscribe to the task \`${TASK_ID}\` and follow it to its end.`,
  list: "List all tasks, page by page.",
  push:
    `For the task \`${TASK_ID}\`, register the webhook ${PUSH_CONFIG.url} with the id ` +
    `\`${PUSH_CONFIG.id}\` and the token \`${PUSH_CONFIG.token}\`; read it, list all, and delete it.`,
  "extended-card": "Fetch the extended card, and report the name on it.",
} as const;

export type ClientAction = keyof typeof CLIENT_ACTIONS;

/** The requirement of all client probes of a version. */
export const V1 = "v1-client";
export const V03 = "v03-client";
