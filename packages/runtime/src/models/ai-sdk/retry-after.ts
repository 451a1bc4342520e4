import { isRecord } from "./error-facts.ts";

/** When the provider says that another attempt may work, in milliseconds from now. */
export function retryAfterOf(error: unknown, now = Date.now()): number | undefined {
  if (!isRecord(error)) return undefined;
  const headers = isRecord(error["responseHeaders"]) ? error["responseHeaders"] : {};
  const milliseconds = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  return fromHeader(headers["retry-after"], now) ?? fromGoogle(error["data"]);
}

/** Seconds, or a date. */
function fromHeader(value: unknown, now: number): number | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const seconds = Number(value);
  if (seconds >= 0) return seconds * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Google says it in the body: `{ "retryDelay": "34s" }` among the details. */
function fromGoogle(data: unknown): number | undefined {
  const error = isRecord(data) && isRecord(data["error"]) ? data["error"] : data;
  const details = isRecord(error) ? error["details"] : undefined;
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly unknown[]) {
    const delay = isRecord(detail) ? detail["retryDelay"] : undefined;
    const [, seconds] = /^([\d.]+)s$/.exec(String(delay)) ?? [];
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return undefined;
}
