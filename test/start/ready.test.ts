import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { textOf } from "@convoke/protocol";
import { describe, expect, test, vi } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Dialect } from "../wire/dialect.ts";
import { exchange } from "../wire/exchange.ts";
import { WireClient } from "../wire/wire-client.ts";
import { writeAgent } from "./agent-file.ts";
import { serveConvoke, startConvoke } from "./convoke-process.ts";
import { foldOf } from "./fold-of.ts";
import { holderOf } from "./holder-of.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const CARD = ".well-known/agent-card.json";
const GREETER = fileURLToPath(new URL("../../examples/greeter/agent.ts", import.meta.url));

/** The URLs on a card, in the format of either version. */
interface CardAddresses {
  readonly url: string;
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly protocolBinding: string;
  }[];
}

async function addressesIn(cardUrl: string): Promise<ReadonlySet<string>> {
  const card = (await (await fetch(cardUrl)).json()) as CardAddresses;
  // gRPC is called by host and port, the others by URL.
  const byUrl = card.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding !== "GRPC",
  );
  return new Set([card.url, ...byUrl.map(({ url }) => url)]);
}

describe("a server that is ready", () => {
  verifies(
    "R125",
    "prints what runs, where to look and what to type, with the actual port",
    async () => {
      const cwd = temporaryFolder();

      const { program, url, port } = await serveConvoke({ cwd });

      const base = `http://127.0.0.1:${port}`;
      expect(port).toBeGreaterThan(0);
      expect(program.stdout).toBe(
        `Running  Convoke Demo at ${base}, tasks in .convoke/convoke-demo (SQLite)
Look at  ${base}/console
Type     npx convoke stream ${base} "slow 20"
`,
      );
      expect(await addressesIn(`${url}${CARD}`)).toEqual(new Set([base]));
      expect(existsSync(join(cwd, ".convoke", "convoke-demo", "tasks.db"))).toBe(true);
    },
  );

  test("prints a command to type that works, and the address of a page that answers", async () => {
    const cwd = temporaryFolder();
    const { program } = await serveConvoke({ cwd });
    const [, page = "", line = ""] =
      /^Look at +(\S+)\nType +npx convoke (.*)/m.exec(program.stdout) ?? [];
    const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);

    const { code, stdout } = await startConvoke({ cwd, args: args.map(String) }).ended;
    const { status } = await fetch(page);

    expect(args[0]).toBe("stream");
    expect({ code, status }).toEqual({ code: 0, status: 200 });
    expect(stdout).toContain("18 19 20");
  });

  verifies("R125", "listens on port 3000 of this machine by default", async () => {
    const program = startConvoke({ cwd: temporaryFolder(), env: { PORT: "" } });

    const page = await program
      .until((stdout) => /^Look at .*\n/m.exec(stdout)?.[0])
      .catch(() => undefined);

    // Another program may use the port, and then the sentence names it.
    expect([
      "Look at  http://127.0.0.1:3000/console\n",
      "Port 3000 is in use. Try: npx convoke serve --port 3001\n",
    ]).toContain(page ?? (await program.ended).stderr);
  });

  verifies("R125", "listens on another address of this machine if configured", async () => {
    const env = { BIND_HOST: "localhost" };

    const { url, port } = await serveConvoke({ cwd: temporaryFolder(), env });

    expect(url).toBe(`http://localhost:${port}/`);
    expect(await addressesIn(`${url}${CARD}`)).toEqual(new Set([url.replace(/\/$/, "")]));
  });

  test("prefers flags to the environment for the port and the folder", async () => {
    const cwd = temporaryFolder();
    const env = { PORT: "1", CONVOKE_DATA: join(cwd, "from-env") };
    const args = ["serve", "--port", "0", "--data", "from-flag"];

    const { program } = await serveConvoke({ cwd, args, env });

    expect(program.stdout).toContain("from-flag (SQLite)");
    expect(existsSync(join(cwd, "from-flag", "tasks.db"))).toBe(true);
    expect(existsSync(join(cwd, "from-env"))).toBe(false);
  });

  test("uses its public URL on the card and in the commands to try", async () => {
    const cwd = temporaryFolder();
    const env = { PUBLIC_URL: "https://agents.example.com/demo/" };

    const { program } = await serveConvoke({ cwd, env });

    const { port } = holderOf(join(cwd, ".convoke", "convoke-demo"));
    expect(program.stdout).toContain(`Look at  https://agents.example.com/demo/${CARD}\n`);
    expect(program.stdout).toContain(
      'Type     npx convoke stream https://agents.example.com/demo "slow 20"\n',
    );
    expect(await addressesIn(`http://127.0.0.1:${port}/${CARD}`)).toEqual(
      new Set(["https://agents.example.com/demo"]),
    );
  });

  test("that listens on all addresses never prints that as a URL", async () => {
    const cwd = temporaryFolder();
    const env = { BIND_HOST: "0.0.0.0", CONVOKE_TOKEN: "secret" };

    const { program, url, port } = await serveConvoke({ cwd, env });

    const asked = [];
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `0.0.0.0:${port}`]) {
      const { text } = await exchange({ url: `${url}${CARD}`, headers: { host } });
      asked.push(text);
    }
    const [byAddress, byName, byNothing] = asked;
    expect(url).toBe(`http://127.0.0.1:${port}/`);
    expect(byAddress).toContain(`"http://127.0.0.1:${port}"`);
    expect(byName).toContain(`"http://localhost:${port}"`);
    expect(byNothing).toContain(`"http://127.0.0.1:${port}"`);
    expect(asked.join("")).not.toContain("0.0.0.0");
    expect(program.stdout).not.toContain("0.0.0.0");
    expect(program.stdout).toContain("Type     CONVOKE_TOKEN=… npx convoke stream ");
    expect(program.stdout).not.toContain("secret");
  });
});

describe("a file .env in the folder", () => {
  test("has settings and variables of the agent, and the existing environment takes precedence", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, ".env"), "PORT=1\nCONVOKE_DATA=from-file\nGREETING='Good day'\n");
    writeAgent(
      cwd,
      `export default defineAgent({
        name: "Env", description: "d", run: () => process.env["GREETING"] ?? "nothing" });`,
    );

    const server = await serveConvoke({ cwd, args: ["serve", "agent.mts"] });
    const dialect = DIALECTS[0] as Dialect;
    const stream = await new WireClient(server, dialect).stream("Ann");

    expect(textOf(foldOf(await stream.all, dialect))).toBe("Good day");
    expect(server.program.stdout).toContain("from-file (SQLite)");
  });
});

describe("the log", () => {
  const BROKEN = `export default defineAgent({
    name: "Broken", description: "d", run() { throw new Error("out of paper"); } });`;

  test.each([
    [{}, /^\{"time":.*out of paper/m],
    [{ CONVOKE_LOG_FORMAT: "pretty" }, /^\d\d:\d\d:\d\d ERROR .*\n {4}Error: out of paper$/m],
  ])("is JSON in a pipe unless CONVOKE_LOG_FORMAT says otherwise (%j)", async (env, line) => {
    const cwd = temporaryFolder();
    writeAgent(cwd, BROKEN);
    const server = await serveConvoke({ cwd, args: ["serve", "agent.mts"], env });
    const dialect = DIALECTS[0] as Dialect;

    await (
      await new WireClient(server, dialect).stream("Ann")
    ).all;

    await vi.waitFor(() => expect(server.program.stderr).toMatch(line), { timeout: 20_000 });
  });
});

describe("your own agent", () => {
  for (const dialect of DIALECTS) {
    test(`the greeter is served and streams (${dialect.version})`, async () => {
      const cwd = temporaryFolder();
      const server = await serveConvoke({ cwd, args: ["serve", GREETER] });

      const stream = await new WireClient(server, dialect).stream("Ann");

      const frames = await stream.all;
      const { status } = foldOf(frames, dialect);
      expect(server.program.stdout).toMatch(/^Running {2}Greeter at /);
      expect(server.program.stdout).toContain(
        `npx convoke stream http://127.0.0.1:${server.port} `,
      );
      expect(textOf(foldOf(frames, dialect))).toBe("Hello, Ann!");
      expect(status.state).toBe("completed");
    });
  }
});
