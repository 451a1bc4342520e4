// HTTP requests and responses, and a client on `fetch`. Runs in browsers.
export { createFetchClient } from "./fetch-client.ts";
export type { HttpAnswer, HttpCall, HttpClient } from "./http-client.ts";
export { readText } from "./read-body.ts";
export { unreachable } from "./read-body.ts";
