import type { WireHeaders } from "@convoke/check/wire";
import type { OperationName } from "@convoke/protocol";
import { type Attack, type AttackFamily, NotApplicable, fellIf, needed } from "../attack.ts";
import type { Target } from "../target.ts";
import {
  Caller,
  TASK_OPERATIONS,
  UNKNOWN_ID,
  aCanary,
  ann,
  callersOf,
  isUnauthorized,
  mainInterface,
} from "../wire/a2a.ts";
import { basePath, exchange, rawRequest, statusesIn } from "../wire/raw.ts";
import { rejectedEverywhere } from "../wire/rejection.ts";

/** The value of the `Authorization` header of ann, and her bare token. */
function tokenOf(target: Target): { readonly header: string; readonly token: string } {
  const header = needed(callersOf(target).ann["authorization"], "a bearer token");
  return { header, token: header.replace(/^bearer +/i, "") };
}

/** An attack with several wrong forms of one header. */
function wrongHeaders(
  id: string,
  sentence: string,
  forms: (credentials: {
    readonly header: string;
    readonly token: string;
  }) => readonly WireHeaders[],
): Attack {
  return {
    id,
    sentence,
    run: async (target) => {
      for (const headers of forms(tokenOf(target))) await rejectedEverywhere(target, headers);
    },
  };
}

const ALL_OPERATIONS: readonly OperationName[] = [
  ...(Object.keys(TASK_OPERATIONS) as readonly OperationName[]),
  "listTasks",
];

/** Paths that a filter and a router may read differently. */
function crookedPaths(base: string): readonly string[] {
  return [
    `/${base}/tasks`,
    `${base}//tasks`,
    `${base}/./tasks`,
    `${base}/%2e/tasks`,
    `${base}/%74asks`,
    `${base}/tasks/`,
    `${base}/tasks.`,
    `${base}/tasks;a=b`,
    `${base}/;/tasks`,
    `${base}/TASKS`,
    `${base}/tasks%20`,
    `${base}/tasks%00`,
    `${base}/tasks%23`,
    `${base}/tasks?.json`,
    `${base}/.well-known/agent-card.json/../../tasks`,
    `${base}/.well-known/agent-card.json/%2e%2e/%2e%2e/tasks`,
    `${base}/.well-known/agent-card.json/..%2f..%2ftasks`,
    `${base}/.well-known/agent-card.json;/../../tasks`,
    `${base}/.well-known/..\\tasks`,
    `${base}/health/../tasks`,
    `${base}/health/%2e%2e/tasks`,
    `http://localhost${base}/tasks`,
    `${base}/v1/tasks`,
  ];
}

/** What is added to the path of a list, so that it shows the texts of tasks. */
const LIST = "includeArtifacts=true&historyLength=5";

/** A task of ann whose text must not be seen. With her credentials a list shows it. */
async function plantedCanary(target: Target): Promise<string> {
  const canary = aCanary();
  await ann(target).startTask(canary);
  const headers = { ...callersOf(target).ann, "a2a-version": "1.0", connection: "close" };
  const line = `GET ${restBase(target)}/tasks?${LIST}`;
  const listed = await exchange(target.url, rawRequest(line, target.url, { headers }));
  if (!listed.includes(canary)) throw new NotApplicable("lists over REST");
  return canary;
}

/** Sends raw requests; none may show the canary or list tasks. */
async function nothingShown(
  target: Target,
  requests: readonly string[],
  canary: string,
): Promise<void> {
  await Promise.all(
    requests.map(async (request) => {
      const received = await exchange(target.url, request);
      const line = request.slice(0, request.indexOf("\r\n"));
      fellIf(received.includes(canary), `${line} showed a task`);
      fellIf(/"tasks":\s*\[/.test(received), `${line} listed tasks`);
    }),
  );
}

/** Where REST lists tasks. */
function restBase({ interfaces, url }: Target): string {
  return basePath(interfaces.find(({ binding }) => binding === "rest")?.url ?? url);
}

export const AUTHENTICATION: AttackFamily = {
  title: "Authentication",
  attacks: [
    {
      id: "auth-none",
      sentence: "Call every operation of every interface without credentials.",
      run: (target) => rejectedEverywhere(target, {}, ALL_OPERATIONS),
    },
    wrongHeaders("auth-empty", "Send an Authorization header without a token.", () => [
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: "Bearer null" },
    ]),
    wrongHeaders("auth-scheme", "Send a valid token under another scheme.", ({ token }) => [
      { authorization: `Basic ${token}` },
      { authorization: `Basic ${btoa(`ann:${token}`)}` },
      { authorization: `Digest ${token}` },
      { authorization: token },
    ]),
    wrongHeaders(
      "auth-malformed",
      "Send a valid token inside of a malformed header.",
      ({ token }) => [
        { authorization: `Bearer x, Bearer ${token}` },
        { authorization: `Bearer "${token}"` },
        { authorization: `Bearer ${token} x` },
        { authorization: `BearerX ${token}` },
        { authorization: `Bearer=${token}` },
      ],
    ),
    wrongHeaders("auth-case", "Send a valid token in another case.", ({ token }) => [
      { authorization: `Bearer ${token.toUpperCase()}` },
      { authorization: `Bearer ${token.toLowerCase()}` },
    ]),
    wrongHeaders(
      "auth-cut",
      "Send a beginning of a token, or a token with more at its end.",
      ({ token }) => [
        { authorization: `Bearer ${token.slice(0, -8)}` },
        { authorization: `Bearer ${token}AAAA` },
        { authorization: `Bearer ${token}%00` },
      ],
    ),
    wrongHeaders("auth-cookie", "Send a valid token as a cookie.", ({ token }) => [
      { cookie: `authorization=Bearer ${token}; token=${token}; access_token=${token}` },
    ]),
    wrongHeaders(
      "auth-other-header",
      "Send a valid token in headers that proxies use.",
      ({ token, header }) => [
        { "x-auth-token": token, "x-access-token": token, "proxy-authorization": header },
        { "x-forwarded-authorization": header, "x-original-authorization": header },
      ],
    ),
    wrongHeaders("auth-proxy-user", "Claim to be a user that a proxy has authenticated.", () => [
      {
        "x-forwarded-user": "ann",
        "x-remote-user": "ann",
        "remote-user": "ann",
        "x-forwarded-for": "127.0.0.1",
        "x-real-ip": "127.0.0.1",
        forwarded: "for=127.0.0.1;by=127.0.0.1",
        "x-client-cert": "CN=ann",
      },
    ]),
    {
      id: "auth-query",
      sentence: "Send a valid token in the query of the URL.",
      run: async (target) => {
        const canary = await plantedCanary(target);
        const { token } = tokenOf(target);
        const names = ["access_token", "token", "authorization", "api_key", "key"];
        const query = names.map((name) => `${name}=${token}`).join("&");
        const line = `GET ${restBase(target)}/tasks?${LIST}&${query}`;
        const headers = { "a2a-version": "1.0", connection: "close" };
        await nothingShown(target, [rawRequest(line, target.url, { headers })], canary);
      },
    },
    {
      id: "auth-body",
      sentence: "Send a valid token in the body of the request.",
      run: async (target) => {
        const { token, header } = tokenOf(target);
        const { url, version } = mainInterface(target);
        const secrets = { authorization: header, token, access_token: token };
        const response = await fetch(url, {
          method: "POST",
          headers: { "content-type": "application/json", "a2a-version": version },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: version === "1.0" ? "GetTask" : "tasks/get",
            params: { id: UNKNOWN_ID, ...secrets, metadata: secrets },
            ...secrets,
          }),
        });
        fellIf(response.status !== 401, `it answered ${response.status}`);
      },
    },
    {
      id: "auth-duplicate",
      sentence: "Send two Authorization headers, so that two readers see different callers.",
      run: async (target) => {
        const canary = await plantedCanary(target);
        const { header } = tokenOf(target);
        const line = `GET ${restBase(target)}/tasks?${LIST} HTTP/1.1\r\nhost: ${new URL(target.url).host}`;
        const rest = "a2a-version: 1.0\r\nconnection: close\r\n\r\n";
        await nothingShown(
          target,
          [
            `${line}\r\nauthorization: Bearer wrong\r\nauthorization: ${header}\r\n${rest}`,
            `${line}\r\nauthorization: ${header}\r\nauthorization: Bearer wrong\r\n${rest}`,
          ],
          canary,
        );
      },
    },
    {
      id: "auth-path",
      sentence: "Write the path of a protected route so that a filter takes it for another one.",
      run: async (target) => {
        const canary = await plantedCanary(target);
        const headers = { "a2a-version": "1.0", connection: "close" };
        const requests = crookedPaths(restBase(target)).map((path) =>
          rawRequest(`GET ${path}${path.includes("?") ? "&" : "?"}${LIST}`, target.url, {
            headers,
          }),
        );
        await nothingShown(target, requests, canary);
      },
    },
    {
      id: "auth-rewritten-path",
      sentence: "Name the path of a protected route in a header of a public request.",
      run: async (target) => {
        const canary = await plantedCanary(target);
        const path = `${restBase(target)}/tasks?${LIST}`;
        const headers = {
          "a2a-version": "1.0",
          connection: "close",
          "x-original-url": path,
          "x-rewrite-url": path,
          "x-forwarded-path": path,
          "x-forwarded-prefix": path,
        };
        const line = `GET ${basePath(target.url)}/.well-known/agent-card.json`;
        await nothingShown(target, [rawRequest(line, target.url, { headers })], canary);
      },
    },
    {
      id: "auth-method",
      sentence: "Use an unusual method, or override the method in a header.",
      run: async (target) => {
        const canary = await plantedCanary(target);
        const path = `${restBase(target)}/tasks?${LIST}`;
        const headers = {
          "a2a-version": "1.0",
          connection: "close",
          "x-http-method-override": "GET",
          "x-method-override": "GET",
        };
        const methods = ["OPTIONS", "HEAD", "TRACE", "PROPFIND", "POST", "QUERY"];
        const requests = methods.map((method) =>
          rawRequest(`${method} ${path}&_method=GET`, target.url, { headers }),
        );
        await nothingShown(target, requests, canary);
        const traced = await exchange(
          target.url,
          rawRequest("TRACE /", target.url, { headers: { ...headers, cookie: canary } }),
        );
        fellIf(traced.includes(canary), "TRACE returned the headers of the request");
      },
    },
    {
      id: "auth-preflight",
      sentence: "Let a CORS preflight request carry a message.",
      run: async (target) => {
        callersOf(target);
        const { url } = mainInterface(target);
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} });
        const request = rawRequest(`OPTIONS ${new URL(url).pathname}`, url, {
          headers: {
            origin: "https://evil.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type",
            "content-type": "application/json",
            connection: "close",
          },
          body,
        });
        const received = await exchange(url, request);
        fellIf(received.includes('"tasks"'), "the preflight was answered with tasks");
      },
    },
    {
      id: "auth-upgrade",
      sentence: "Ask for another protocol instead of sending credentials.",
      run: async (target) => {
        const canary = await plantedCanary(target);
        const path = `${restBase(target)}/tasks?${LIST}`;
        const upgrades = [
          {
            connection: "Upgrade, HTTP2-Settings",
            upgrade: "h2c",
            "http2-settings": "AAMAAABkAAQAAP__",
          },
          {
            connection: "Upgrade",
            upgrade: "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
          },
        ];
        const requests = upgrades.map((headers) =>
          rawRequest(`GET ${path}`, target.url, { headers: { "a2a-version": "1.0", ...headers } }),
        );
        await nothingShown(target, requests, canary);
        const answers = await Promise.all(requests.map((request) => exchange(target.url, request)));
        const switched = answers.some((received) => statusesIn(received).includes(101));
        fellIf(switched, "the protocol was switched without credentials");
      },
    },
    {
      id: "auth-unread-body",
      sentence: "Make the server read a large body before it checks the credentials.",
      run: async (target) => {
        callersOf(target);
        const { url } = mainInterface(target);
        const head = rawRequest(`POST ${new URL(url).pathname}`, url, {
          headers: { "content-type": "application/json", "content-length": "9000000" },
        });
        const received = await exchange(url, `${head}{`);
        fellIf(
          statusesIn(received)[0] !== 401,
          "it waited for the body of a caller without credentials",
        );
      },
    },
    {
      id: "auth-grpc-metadata",
      sentence: "Send a valid token in other metadata of a gRPC call.",
      run: async (target) => {
        const { token, header } = tokenOf(target);
        const at = needed(
          target.interfaces.find(({ binding }) => binding === "grpc"),
          "gRPC",
        );
        const metadata = {
          "authorization-bin": btoa(header),
          "grpc-authorization": header,
          "x-token": token,
        };
        const caller = new Caller(at, metadata);
        const answer = await caller.get(UNKNOWN_ID);
        fellIf(!isUnauthorized(answer), `it answered ${answer.text.slice(0, 120)}`);
      },
    },
  ],
};
