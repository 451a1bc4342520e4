import { ERRORS, type ErrorReason } from "@convoke/protocol";

/** What a reader of the page needs beside the codes. */
interface Advice {
  readonly cause: string;
  readonly fix: string;
}

const ADVICE: Readonly<Record<ErrorReason, Advice>> = {
  JsonParse: {
    cause: "The body is not JSON, or not UTF-8.",
    fix: "Send a JSON document in UTF-8. With `curl`, put the body in single quotes, so that the shell does not change it.",
  },
  InvalidRequest: {
    cause:
      "The body is JSON, but not a request: not an object, cut off, nested too deep, or without `method`. Over gRPC: not exactly one message, or a malformed `grpc-timeout`.",
    fix: "Compare the body with the form of the binding. If it was cut off, look at the proxy in between.",
  },
  MethodNotFound: {
    cause:
      "There is no such method or path in the version that the request uses, or the path takes another HTTP method. 0.3 and 1.0 have different names: `message/send` is `SendMessage` in 1.0.",
    fix: "Use the name of the version, or send `A2A-Version`. `convoke card <url>` shows the interfaces and their versions.",
  },
  InvalidParams: {
    cause:
      "A field is missing, has the wrong type or value, exceeds a [limit](../guide/operating.md#limits), or answers a question that is not open.",
    fix: "The message names the field and says what it must be; `data.field` has the name for programs.",
  },
  Internal: {
    cause: "The server or the agent failed in a way that it did not expect.",
    fix: "The message has an error id. The log of the server has the cause under the same `errorId`.",
  },
  TaskNotFound: {
    cause:
      "There is no task with this id for this caller: it never existed, was [pruned](../guide/operating.md#retention), or belongs to another owner, tenant or agent. The answer is the same, so that ids cannot be guessed.",
    fix: "Check the credentials and the path of the agent. `convoke tasks <url>` lists what the caller has.",
  },
  TaskNotCancelable: {
    cause: "The task has ended.",
    fix: "Nothing needs to be done: the state of the task is in the message.",
  },
  PushNotificationNotSupported: {
    cause: "The agent does not send push notifications.",
    fix: "Use a stream, or poll the task. The card says which agents push (`capabilities.pushNotifications`).",
  },
  UnsupportedOperation: {
    cause:
      "The request is valid, but not possible here: a message to a task that has ended or whose agent is not served here, a stream of an agent that does not stream, a subscription without a cursor to a task that has ended (1.0), or gRPC without HTTP/2.",
    fix: "The message says which. For a task that has ended, send a new message with its `contextId` and without `taskId`.",
  },
  ContentTypeNotSupported: {
    cause: "A part of the message has a media type that the agent does not take.",
    fix: "Send one of `defaultInputModes` of the card, or of the skill.",
  },
  InvalidAgentResponse: {
    cause: "A client received an answer that is not A2A, or an agent produced one.",
    fix: "Run `convoke check <url>` against the agent that answered.",
  },
  ExtendedAgentCardNotConfigured: {
    cause: "The agent has no card for authenticated callers.",
    fix: "Use the public card. On the server, set `extendedCard` or `CONVOKE_EXTENDED_CARD`; both need authentication.",
  },
  ExtensionSupportRequired: {
    cause:
      "The agent requires an [extension](../extensions/README.md) that the request did not activate.",
    fix: "Send the header `A2A-Extensions` with the URI that the message names, if your client implements it.",
  },
  VersionNotSupported: {
    cause: "`A2A-Version` names a version that the server, or the path, does not have.",
    fix: "Send `0.3` or `1.0`. Paths that begin with `/v1/` are those of REST 0.3; 1.0 has no prefix.",
  },
  Unauthenticated: {
    cause:
      "There are no credentials, or they are not accepted: wrong, expired, or for another audience.",
    fix: "Pass a token or key as the card says, or run `convoke login <url>`. See [Authentication](../guide/authentication.md).",
  },
  Forbidden: {
    cause:
      "The caller is known and may not do this, or the request names an unknown `Host`, or comes from a web page of an origin that is not listed.",
    fix: "Give the caller the scope or role. For hosts set `PUBLIC_URL` or `CONVOKE_ALLOWED_HOSTS`, for pages `CONVOKE_CORS_ORIGINS`.",
  },
  RequestTimeout: {
    cause:
      "The body took longer than `timeouts.bodyMs`, or the deadline of a gRPC client has passed.",
    fix: "Send the body faster, or raise the limit or the deadline.",
  },
  PayloadTooLarge: {
    cause: "The body is larger than the limit `bodyBytes`, 10 MiB by default.",
    fix: "Send a file by its URL, or raise the limit: `CONVOKE_LIMITS=bodyBytes=52428800`.",
  },
  UnsupportedMediaType: {
    cause:
      "`Content-Type` or `Content-Encoding` is one that the server does not take. gRPC-Web is one of them.",
    fix: "Send `Content-Type: application/json`, uncompressed.",
  },
  TooManyRequests: {
    cause:
      "A [rate limit](../guide/operating.md#rate-limits), or a limit of open tasks or streams, is reached.",
    fix: "Wait for `Retry-After`, then try again. The message names the limit, and `CONVOKE_LIMITS` or `CONVOKE_RATE_LIMIT` changes it.",
  },
  Unavailable: {
    cause:
      "The server stops, its storage cannot be written, credentials cannot be checked at the moment, or the task has to run on a host that is down.",
    fix: "Wait for `Retry-After`, then send the same message again: with the same `messageId` it does not run twice. See [When the storage fails](../guide/operating.md#when-the-storage-fails).",
  },
};

const HEAD = `# Errors

<!-- Written by scripts/error-page.ts (npm run docs:errors). Do not edit this page by hand. -->

Every error that a Convoke server sends, with its code in each binding. The message of an error begins with its title and names what is wrong: the field, the limit, the id. Programs read the same from \`data\` (JSON-RPC 0.3) or from \`ErrorInfo\` (1.0, \`reason\` and \`metadata\`). Unknown errors never show their text, only an error id.

On JSON-RPC the HTTP status is 200, except for the errors that are marked with \\*: those are rejected before JSON-RPC is involved, and keep their status on every binding. Statuses are those of A2A 1.0.1; where 1.0.0 has another one, it is in parentheses. 429 and 503 have \`Retry-After\`.

What a client of Convoke throws if there is no answer at all is in [What goes wrong, and what the client does](../client/faults.md), and what a task that fails says is in [Troubleshooting](../troubleshooting.md#a-task-failed).`;

/** The page about errors, from the table that the servers use. */
export function errorPage(): string {
  const reasons = Object.keys(ERRORS) as ErrorReason[];
  const table = [
    "| Error | JSON-RPC | HTTP | gRPC |",
    "| --- | --- | --- | --- |",
    ...reasons.map(rowOf),
  ].join("\n");
  return `${[HEAD, table, ...reasons.map(sectionOf)].join("\n\n")}\n`;
}

/** What the table of errors has, without the types of single rows. */
interface Row {
  readonly code: number;
  readonly http: number;
  readonly grpc: string;
  readonly title: string;
  readonly patch0?: { readonly http?: number; readonly grpc?: string };
  readonly transport?: true;
}

function rowOf(reason: ErrorReason): string {
  const { code, http, grpc, patch0, transport }: Row = ERRORS[reason];
  const earlier = (value: string | number | undefined): string =>
    value === undefined ? "" : ` (${value})`;
  return `| [${reason}](#${reason.toLowerCase()})${transport ? " \\*" : ""} | ${code} | ${http}${earlier(patch0?.http)} | ${grpc}${earlier(patch0?.grpc)} |`;
}

function sectionOf(reason: ErrorReason): string {
  const { cause, fix } = ADVICE[reason];
  return `## ${reason}\n\n“${ERRORS[reason].title}”\n\n**Cause:** ${cause}\n\n**Fix:** ${fix}`;
}
