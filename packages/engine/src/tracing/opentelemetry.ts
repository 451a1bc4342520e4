import type * as Api from "@opentelemetry/api";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Where every copy of version 1 of the API keeps what an SDK registers, such as `trace`. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

type Registry = Readonly<Record<symbol, { readonly trace?: unknown } | undefined>>;

/** Whether the process has an OpenTelemetry SDK that creates spans. */
export function isTracing(): boolean {
  return (globalThis as Registry)[REGISTERED]?.trace !== undefined;
}

let loaded: typeof Api | false | undefined;

/**
 * The API of OpenTelemetry, or `undefined` if the process has no SDK. It is loaded with the first
 * span, because it takes 20 ms to load and most processes never need it. A bundle may lack it; then
 * there are no spans.
 */
export function loadOpenTelemetry(): typeof Api | undefined {
  if (!isTracing()) return undefined;
  if (loaded === undefined) {
    try {
      loaded = require("@opentelemetry/api") as typeof Api;
    } catch {
      loaded = false;
    }
  }
  return loaded === false ? undefined : loaded;
}
