import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Task, connect, serve } from "convoke";
import { scriptedModel } from "convoke/testing";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startExample } from "../../test/embedding/example.ts";
import { succeed } from "../../test/harness/program.ts";
import { verifies } from "../../test/verifies.ts";
import { planner } from "./agent.ts";
import flights from "./flights.ts";
import { hotels } from "./hotels.ts";

const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

const STAY = { city: "Rome", nights: 2 };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "convoke-trip-"));
  vi.stubEnv("RESERVATIONS", join(folder, "reservations"));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("the trip planner", () => {
  verifies(
    ["R62", "R64", "R66"],
    "calls two agents in parallel and then the third, and reports before and after each call",
    async () => {
      const { remote } = await aTrip();

      const { task } = await remote.send("Two nights in Rome, please.");

      expect(saidIn(task!)).toEqual(
        expect.arrayContaining([
          "Invoking flights…",
          "Received the result of flights.",
          "Invoking outlook…",
          "Received the result of outlook.",
          "Invoking hotels…",
        ]),
      );
      const named = task?.history?.flatMap(({ referenceTaskIds = [] }) => referenceTaskIds);
      expect(new Set(named).size).toBe(3);
    },
  );

  test("requests the approval that the hotels agent needs, and books once", async () => {
    const { remote, model } = await aTrip();
    const { text, task } = await remote.send("Two nights in Rome, please.");
    expect(task?.status.state).toBe("input-required");
    expect(text).toContain("Approve for hotels: Book 2 nights in Rome for 190 EUR?");
    expect(reservations()).toEqual([]);

    const done = await remote.send("approve", { taskId: task!.id });

    expect(done.task?.status.state).toBe("completed");
    expect(done.text).toContain("Your trip is planned.");
    expect(reservations()).toEqual([STAY]);
    const told = JSON.stringify(model.requests.at(-1)?.transcript);
    expect(told).toContain("The next flight to Rome leaves at 09:15.");
    expect(told).toContain("Rome: sun, 24 °C.");
    expect(told).toContain("Booked.");
  });

  test("books nothing if the approval was rejected", async () => {
    const { remote } = await aTrip();
    const { task } = await remote.send("Two nights in Rome, please.");

    const done = await remote.send("reject: too dear", { taskId: task!.id });

    expect(done.task?.status.state).toBe("completed");
    expect(reservations()).toEqual([]);
  });

  test("passes on the question of an agent that does not know the destination", async () => {
    const { remote } = await aTrip("to the sea");

    const { text, task } = await remote.send("Somewhere, please.");

    expect(text).toContain("flights asks: Where to? (Lisbon / Oslo / Rome)");
    const { text: next } = await remote.send("Lisbon", { taskId: task!.id });
    expect(next).toContain("Approve for hotels");
  });

  test("can be tried without a key, at a terminal", async () => {
    const env = { RESERVATIONS: join(folder, "reservations") };
    const { program, url } = await startExample("orchestrator/start.ts", env);
    const cli = (...words: readonly string[]): Promise<string> =>
      succeed(process.execPath, [CONVOKE, ...words], { cwd: folder });

    await expect(cli("send", url, order())).rejects.toThrow("Approve for hotels");
    const { approvals } = JSON.parse(await cli("approvals", "list", url, "--json")) as {
      readonly approvals: readonly { readonly id: string }[];
    };
    await cli("approvals", "answer", url, approvals[0]!.id, "--approve");

    await expect.poll(reservations, { timeout: 10_000 }).toEqual([STAY]);
    const { code } = await program.kill("SIGTERM");
    expect(code).toBe(0);
  }, 60_000);
});

/** The three agents, unchanged except that their models follow a script. */
async function aTrip(goal = "to Rome") {
  const options = { port: 0, data: "memory" } as const;
  const booking = scriptedModel([{ kind: "tool-call", toolName: "book", input: STAY }, "Booked."]);
  const model = scriptedModel([
    [
      { kind: "tool-call", toolName: "flights", input: { message: goal } },
      { kind: "tool-call", toolName: "outlook", input: { message: goal } },
    ],
    { kind: "tool-call", toolName: "hotels", input: { message: "two nights in Rome" } },
    "Your trip is planned.",
  ]);
  const [flying, sleeping] = await Promise.all([
    serve(flights, options),
    serve(hotels(booking), options),
  ]);
  const addresses = { flights: flying.url, hotels: sleeping.url };
  const planning = await serve(planner(model, addresses), options);
  onTestFinished(async () => {
    await planning.close();
    await Promise.all([flying.close(), sleeping.close()]);
  });
  return { remote: await connect(planning.url), model };
}

function saidIn({ history = [] }: Task): readonly string[] {
  return history
    .filter(({ role }) => role === "agent")
    .map(({ parts }) => parts.map((part) => (part.kind === "text" ? part.text : "")).join(""));
}

/** The message that the README tells you to send. */
function order(): string {
  const readme = readFileSync(new URL("./README.md", import.meta.url), "utf8");
  return /convoke send \S+ '(.+)'/.exec(readme)![1]!;
}

function reservations(): readonly unknown[] {
  try {
    const path = join(folder, "reservations");
    return readdirSync(path).map((name) => JSON.parse(readFileSync(join(path, name), "utf8")));
  } catch {
    return [];
  }
}
