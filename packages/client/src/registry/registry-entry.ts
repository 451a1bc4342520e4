import type { AgentHealth, CallCounts, RegisteredSkill, RegistryEntry } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";

/**
 * Reads an entry of a registry. The server may be of another version, and its texts come from
 * strangers, so fields of another type count as absent. Returns `undefined` if it has no id or URL.
 */
export function parseRegistryEntry(value: unknown): RegistryEntry | undefined {
  if (!isObject(value)) return undefined;
  const { id, url, openTasks } = value;
  if (typeof id !== "string" || typeof url !== "string") return undefined;
  return {
    id,
    url,
    cardUrl: textOf(value["cardUrl"]),
    name: textOf(value["name"]) || url,
    description: textOf(value["description"]),
    tags: textsOf(value["tags"]),
    skills: listOf(value["skills"]).flatMap(parseSkill),
    registeredAt: textOf(value["registeredAt"]),
    heartbeatAt: timeOf(value["heartbeatAt"]) ?? new Date(0).toISOString(),
    state: value["state"] === "active" ? "active" : "inactive",
    ...(typeof openTasks === "number" && { openTasks: countOf(openTasks) }),
    health: parseHealth(value["health"]),
    calls: parseCalls(value["calls"]),
  };
}

function parseSkill(value: unknown): readonly RegisteredSkill[] {
  if (!isObject(value) || typeof value["id"] !== "string") return [];
  const { id, name, description, tags } = value;
  return [{ id, name: textOf(name) || id, description: textOf(description), tags: textsOf(tags) }];
}

function parseHealth(value: unknown): AgentHealth {
  const health = isObject(value) ? value : {};
  const { state, latencyMs, problem } = health;
  const checks = countOf(health["checks"]);
  const checkedAt = timeOf(health["checkedAt"]);
  const lastSeenAt = timeOf(health["lastSeenAt"]);
  return {
    state: state === "up" || state === "down" ? state : "unknown",
    checks,
    answered: Math.min(checks, countOf(health["answered"])),
    failures: countOf(health["failures"]),
    ...(checkedAt !== undefined && { checkedAt }),
    ...(lastSeenAt !== undefined && { lastSeenAt }),
    ...(typeof latencyMs === "number" && { latencyMs }),
    ...(typeof problem === "string" && { problem }),
  };
}

function parseCalls(value: unknown): CallCounts {
  const calls = isObject(value) ? value : {};
  return { succeeded: countOf(calls["succeeded"]), failed: countOf(calls["failed"]) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((one) => typeof one === "string");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function timeOf(value: unknown): string | undefined {
  return typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.max(0, value) : 0;
}
