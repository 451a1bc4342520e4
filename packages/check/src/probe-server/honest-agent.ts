import { A2AError, BEARER_SECURITY, type AgentCardFacts, CODECS } from "@convoke/protocol";
import { textAt } from "../wire/json.ts";
import {
  type Answer,
  type JsonAnswer,
  type ProbePlace,
  type Reply,
  rejects,
  sends,
  shows,
  streams,
} from "./answer.ts";
import { DONE, SECOND_HALF, STORY, TASK_ID, aTask } from "./scripted-agent.ts";
import type { SeenRequest, Step } from "./seen-request.ts";

/** The names of the bindings on a card. */
const CARD_NAMES = { jsonrpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" } as const;

/** The token that the client under test is given. */
export const TOKEN = "probe-token";

export type Card = Readonly<Record<string, unknown>>;

/** What the card of a probe changes. */
export interface CardOptions {
  /** Instead of the only interface at the URL of the probe. */
  readonly interfaces?: AgentCardFacts["interfaces"];
  readonly capabilities?: Partial<AgentCardFacts["capabilities"]>;
  /** Whether callers need a token. */
  readonly isSecured?: boolean;
  readonly name?: string;
}

/** The card of a probe's agent: one interface in one version. */
export function cardFor(place: ProbePlace, options: CardOptions = {}): Card {
  const { version } = place.speaking;
  const { interfaces = [interfaceAt(place)], capabilities, isSecured = false, name } = options;
  return CODECS[version].encodeCard({
    info: {
      name: name ?? "Probe",
      description: "An agent that checks its clients.",
      version: "1.0.0",
      skills: [{ id: "probe", name: "Probe", description: "Answers.", tags: ["check"] }],
      inputModes: ["text/plain"],
      outputModes: ["text/plain"],
      replies: true,
      keepStreamOnInterrupt: false,
      takesMessages: false,
      restart: false,
    },
    interfaces,
    capabilities: { streaming: true, pushNotifications: true, ...capabilities },
    ...(isSecured && { security: BEARER_SECURITY }),
  }) as Card;
}

/** The interface of a probe, below `base` or below another URL. */
export function interfaceAt(
  { speaking: { binding, version }, base }: ProbePlace,
  url = base,
): AgentCardFacts["interfaces"][number] {
  const address = { jsonrpc: `${url}/rpc`, rest: url, grpc: new URL(url).host }[binding];
  return { url: address, binding: CARD_NAMES[binding], version };
}

/** The answers of a correct agent. Its card is no answer of an operation. */
const HONEST: Readonly<Record<Exclude<Step, "card">, Reply>> = {
  sendMessage: () => sends(DONE),
  sendStreamingMessage: () => streams(STORY),
  getTask: (request) => withTask(request, shows(DONE)),
  cancelTask: (request) => withTask(request, shows(aTask("canceled"))),
  subscribeToTask: (request) => withTask(request, streams(SECOND_HALF)),
  listTasks: () => ({
    kind: "json",
    encode: (codec) =>
      codec.encodeTaskPage({ tasks: [DONE], nextPageToken: "", pageSize: 50, totalSize: 1 }, false),
  }),
  createPushConfig: () => pushConfig,
  getPushConfig: () => pushConfig,
  listPushConfigs: () => ({
    kind: "json",
    encode: (codec) => codec.encodePushConfigPage({ configs: [PUSH_CONFIG], nextPageToken: "" }),
  }),
  deletePushConfig: () => ({ kind: "json", encode: (codec) => codec.encodeDeleted() }),
  getExtendedCard: (_, place) => ({ kind: "json", encode: () => cardFor(place) }),
  unknown: () => rejects("MethodNotFound", "this version has no such operation"),
};

/** The webhook that the client under test registers. */
export const PUSH_CONFIG = {
  taskId: TASK_ID,
  id: "config-1",
  url: "https://example.com/webhook",
  token: "webhook-token",
};

const pushConfig: JsonAnswer = {
  kind: "json",
  encode: (codec) => codec.encodePushConfig(PUSH_CONFIG),
};

export function honestReply(step: Exclude<Step, "card">): Reply {
  return HONEST[step];
}

/** The id of the task that a request names, in any dialect: `id`, `taskId`, or `tasks/<id>` in the proto of 0.3. */
export function taskIdIn({ params }: SeenRequest): string {
  const id =
    textAt(params, "taskId") ||
    textAt(params, "id") ||
    textAt(params, "name") ||
    textAt(params, "parent");
  return id.replace(/^tasks\//, "").replace(/\/pushNotificationConfigs.*$/, "");
}

function withTask(request: SeenRequest, answer: Answer): Answer {
  const id = taskIdIn(request);
  if (id === TASK_ID) return answer;
  return { kind: "error", error: new A2AError("TaskNotFound", `there is no task ${id}`) };
}
