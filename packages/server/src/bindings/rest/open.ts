import type { ProtocolVersion } from "@convoke/protocol";
import type { HttpRequest } from "../../http/exchange.ts";
import { ROUTES, type Route } from "./routes.ts";

/** A request to a path of this binding. */
export interface OpenedRest {
  readonly request: HttpRequest;
  readonly version: ProtocolVersion;
  /** Absent when the path takes other methods only. */
  readonly route: Route | undefined;
  readonly methods: readonly string[];
  /** What the path names, as it was written. */
  readonly written: Readonly<Record<string, string | undefined>>;
}

/** A path, and all that can be done there. */
interface Place {
  readonly version: ProtocolVersion;
  readonly pattern: RegExp;
  readonly routes: readonly Route[];
}

/** The request at its route; nothing where this binding has no such path. */
export function openRest(request: HttpRequest): OpenedRest | undefined {
  for (const { version, pattern, routes } of PLACES) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    return {
      request,
      version,
      route: routes.find(({ methods }) => (methods as readonly string[]).includes(request.method)),
      methods: routes.flatMap(({ methods }) => methods),
      written: { ...match.groups },
    };
  }
  return undefined;
}

/** A tenant `v1` could not be told from the paths of 0.3, so there is none. */
const TENANT = "/(?<tenant>(?!v1/)[^/]+)";

/** 0.3 before 1.0, and without a tenant before with one. */
const PLACES: readonly Place[] = [
  ...placesOf("0.3", ""),
  ...placesOf("1.0", ""),
  ...placesOf("1.0", TENANT),
];

function placesOf(version: ProtocolVersion, prefix: string): readonly Place[] {
  const byPath = Map.groupBy(ROUTES, ({ paths }) => paths[version]);
  return [...byPath].map(([path, routes]) => ({
    version,
    pattern: new RegExp(`^${prefix}${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
    routes,
  }));
}
