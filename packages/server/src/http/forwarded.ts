import { type HttpRequest, header } from "./exchange.ts";

/** How a caller reached the proxy in front of us. */
export interface Reached {
  readonly protocol: "http" | "https";
  readonly host: string;
}

/**
 * What a trusted proxy says of the request: `Forwarded` (RFC 7239), or the older
 * `X-Forwarded-Proto` and `X-Forwarded-Host`. Of several proxies the first one
 * was reached by the caller.
 */
export function forwardedOf(request: HttpRequest): Partial<Reached> {
  const standard = header(request, "forwarded")?.split(",")[0];
  const fields = new Map(
    (standard ?? "").split(";").map((pair) => {
      const [name = "", value = ""] = pair.split("=");
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")] as const;
    }),
  );
  const protocol = fields.get("proto") ?? first(header(request, "x-forwarded-proto"));
  const host = fields.get("host") ?? first(header(request, "x-forwarded-host"));
  return {
    ...((protocol === "http" || protocol === "https") && { protocol }),
    ...(host !== undefined && /^[\w.[\]:-]+$/.test(host) && { host }),
  };
}

function first(value: string | undefined): string | undefined {
  return value?.split(",")[0]?.trim().toLowerCase() || undefined;
}
