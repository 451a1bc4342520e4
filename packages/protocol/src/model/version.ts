import { A2AError } from "./errors.ts";

/** The wire versions that this package supports. */
export type ProtocolVersion = "0.3" | "1.0";

/**
 * Parses an `A2A-Version` header. Only Major.Minor counts, and of a list only the first entry
 * (1.0 §3.6). Returns `undefined` if none was sent.
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
