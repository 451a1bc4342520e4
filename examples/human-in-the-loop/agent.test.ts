import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { say, scriptedModel } from "convoke/testing";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Program, start, succeed } from "../../test/harness/program.ts";
import { verifies } from "../../test/verifies.ts";
import { mailroom } from "./agent.ts";
import type { Mail } from "./mail.ts";

const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

const MAIL: Mail = { to: "ann@example.org", subject: "Your order", text: "It is on its way." };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "convoke-mailroom-"));
  vi.stubEnv("OUTBOX", join(folder, "outbox"));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("the mailroom", () => {
  test("asks before a mail leaves the company, and sends what was approved", async () => {
    const asked = await say(mailroom(sending(MAIL, "Sent.")), "Tell Ann.");
    expect(asked.task?.status.state).toBe("input-required");
    expect(asked.text).toContain("Send “Your order” to ann@example.org");
    expect(outbox()).toEqual([]);

    const { text } = await say(mailroom(sending(MAIL, "Sent.")), "Tell Ann.", {
      answers: ["approve"],
    });

    expect(text).toBe("Sent.");
    expect(outbox()).toEqual([MAIL]);
  });

  test("does not ask for mail to a colleague", async () => {
    const mail = { ...MAIL, to: "bob@shop.example" };

    const { text } = await say(mailroom(sending(mail, "Sent.")), "Tell Bob.");

    expect(text).toBe("Sent.");
    expect(outbox()).toEqual([mail]);
  });

  test("sends nothing that was rejected, and receives the feedback", async () => {
    const model = sending(MAIL, "As you wish.");

    const { task } = await say(mailroom(model), "Tell Ann.", {
      answers: ["reject: too late for that"],
    });

    expect(task?.status.state).toBe("completed");
    expect(outbox()).toEqual([]);
    expect(JSON.stringify(model.requests[1]?.transcript)).toContain("too late for that");
  });

  test("treats any other text as a new message, and sends nothing", async () => {
    const model = sending(MAIL, "The weather is fine.");

    await say(mailroom(model), "Tell Ann.", { answers: ["How is the weather?"] });

    expect(outbox()).toEqual([]);
    expect(JSON.stringify(model.requests[1]?.transcript)).toContain("How is the weather?");
  });

  verifies(
    ["G11", "R111"],
    "waits through kill -9 for a person at a terminal, who approves an edited text",
    async () => {
      const first = await serve();
      const said = `send_mail(to="${MAIL.to}", subject="${MAIL.subject}", text="${MAIL.text}")`;
      await first.cli("send", first.url, said, "--json").catch(() => undefined);
      await first.program.kill("SIGKILL");

      const second = await serve();
      const { approvals } = JSON.parse(
        await second.cli("approvals", "list", second.url, "--json"),
      ) as { readonly approvals: readonly { readonly id: string; readonly arguments: Mail }[] };
      expect(approvals.map((approval) => approval.arguments)).toEqual([MAIL]);
      const edited = { ...MAIL, text: "It arrives tomorrow." };
      const edit = ["--edit", JSON.stringify(edited)];
      await second.cli("approvals", "answer", second.url, approvals[0]!.id, ...edit);

      await expect.poll(outbox, { timeout: 10_000 }).toEqual([edited]);
    },
    120_000,
  );
});

/** A model that sends a mail and then answers with a text. */
function sending(mail: Mail, answer: string) {
  return scriptedModel([{ kind: "tool-call", toolName: "send_mail", input: mail }, answer]);
}

function outbox(): readonly Mail[] {
  try {
    const path = join(folder, "outbox");
    return readdirSync(path).map(
      (name) => JSON.parse(readFileSync(join(path, name), "utf8")) as Mail,
    );
  } catch {
    return [];
  }
}

interface Served {
  readonly program: Program;
  readonly url: string;
  /** Runs the command and returns its output. */
  readonly cli: (...words: readonly string[]) => Promise<string>;
}

/** `convoke serve agent.ts` with the demo model, as a person starts it. */
async function serve(): Promise<Served> {
  const file = fileURLToPath(new URL("./agent.ts", import.meta.url));
  const args = [CONVOKE, "serve", file, "--port", "0", "--data", join(folder, "data")];
  const env = { OUTBOX: join(folder, "outbox") };
  const program = start(process.execPath, args, { cwd: folder, env });
  const url = await program.until((stdout) => /http:\/\/[\d.]+:\d+/.exec(stdout)?.[0]);
  const cli = (...words: readonly string[]): Promise<string> =>
    succeed(process.execPath, [CONVOKE, ...words], { cwd: folder });
  return { program, url, cli };
}
