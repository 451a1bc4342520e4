import { A2AError } from "./errors.ts";
import { OPERATIONS, type OperationName } from "./operations.ts";

/** The wire versions we speak. */
export type ProtocolVersion = "0.3" | "1.0";

/**
 * Reads an `A2A-Version`: Major.Minor counts, a patch never does, and of a list
 * the first (1.0 §3.6). `undefined` when none was sent.
 */
export function parseVersion(value: string | null | undefined): ProtocolVersion | undefined {
  const asked = value?.split(",")[0]?.trim();
  if (asked === undefined || asked === "") return undefined;
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.\d+)?$/.exec(asked) ?? [];
  if (major === "1" && minor === "0") return "1.0";
  if (major === "0" && Number(minor) >= 3) return "0.3";
  throw new A2AError("VersionNotSupported", `A2A-Version ${asked} is not one of 0.3, 1.0`, {
    details: { requested: asked, supported: "0.3, 1.0" },
  });
}

/** A JSON-RPC method as one version spells it. */
export interface Method {
  readonly operation: OperationName;
  readonly version: ProtocolVersion;
}

/** The two grammars are disjoint (`x/y` and PascalCase), so a method tells its own version. */
export function findMethod(name: string): Method | undefined {
  return METHODS.get(name);
}

const METHODS = new Map<string, Method>(
  (Object.keys(OPERATIONS) as OperationName[]).flatMap((operation) => [
    [OPERATIONS[operation].method, { operation, version: "1.0" }] as const,
    ...OPERATIONS[operation].methods03.map(
      (name) => [name, { operation, version: "0.3" }] as [string, Method],
    ),
  ]),
);
