import { METRICS } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent, serve } from "convoke";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { rpc, send } from "./a-measured-server.ts";

/** Labels that Prometheus adds to what it reads. */
const OF_PROMETHEUS = ["job", "instance"];

/** What a server reports only when another one is gone. */
const NEEDS_A_CRASH: readonly string[] = [
  METRICS.tasksClaimed.name,
  METRICS.tasksWaitingForHost.name,
];

describe("a server under load has every metric, with every label,", () => {
  const address = needsPostgres();
  let loaded: Promise<string> | undefined;
  const exported = async (): Promise<Exported> =>
    labelsByMetric(await (loaded ??= address().then(metricsUnderLoad)));

  test("of the Grafana dashboard", async () => {
    const dashboard = readDeploy("grafana/convoke.json");

    const queries = [...dashboard.matchAll(/"(?:expr|definition)": ("(?:[^"\\]|\\.)*")/g)].map(
      ([, text = ""]) => JSON.parse(text) as string,
    );

    expect(queries.length).toBeGreaterThan(25);
    expect(unknownNames(queries, await exported())).toEqual([]);
  });

  test("of the alert rules", async () => {
    const rules = readDeploy("prometheus/convoke-alerts.yaml");

    const queries = Array.from(rules.matchAll(/^ +expr: (.+)$/gm), ([, query = ""]) => query);

    expect(queries.length).toBe(rules.split("- alert:").length - 1);
    expect(unknownNames(queries, await exported())).toEqual([]);
  });
});

/** The labels of each metric. */
type Exported = ReadonlyMap<string, ReadonlySet<string>>;

/** The metrics of queries that are not exported, and the labels that they do not have. */
function unknownNames(queries: readonly string[], exported: Exported): readonly string[] {
  return queries.flatMap((query) => {
    const names = query.match(/\b(?:convoke|process|nodejs)_\w+/g) ?? [];
    const labels = labelsIn(query).filter((label) => !OF_PROMETHEUS.includes(label));
    return names.flatMap((name) => {
      const known = exported.get(name);
      if (known === undefined) return [`${name} in ${query}`];
      return labels
        .filter((label) => !known.has(label))
        .map((label) => `${label} of ${name} in ${query}`);
    });
  });
}

function labelsIn(query: string): readonly string[] {
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(/, */),
  );
  const matched = Array.from(query.matchAll(/[{,] *(\w+)(?:=~?|!=|!~)"/g), ([, name = ""]) => name);
  return [...grouped, ...matched];
}

/** The metrics of a server on a database that has served every kind of request that they count. */
async function metricsUnderLoad(database: string): Promise<string> {
  const answers = Array.from({ length: 20 }, () => "Hello.");
  const agent = defineAgent({
    name: "Busy",
    description: "Has much to do.",
    model: scriptedModel([{ kind: "error", status: 500 }, ...answers], {
      price: { inputPerMillion: 1, outputPerMillion: 2 },
    }),
    retry: { firstWaitMs: 1 },
  });
  await using server = await serve(agent, {
    port: 0,
    database,
    logger: memoryLogger(),
    metrics: true,
    push: { allow: ["127.0.0.1:9"] },
    rateLimits: { stream: { limit: 1, windowMs: 3_600_000 } },
  });
  const { url } = server;
  await Promise.all(Array.from({ length: 10 }, () => send(url, "go")));
  // The second one is above the limit.
  for (const message of [aMessage(), aMessage()]) {
    await (await rpc(url, "SendStreamingMessage", { message })).text();
  }
  // A private address is refused, and nothing listens at the other one.
  for (const receiver of ["http://10.0.0.7/hook", "http://127.0.0.1:9/hook"]) {
    const taskPushNotificationConfig = { url: receiver };
    await rpc(url, "SendMessage", {
      message: aMessage(),
      configuration: { taskPushNotificationConfig },
    });
  }
  const read = async (): Promise<string> => (await fetch(`${url}metrics`)).text();
  await expect.poll(read, { timeout: 20_000 }).toContain("convoke_push_deliveries_total{");
  return await read();
}

function aMessage(): object {
  return { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }] };
}

/** The label names of every sample in the text format of Prometheus. */
function labelsByMetric(text: string): Exported {
  const found = new Map<string, Set<string>>();
  for (const { name, labels = [] } of Object.values(METRICS) as readonly Definition[]) {
    if (NEEDS_A_CRASH.includes(name)) found.set(name, new Set(labels));
  }
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const names = found.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) names.add(label);
    found.set(name, names);
  }
  return found;
}

interface Definition {
  readonly name: string;
  readonly labels?: readonly string[];
}

function readDeploy(file: string): string {
  return readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
}
