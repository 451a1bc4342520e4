import type { IncomingMessage } from "node:http";
import { belowBase } from "../http/base-path.ts";

/** What Express and Connect add to a request when they take a prefix off its URL. */
interface RoutedRequest extends IncomingMessage {
  readonly baseUrl?: unknown;
  readonly originalUrl?: unknown;
}

interface Place {
  /** The path and query from the agent's own root. */
  readonly target: string;
  readonly basePath: string;
}

/** Where a request is, seen from the agent's root; `basePath` is what the options say of it. */
export function placeOf(incoming: RoutedRequest, basePath: string): Place {
  const { url = "/", baseUrl, originalUrl } = incoming;
  if (basePath !== "") {
    const whole = typeof originalUrl === "string" ? originalUrl : url;
    const mark = whole.indexOf("?");
    const path = mark === -1 ? whole : whole.slice(0, mark);
    return { target: belowBase(path, basePath) + whole.slice(path.length), basePath };
  }
  if (typeof baseUrl === "string") return { target: url, basePath: baseUrl };
  // Connect tells the whole URL alone.
  const isBelow = typeof originalUrl === "string" && originalUrl.endsWith(url);
  const prefix = isBelow ? originalUrl.slice(0, originalUrl.length - url.length) : "";
  return { target: url, basePath: prefix };
}
