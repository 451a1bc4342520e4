// What an HTTP request and its answer are, and how they are made where there is only `fetch`. Runs in browsers.
export { createFetchClient } from "./fetch-client.ts";
export type { HttpAnswer, HttpCall, HttpClient } from "./http-client.ts";
export { readText } from "./read-text.ts";
export { unreachable } from "./unreachable.ts";
