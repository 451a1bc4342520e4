import { type SeededFault, answer, forgetting, without, words } from "./fault.ts";

/** Faults concerning credentials. */
export const GUARD_FAULTS: readonly SeededFault[] = [
  {
    title: "every caller is served",
    id: "v1-S54.no-credentials",
    ask: (asked) => ({ ...asked, headers: { ...asked.headers, authorization: "Bearer a-secret" } }),
  },
  {
    title: "every caller can list tasks",
    id: "v1-S54.every-operation",
    ask: (asked) =>
      asked.body.includes('"ListTasks"')
        ? { ...asked, headers: { ...asked.headers, authorization: "Bearer a-secret" } }
        : asked,
  },
];

/** Faults of a server without streams and push notifications. */
export const PLAIN_FAULTS: readonly SeededFault[] = [
  {
    title: "a stream that is rejected but still starts",
    id: "v1-S27.starts-nothing",
    ask: (asked) =>
      asked.body.includes("SendStreamingMessage")
        ? {
            ...asked,
            headers: { ...asked.headers, "x-spoiled": "1" },
            body: asked.body.replace("SendStreamingMessage", "SendMessage"),
          }
        : asked,
    answer: (answered, { headers }) =>
      headers["x-spoiled"] === undefined
        ? answered
        : answer(
            '{"jsonrpc":"2.0","id":"convoke-check","error":{"code":-32004,"message":"no streams"}}',
          ),
  },
  {
    title: "a push config that is ignored",
    id: "v1-S26.no-push",
    ask: forgetting("taskPushNotificationConfig"),
  },
];

/** Faults in notifications. */
export const HOOK_FAULTS: readonly SeededFault[] = [
  {
    title: "a notification without an event",
    id: "v1-S42.notification",
    notify: (notification) => ({ ...notification, body: "{}" }),
  },
  {
    title: "a notification as plain JSON",
    id: "v1-S42.notification-type",
    notify: (notification) => ({
      ...notification,
      headers: { ...notification.headers, "content-type": "application/json" },
    }),
  },
  {
    title: "a notification of unknown origin",
    id: "v1-S42.authorization",
    notify: (notification) => ({
      ...notification,
      headers: { ...notification.headers, authorization: "" },
    }),
  },
  {
    title: "a notification for a deleted config",
    id: "v1-S41.no-notification",
    instead: ({ body }) =>
      body.includes('"DeleteTaskPush')
        ? answer('{"jsonrpc":"2.0","id":"convoke-check","result":{}}')
        : undefined,
  },
];

export const EARLY_HOOK_FAULTS: readonly SeededFault[] = [
  {
    title: "a notification without its task",
    id: "v03-S17.notification",
    notify: (notification) => words(/"kind":"task"/, '"kind":"event"')(notification),
  },
];

/** Faults concerning unusual content. */
export const CONTENT_FAULTS: readonly SeededFault[] = [
  {
    title: "a task that cannot be read",
    id: "v1-S5.unusual-content",
    answer: (answered, asked) =>
      asked.body.includes('"GetTask"') && answered.body.includes("deep")
        ? answer(
            '{"jsonrpc":"2.0","id":"convoke-check","error":{"code":-32603,"message":"Internal"}}',
          )
        : answered,
  },
];

/** Faults of a REST server. */
export const REST_FAULTS: readonly SeededFault[] = [
  {
    title: "another media type",
    id: "v1-S52.content-type",
    answer: (answered) => ({ ...answered, headers: { "content-type": "application/json" } }),
  },
  {
    title: "errors in another format",
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
    title: "one status for all errors",
    id: "v1-S51.error-status",
    answer: (answered) => ({ ...answered, status: answered.status < 400 ? answered.status : 409 }),
  },
  {
    title: "any verb is accepted",
    id: "v1-S51.wrong-verb",
    answer: (answered) => ({
      ...answered,
      status: answered.status === 405 ? 200 : answered.status,
    }),
  },
  {
    title: "an internal error for a body that is not JSON",
    id: "v1-S51.not-json",
    answer: (answered) => ({ ...answered, status: answered.status < 400 ? answered.status : 500 }),
  },
];

/** Faults on the card. */
export const CARD_FAULTS: readonly SeededFault[] = [
  { title: "no Cache-Control", id: "v1-S4.cache-control", answer: without("cache-control") },
  { title: "no ETag", id: "v1-S4.etag", answer: without("etag") },
  { title: "no Last-Modified", id: "v1-S4.last-modified", answer: without("last-modified") },
  { title: "no Vary", id: "v1-S4.vary", answer: without("vary") },
  {
    title: "an ETag that is not recognized",
    id: "v1-S4.not-modified",
    ask: (asked) => ({ ...asked, headers: { ...asked.headers, "if-none-match": '"other"' } }),
  },
  { title: "no skills", id: "v1-S1.required-fields", answer: words(/"skills":/, '"talents":') },
  {
    title: "no skill",
    id: "v1-S46.required-lists",
    answer: words(/"skills":\[.*?\}\]/, '"skills":[]'),
  },
  {
    title: "a listen address instead of a URL",
    id: "v1-S2.reachable",
    answer: words(/"url":"127\.0\.0\.1/g, '"url":"0.0.0.0'),
  },
];

/** Faults of a 0.3 REST server. */
export const EARLY_REST_FAULTS: readonly SeededFault[] = [
  {
    title: "query parameters in the proto form ignored",
    id: "v03-S8.history-length-query",
    ask: (asked) => ({ ...asked, path: asked.path.replace(/\?history_length=\d+/, "") }),
  },
  {
    title: "fields in the proto form ignored",
    id: "v03-S8.proto-names",
    ask: forgetting("context_id"),
  },
  {
    title: "an empty authentication rejected",
    id: "v03-S5.empty-authentication",
    instead: ({ body }) =>
      body.includes('"authentication":{}')
        ? { ...answer('{"code":-32602,"message":"no schemes"}'), status: 400 }
        : undefined,
  },
];
