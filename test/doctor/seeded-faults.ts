import type { ExamineOptions } from "../../apps/convoke/src/doctor/examine-agent.ts";
import { type Answered, type Asked, type Fault, events, json } from "../check/spoiling-proxy.ts";

/** A fault of a server, and the diagnosis that it must get. */
export interface SeededFault extends Fault {
  readonly fault: string;
  readonly id: string;
  /** How the server is examined to find it. */
  readonly options?: Partial<ExamineOptions>;
  /** The name under which the server is examined. Default: 127.0.0.1. */
  readonly host?: string;
}

type Card = Record<string, unknown> & {
  capabilities: Record<string, unknown>;
  skills: { id: string }[];
  supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[];
};

const isCard = ({ path }: Asked): boolean => path.startsWith("/.well-known/");

const answerWith = (status: number, body = "", headers: Record<string, string> = {}): Answered => ({
  status,
  headers: { "content-type": "text/html", ...headers },
  body,
});

/** Responds to requests for the card. */
function onCard(answer: (asked: Asked) => Answered | undefined): Pick<Fault, "instead"> {
  return { instead: (asked) => (isCard(asked) ? answer(asked) : undefined) };
}

/** Responds to all requests except those for the card. */
function onOthers(answer: () => Answered): Pick<Fault, "instead"> {
  return { instead: (asked) => (isCard(asked) ? undefined : answer()) };
}

/** Changes the response with the card. */
function changedReply(change: (answered: Answered) => Answered): Pick<Fault, "answer"> {
  return { answer: (answered, asked) => (isCard(asked) ? change(answered) : answered) };
}

/** Changes the card. */
function changedCard(change: (card: Card) => unknown): Pick<Fault, "answer"> {
  return changedReply((answered) => ({
    ...answered,
    body: json(answered.body, (card: Card) => change(card)),
  }));
}

/** Gives every interface of the card another address. */
function changedUrls(change: (url: string) => string): Pick<Fault, "answer"> {
  return changedCard((card) => ({
    ...card,
    ...(typeof card["url"] === "string" && { url: change(card["url"]) }),
    additionalInterfaces: undefined,
    supportedInterfaces: card.supportedInterfaces.map((entry) => ({
      ...entry,
      url: change(entry.url),
    })),
  }));
}

/** Rejects the JSON-RPC methods whose name matches. */
function rejected(methods: RegExp, code: number): Pick<Fault, "instead"> {
  return {
    instead: ({ body }) => {
      const { method = "" } = (body.startsWith("{") ? JSON.parse(body) : {}) as { method?: string };
      if (!methods.test(method)) return undefined;
      const error = { code, message: "no" };
      const answer = JSON.stringify({ jsonrpc: "2.0", id: "convoke-doctor", error });
      return answerWith(200, answer, { "content-type": "application/json" });
    },
  };
}

function promised(capability: string): (card: Card) => unknown {
  return (card) => ({ ...card, capabilities: { ...card.capabilities, [capability]: true } });
}

function requiringBearer(card: Card): unknown {
  return {
    ...card,
    securitySchemes: { key: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
  };
}

/** A public name for the server of the test. */
const REMOTE = {
  host: "agent.example",
  options: { resolve: () => Promise.resolve(["127.0.0.1"]) },
};

export const SEEDED_FAULTS: readonly SeededFault[] = [
  {
    fault: "the card is only at the old path",
    id: "card-old-path",
    ...onCard(({ path }) => (path.endsWith("agent-card.json") ? answerWith(404) : undefined)),
  },
  {
    fault: "the card is below a prefix",
    id: "card-other-path",
    ask: (asked) =>
      asked.path.startsWith("/a2a/.well-known/")
        ? { ...asked, path: asked.path.slice(4), headers: { ...asked.headers, "x-prefix": "a2a" } }
        : asked,
    ...onCard(({ headers }) => (headers["x-prefix"] === undefined ? answerWith(404) : undefined)),
  },
  { fault: "there is no card", id: "card-missing", ...onCard(() => answerWith(404)) },
  {
    fault: "a web application answers for the card",
    id: "card-not-json",
    ...onCard(() => answerWith(200, "<html></html>")),
  },
  { fault: "the card needs a login", id: "card-needs-auth", ...onCard(() => answerWith(401)) },
  {
    fault: "the card is redirected to another host",
    id: "card-redirected",
    ...onCard(() => answerWith(302, "", { location: "https://login.example/" })),
  },
  {
    fault: "http is redirected to https",
    id: "http-for-https",
    ...onCard(() => answerWith(301, "", { location: "https://127.0.0.1/" })),
  },
  {
    fault: "the card is sent as text",
    id: "card-content-type",
    ...changedReply(({ headers, ...rest }) => ({
      ...rest,
      headers: { ...headers, "content-type": "text/plain" },
    })),
  },
  {
    fault: "the card is huge",
    id: "card-too-large",
    ...changedCard((card) => ({ ...card, iconUrl: `data:,${"x".repeat(1024 * 1024)}` })),
  },
  {
    fault: "the card is slow",
    id: "card-slow",
    options: { slowCardMs: 100 },
    ...changedReply((answered) => ({ ...answered, delayMs: 150 })),
  },
  {
    fault: "the clock of the server is wrong",
    id: "clock-skew",
    ...changedReply(({ headers, ...rest }) => ({
      ...rest,
      headers: { ...headers, date: new Date(Date.now() + 600_000).toUTCString() },
    })),
  },
  {
    fault: "the card lacks a required field",
    id: "card-missing-fields",
    ...changedCard((card) => ({ ...card, description: undefined })),
  },
  {
    fault: "two skills have the same id",
    id: "card-duplicate-skills",
    ...changedCard((card) => {
      const skill = { id: "twin", name: "Twin", description: "Twice.", tags: [] };
      return { ...card, skills: [skill, skill] };
    }),
  },
  {
    fault: "the card names the address that the server listens on",
    id: "card-local-address",
    ...changedUrls((url) => url.replace("127.0.0.1", "0.0.0.0")),
  },
  { fault: "the card of a remote server names localhost", id: "card-local-address", ...REMOTE },
  {
    fault: "a public card names a private address",
    id: "card-private-address",
    ...REMOTE,
    ...changedUrls((url) => url.replace("127.0.0.1", "10.0.0.7")),
  },
  {
    fault: "nothing listens at the interfaces of the card",
    id: "interface-dead",
    // Port 1 is assigned to a service that nobody runs.
    options: { allow: ["127.0.0.1"] },
    ...changedUrls((url) => url.replace(/:\d+/, ":1")),
  },
  {
    fault: "the interfaces have another path than the card says",
    id: "interface-dead",
    ...changedUrls((url) => `${url.replace(/\/$/, "")}/nowhere/at/all`),
  },
  {
    fault: "the card says https, and the server speaks http",
    id: "https-for-http",
    options: { allow: ["127.0.0.1"] },
    ...changedUrls((url) => url.replace("http:", "https:")),
  },
  {
    fault: "POST requests are redirected",
    id: "post-redirected",
    instead: ({ method, path }) =>
      method === "POST" ? answerWith(308, "", { location: `${path}moved` }) : undefined,
  },
  {
    fault: "the card says 1.0, and the server speaks only 0.3",
    id: "version-mismatch",
    ...rejected(/^[A-Z]/, -32_601),
  },
  {
    fault: "the card says 0.3, and the server speaks only 1.0",
    id: "version-mismatch",
    ...rejected(/\//, -32_601),
  },
  {
    fault: "responses are sent as text",
    id: "response-content-type",
    answer: ({ headers, ...rest }, { body, path }) =>
      body.includes("GetTask") || body.includes("tasks/get") || /\/tasks\//.test(path)
        ? { ...rest, headers: { ...headers, "content-type": "text/plain" } }
        : { ...rest, headers },
  },
  {
    fault: "the server requires a scheme that the card does not declare",
    id: "auth-undeclared",
    ...onOthers(() => answerWith(401, "", { "www-authenticate": 'Basic realm="agents"' })),
  },
  {
    fault: "the card declares bearer tokens, and the server requires a password",
    id: "auth-undeclared",
    ...changedCard(requiringBearer),
    ...onOthers(() => answerWith(401, "", { "www-authenticate": 'Basic realm="agents"' })),
  },
  {
    fault: "the given token is rejected",
    id: "credentials-rejected",
    options: { credentials: { authorization: "Bearer old" } },
    ...changedCard(requiringBearer),
    ...onOthers(() => answerWith(401, "", { "www-authenticate": "Bearer" })),
  },
  {
    fault: "the card requires credentials, and the server does not",
    id: "auth-not-enforced",
    ...changedCard(requiringBearer),
  },
  {
    fault: "a proxy limits the size of requests",
    id: "body-limit",
    instead: ({ body }) => (body.length > 50_000 ? answerWith(413) : undefined),
  },
  {
    fault: "the proxy in front of gRPC speaks only HTTP/1.1",
    id: "grpc-blocked",
    ...changedCard((card) => ({
      ...card,
      supportedInterfaces: [
        ...card.supportedInterfaces,
        { ...card.supportedInterfaces[0], protocolBinding: "GRPC" },
      ],
    })),
  },
  {
    fault: "pages of a web application may not call the agent",
    id: "cors-missing",
    options: { origin: "https://app.example" },
  },
  {
    fault: "pages may read the card, but preflight requests fail",
    id: "cors-missing",
    options: { origin: "https://app.example" },
    ...changedReply(({ headers, ...rest }) => ({
      ...rest,
      headers: { ...headers, "access-control-allow-origin": "*" },
    })),
  },
  {
    fault: "the card promises streaming, and there is none",
    id: "streaming-missing",
    ...rejected(/^(?:SendStreamingMessage|message\/stream)$/, -32_004),
  },
  {
    fault: "a proxy collects the events of a stream",
    id: "stream-buffered",
    options: { text: "slow", minSpreadMs: 200 },
    answer: (answered) => answered,
  },
  {
    fault: "streams end before the task",
    id: "stream-cut",
    answer: (answered) => events(answered, (all) => all.slice(0, 1)),
  },
  {
    fault: "the card promises push notifications, and there are none",
    id: "push-missing",
    ...changedCard(promised("pushNotifications")),
    ...rejected(/PushNotificationConfig/i, -32_003),
  },
  {
    fault: "the card promises an extended card, and there is none",
    id: "extended-card-missing",
    ...changedCard(promised("extendedAgentCard")),
  },
];
