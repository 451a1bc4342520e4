import { type SeededFault, answer, forgetting, params, rpc, withResult, words } from "./fault.ts";

/** Faults of a JSON-RPC server. */
export const JSONRPC_FAULTS: readonly SeededFault[] = [
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
    title: "an error code that hides the cause",
    id: "v1-S19.get-unknown",
    answer: rpc((body) =>
      body.error ? { ...body, error: { ...body.error, code: -32603 } } : body,
    ),
  },
  {
    title: "details that are not a list",
    id: "v1-S49.typed-details",
    answer: rpc((body) => (body.error ? { ...body, error: { ...body.error, data: {} } } : body)),
  },
  {
    title: "no details",
    id: "v1-S49.error-info",
    answer: rpc((body) => (body.error ? { ...body, error: { ...body.error, data: [] } } : body)),
  },
  {
    title: "unreadable JSON accepted as a request",
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
    title: "times in another time zone",
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
    title: "a contextId of the server's own",
    id: "v1-S34.own-context",
    ask: forgetting("contextId"),
  },
  {
    title: "a send that does not wait",
    id: "v1-S11.waits-long",
    ask: params((old) => ({ ...old, configuration: { returnImmediately: true } })),
  },
  {
    title: "a send that waits although told not to",
    id: "v1-S12.returns-at-once",
    ask: params((old) => ({ ...old, configuration: {} })),
  },
  {
    title: "the complete history",
    id: "v1-S21.history-none",
    ask: forgetting("historyLength"),
  },
  {
    title: "more history than requested",
    id: "v1-S20.history-limit",
    ask: forgetting("historyLength"),
  },
  {
    title: "any version is accepted",
    id: "v1-S6.unknown-version",
    ask: (asked) => ({ ...asked, headers: { ...asked.headers, "a2a-version": "1.0" } }),
  },
  {
    title: "a patch version that is not ignored",
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
    title: "a page without a nextPageToken field",
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
    title: "artifacts that were not requested",
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
    title: "missing parts are accepted",
    id: "v1-S46.empty-parts",
    ask: words(/"parts":\[\]/, '"parts":[{"text":"hello"}]'),
  },
  {
    title: "half of the pages",
    id: "v1-S22.all-pages",
    ask: forgetting("pageToken"),
  },
  {
    title: "a total of one page",
    id: "v1-S23.total-size",
    answer: rpc((body) =>
      withResult(body, (result) => ({ ...result, totalSize: result.tasks?.length })),
    ),
  },
  {
    title: "short pages",
    id: "v1-S24.page-size",
    answer: words(/"pageSize":50/, '"pageSize":10'),
  },
  {
    title: "a time filter that is ignored",
    id: "v1-S22.by-time",
    ask: forgetting("statusTimestampAfter"),
  },
  {
    title: "a negative page size accepted",
    id: "v1-S24.bad-page-size",
    ask: words(/"pageSize":-1/, '"pageSize":1'),
  },
  {
    title: "a page without tasks",
    id: "v1-S24.no-page-size",
    ask: words(/"pageSize":0/, '"pageSize":1'),
  },
  {
    title: "pages of any size accepted",
    id: "v1-S24.large-page-size",
    ask: words(/"pageSize":101/, '"pageSize":100'),
  },
  {
    title: "any page token accepted",
    id: "v1-S24.bad-page-token",
    ask: forgetting("pageToken"),
  },
  { title: "a state filter that is ignored", id: "v1-S22.by-state", ask: forgetting("status") },
  { title: "any state accepted", id: "v1-S24.bad-state", ask: forgetting("status") },
  { title: "any time accepted", id: "v1-S24.bad-time", ask: forgetting("statusTimestampAfter") },
  {
    title: "an outdated task",
    id: "v1-S19.as-it-stands",
    answer: (answered, asked) =>
      asked.body.includes('"GetTask"') ? words(/CANCELED/, "WORKING")(answered) : answered,
  },
  {
    title: "more history than the send requested",
    id: "v1-S20.history-of-send",
    ask: forgetting("historyLength"),
  },
  {
    title: "the oldest messages",
    id: "v1-S21.history-latest",
    ask: forgetting("historyLength"),
  },
  {
    title: "a question that cannot be canceled",
    id: "v1-S25.cancel-asking",
    ask: (asked) => ({ ...asked, body: asked.body.replace('"CancelTask"', '"GetTask"') }),
  },
  {
    title: "a context replaced by another",
    id: "v1-S48.context-of-wrong-type",
    ask: forgetting("contextId"),
  },
  {
    title: "a second part that is not validated",
    id: "v1-S46.empty-second-part",
    ask: words(/,\{\}\]/, "]"),
  },
  {
    title: "bytes that are not decoded",
    id: "v1-S48.not-base64",
    ask: words(/\*{3}/, "aGk="),
  },
  {
    title: "a task without an id",
    id: "v1-S48.no-task-id",
    instead: ({ body }) =>
      body.includes('"params":{}') && body.includes("Task")
        ? answer('{"jsonrpc":"2.0","id":"convoke-check","result":{}}')
        : undefined,
  },
  {
    title: "errors without a field",
    id: "v1-S48.names-the-field",
    answer: rpc((body) =>
      body.error ? { ...body, error: { code: -32602, message: "invalid" } } : body,
    ),
  },
  {
    title: "an id in the response to a request without one",
    id: "v1-S50.unreadable-id",
    answer: rpc((body) => ({ ...body, id: body.id ?? 1 })),
  },
  {
    title: "secrets that are lost",
    id: "v1-S40.as-given",
    answer: words(/convoke-check-credentials/, "***"),
  },
  {
    title: "a config without an id",
    id: "v1-S39.own-id",
    answer: (answered, asked) =>
      asked.body.includes('"CreateTaskPush')
        ? rpc((body) => withResult(body, (result) => ({ ...result, id: undefined })))(
            answered,
            asked,
          )
        : answered,
  },
  {
    title: "an id that is cut at a slash",
    id: "v1-S40.unusual-id",
    ask: (asked) => (asked.body.includes('"GetTaskPush') ? words(/a\/b [^"]*/, "a")(asked) : asked),
  },
  {
    title: "configs of any task accepted",
    id: "v1-S39.unknown-task",
    instead: ({ body }) =>
      body.includes('"ListTaskPush')
        ? answer('{"jsonrpc":"2.0","id":"convoke-check","result":{"configs":[]}}')
        : undefined,
  },
  {
    title: "a negative historyLength accepted",
    id: "v1-S48.negative-history",
    ask: forgetting("historyLength"),
  },
  {
    title: "fields in the proto form ignored",
    id: "v1-S44.proto-names",
    ask: forgetting("context_id"),
  },
  {
    title: "unknown fields returned",
    id: "v1-S47.unknown-fields-dropped",
    answer: words(/"role":"ROLE_USER"/, '"role":"ROLE_USER","convokeCheck":"returned"'),
  },
  {
    title: "an id that is looked up before the params are validated",
    id: "v1-S50.id-last",
    instead: ({ body }) =>
      body.includes('"convoke/check"') && !body.includes('"id"')
        ? answer('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no id"}}')
        : undefined,
  },
  {
    title: "a stream that waits for the first event",
    id: "v1-S12.returns-quickly",
    answer: (answered, { body }) =>
      body.includes('"returnImmediately":true') ? { ...answered, delayMs: 2500 } : answered,
  },
  {
    title: "a reused id rejected",
    id: "v1-S8.reused-id",
    instead: ({ body }) =>
      body.includes("hello again")
        ? answer(
            '{"jsonrpc":"2.0","id":"convoke-check","error":{"code":-32602,"message":"used before"}}',
          )
        : undefined,
  },
];
