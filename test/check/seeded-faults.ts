import { type Answered, type Asked, type Fault, events, json } from "./spoiling-proxy.ts";

interface SeededFault extends Fault {
  readonly title: string;
  /** The probe that must find it. */
  readonly id: string;
  readonly options?: readonly string[];
}

interface Rpc {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Result;
  readonly error?: Readonly<Record<string, unknown>>;
}

interface Result extends Readonly<Record<string, unknown>> {
  readonly tasks?: readonly unknown[];
  readonly statusUpdate?: { readonly status: { readonly state: string } };
  readonly artifactUpdate?: object;
  readonly task?: object;
  readonly kind?: string;
}

const isEnd = ({ result }: Rpc): boolean =>
  /COMPLETED|FAILED|CANCELED/.test(result?.statusUpdate?.status.state ?? "");

/** What a server of JSON-RPC can get wrong. */
const JSONRPC_FAULTS: readonly SeededFault[] = [
  { title: "a wrong id", id: "v1-S50.envelope", answer: rpc((body) => ({ ...body, id: "other" })) },
  {
    title: "no version",
    id: "v1-S50.envelope",
    answer: rpc((body) => ({ ...body, jsonrpc: "1" })),
  },
  {
    title: "a result and an error at once",
    id: "v1-S50.envelope",
    answer: rpc((body) => (body.error ? { ...body, result: null } : body)),
  },
  {
    title: "a wrong content type",
    id: "v1-S50.content-type",
    answer: (answered) => ({ ...answered, headers: { "content-type": "text/plain" } }),
  },
  {
    title: "a code that hides what is wrong",
    id: "v1-S19.get-unknown",
    answer: rpc((body) =>
      body.error ? { ...body, error: { ...body.error, code: -32603 } } : body,
    ),
  },
  {
    title: "details that are no list",
    id: "v1-S49.typed-details",
    answer: rpc((body) => (body.error ? { ...body, error: { ...body.error, data: {} } } : body)),
  },
  {
    title: "no details",
    id: "v1-S49.error-info",
    answer: rpc((body) => (body.error ? { ...body, error: { ...body.error, data: [] } } : body)),
  },
  {
    title: "unreadable JSON taken for a request",
    id: "v1-S50.not-json",
    answer: rpc((body) =>
      body.error ? { ...body, error: { ...body.error, code: -32602 } } : body,
    ),
  },
  {
    title: "states of 0.3",
    id: "v1-S44.enums",
    answer: words(/TASK_STATE_COMPLETED/g, "completed"),
  },
  { title: "snake case", id: "v1-S44.camel-case", answer: words(/"artifactId"/g, '"artifact_id"') },
  {
    title: "times of some zone",
    id: "v1-S45.times",
    answer: words(/(:\d\d\.\d{3})Z"/g, '$1+00:00"'),
  },
  {
    title: "times without a fraction",
    id: "v1-S45.milliseconds",
    answer: words(/\.\d{3}Z"/g, 'Z"'),
  },
  { title: "no contextId", id: "v1-S33.context", answer: forgetting("contextId") },
  {
    title: "a task and a message at once",
    id: "v1-S8.one-member",
    answer: rpc((body) => withResult(body, (result) => ({ ...result, message: {} }))),
  },
  {
    title: "a contextId of its own",
    id: "v1-S34.own-context",
    ask: forgetting("contextId"),
  },
  {
    title: "no waiting",
    id: "v1-S11.waits-long",
    ask: params((old) => ({ ...old, configuration: { returnImmediately: true } })),
  },
  {
    title: "waiting when told not to",
    id: "v1-S12.returns-at-once",
    ask: params((old) => ({ ...old, configuration: {} })),
  },
  {
    title: "all the history",
    id: "v1-S21.history-none",
    ask: forgetting("historyLength"),
  },
  {
    title: "more history than wanted",
    id: "v1-S20.history-limit",
    ask: forgetting("historyLength"),
  },
  {
    title: "any version at all",
    id: "v1-S6.unknown-version",
    ask: (asked) => ({ ...asked, headers: { ...asked.headers, "a2a-version": "1.0" } }),
  },
  {
    title: "a patch that counts",
    id: "v1-S7.patch",
    ask: ({ headers, ...asked }) => {
      const version = headers["a2a-version"]?.replace("1.0.1", "9.0.1") ?? "";
      return { ...asked, headers: { ...headers, "a2a-version": version } };
    },
  },
  {
    title: "the query ignored",
    id: "v1-S7.in-query",
    ask: (asked) =>
      asked.path.includes("?")
        ? { ...asked, path: "/", headers: { ...asked.headers, "a2a-version": "1.0" } }
        : asked,
  },
  {
    title: "a page without a token",
    id: "v1-S23.page-fields",
    answer: forgetting("nextPageToken"),
  },
  {
    title: "the oldest first",
    id: "v1-S22.newest-first",
    answer: rpc((body) =>
      withResult(body, (result) =>
        result.tasks ? { ...result, tasks: result.tasks.toReversed() } : result,
      ),
    ),
  },
  {
    title: "always the first page",
    id: "v1-S22.pages",
    ask: forgetting("pageToken"),
  },
  {
    title: "artifacts that nobody asked for",
    id: "v1-S23.no-artifacts",
    ask: params((old) => ("pageSize" in old ? { ...old, includeArtifacts: true } : old)),
  },
  {
    title: "a cancel that does nothing",
    id: "v1-S25.cancel",
    ask: (asked) => ({ ...asked, body: asked.body.replace('"CancelTask"', '"GetTask"') }),
  },
  {
    title: "a deleted config that stays",
    id: "v1-S41.delete",
    instead: ({ body }) =>
      body.includes('"DeleteTaskPush')
        ? answer('{"jsonrpc":"2.0","id":"convoke-check","result":{}}')
        : undefined,
  },
  {
    title: "parts that need not be there",
    id: "v1-S46.empty-parts",
    ask: words(/"parts":\[\]/, '"parts":[{"text":"hello"}]'),
  },
  {
    title: "anybody served",
    id: "v1-S54.no-credentials",
    options: ["--token", "a-secret"],
    ask: (asked) => ({ ...asked, headers: { ...asked.headers, authorization: "Bearer a-secret" } }),
  },
];

/** What a server can get wrong in its streams. */
const STREAM_FAULTS: readonly SeededFault[] = [
  {
    title: "a stream without its task",
    id: "v1-S14.first",
    answer: stream((told) => told.slice(1)),
  },
  {
    title: "a stream without its end",
    id: "v1-S14.ends",
    answer: stream((told) => told.filter((event) => !isEnd(event))),
  },
  {
    title: "a word after the last",
    id: "v1-S14.ends",
    answer: stream((told) => [...told, ...told.filter(({ result }) => result?.artifactUpdate)]),
  },
  {
    title: "a stream that stays open",
    id: "v1-S14.ends",
    options: ["--timeout", "1"],
    answer: (answered) =>
      answered.headers["content-type"] === "text/event-stream"
        ? { ...answered, endless: true }
        : answered,
  },
  {
    title: "chunks in another order",
    id: "v1-S15.whole",
    answer: stream((told) => swapped(told)),
  },
  {
    title: "a chunk that is lost",
    id: "v1-S15.whole",
    answer: stream((told) => told.filter((_, place) => place !== 4)),
  },
  {
    title: "events of another request",
    id: "v1-S50.stream-envelope",
    answer: stream((told) => told.map((event) => ({ ...event, id: 1 }))),
  },
  {
    title: "updates that do not name their task",
    id: "v1-S46.event-fields",
    answer: stream((told) =>
      told.map((event) => JSON.parse(JSON.stringify(event).replace(/"contextId":"[^"]*",?/, ""))),
    ),
  },
];

/** What a server of 0.3 can get wrong. */
const EARLY_FAULTS: readonly SeededFault[] = [
  { title: "no final", id: "v03-S21.final-word", answer: words(/"final":\w+,?/g, "") },
  {
    title: "no end that is final",
    id: "v03-S21.final-at-end",
    answer: words(/"final":true/g, '"final":false'),
  },
  {
    title: "a question that is not final",
    id: "v03-S21.final-at-question",
    answer: words(/"final":true/g, '"final":false'),
  },
  { title: "parts of no kind", id: "v03-S21.kinds", answer: words(/"kind":"text",?/g, "") },
  { title: "a wrong id", id: "v03-S6.envelope", answer: rpc((body) => ({ ...body, id: 1 })) },
];

/** What a server of REST can get wrong. */
const REST_FAULTS: readonly SeededFault[] = [
  {
    title: "another media type",
    id: "v1-S52.content-type",
    answer: (answered) => ({ ...answered, headers: { "content-type": "application/json" } }),
  },
  {
    title: "errors in another form",
    id: "v1-S51.error-body",
    answer: (answered) =>
      answered.status < 400 ? answered : { ...answered, body: '{"title":"Not found"}' },
  },
  {
    title: "errors without a reason",
    id: "v1-S51.error-info",
    answer: words(/"details":\[.*\]/, '"details":[]'),
  },
  {
    title: "a fault of its own for what is not JSON",
    id: "v1-S51.not-json",
    answer: (answered) => ({ ...answered, status: answered.status < 400 ? answered.status : 500 }),
  },
];

/** What a server can get wrong on its card. */
const CARD_FAULTS: readonly SeededFault[] = [
  { title: "no Cache-Control", id: "v1-S4.cache-control", answer: without("cache-control") },
  { title: "no ETag", id: "v1-S4.etag", answer: without("etag") },
  { title: "no Last-Modified", id: "v1-S4.last-modified", answer: without("last-modified") },
  { title: "no Vary", id: "v1-S4.vary", answer: without("vary") },
  {
    title: "an ETag that nobody knows again",
    id: "v1-S4.not-modified",
    ask: (asked) => ({ ...asked, headers: { ...asked.headers, "if-none-match": '"other"' } }),
  },
  { title: "no skills", id: "v1-S1.required-fields", answer: words(/"skills":/, '"talents":') },
  {
    title: "no skill",
    id: "v1-S46.required-lists",
    answer: words(/"skills":\[.*?\}\]/, '"skills":[]'),
  },
];

export const SEEDED_FAULTS: readonly (readonly [
  where: string,
  options: readonly string[],
  faults: readonly SeededFault[],
])[] = [
  [
    "JSON-RPC 1.0",
    ["--binding", "jsonrpc", "--version", "1.0"],
    [...JSONRPC_FAULTS, ...STREAM_FAULTS],
  ],
  ["JSON-RPC 0.3", ["--binding", "jsonrpc", "--version", "0.3"], EARLY_FAULTS],
  ["REST 1.0", ["--binding", "rest", "--version", "1.0"], REST_FAULTS],
  ["the card", ["--binding", "jsonrpc", "--version", "1.0"], CARD_FAULTS],
];

function rpc(change: (body: Rpc) => object): NonNullable<Fault["answer"]> {
  return (answered) => ({ ...answered, body: json(answered.body, change) });
}

function withResult(body: Rpc, change: (result: Result) => object): object {
  return body.result ? { ...body, result: change(body.result) } : body;
}

function stream(change: (told: readonly Rpc[]) => readonly object[]): NonNullable<Fault["answer"]> {
  return (answered) => events(answered, change as (told: readonly never[]) => readonly object[]);
}

/** Changes the text of an answer or of a request. */
function words(pattern: RegExp, by: string): <Said extends Asked | Answered>(said: Said) => Said {
  return (said) => ({ ...said, body: said.body.replace(pattern, by) });
}

/** Leaves out every field of that name. */
function forgetting(name: string): <Said extends Asked | Answered>(said: Said) => Said {
  const forget = (key: string, value: unknown): unknown => (key === name ? undefined : value);
  return (said) => ({
    ...said,
    body: json(said.body, (value: unknown) => JSON.parse(JSON.stringify(value), forget)),
  });
}

function params(
  change: (params: Readonly<Record<string, unknown>>) => object,
): NonNullable<Fault["ask"]> {
  return (asked) => ({
    ...asked,
    body: json(asked.body, (body: Rpc) => ({ ...body, params: change(body.params ?? {}) })),
  });
}

function without(header: string): NonNullable<Fault["answer"]> {
  return ({ headers, ...answered }) => ({
    ...answered,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== header)),
  });
}

function answer(body: string): Answered {
  return { status: 200, headers: { "content-type": "application/json" }, body };
}

/** Two chunks in the middle have changed places. */
function swapped(told: readonly Rpc[]): readonly Rpc[] {
  const [third, fourth] = [told[3], told[4]];
  if (third?.result?.artifactUpdate === undefined || fourth === undefined) return told;
  return [...told.slice(0, 3), fourth, third, ...told.slice(5)];
}
