import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { say, scriptedModel } from "convoke/testing";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startExample } from "../../test/embedding/example.ts";
import { keptPort } from "../../test/harness/kept-port.ts";
import { verifies } from "../../test/verifies.ts";
import { mailroom } from "./agent.ts";
import type { Mail } from "./mail.ts";
import { TinyChat } from "./tiny-chat.ts";
import { signedHeaders } from "./webhook.ts";

/** A liveness bound on a slow machine, not a performance claim. */
const WITHIN_MS = 30_000;

const SECRET = "the secret of the chat";

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
});

verifies(
  ["G11", "R111"],
  "a button in a chat decides after kill -9, and webhooks that come again have no second effect",
  async () => {
    const chat = await aChat();
    const env = await settings(chat);
    const { program } = await startExample("human-in-the-loop/start.ts", env);
    expect(await chat.say("Tell ann@example.org that it is on its way.")).toBe(200);
    const repeated = { type: "message", id: "chat-1", text: chat.messages[0]!.text };
    expect(await chat.send(JSON.stringify(repeated))).toBe(200);
    await expect.poll(() => chat.messages.length, { timeout: WITHIN_MS }).toBe(2);
    expect(chat.messages[1]?.text).toContain("Send “News from the shop” to ann@example.org?");
    await program.kill("SIGKILL");

    await startExample("human-in-the-loop/start.ts", env);
    const { value } = chat.messages[1]!.buttons[0]!;
    const press = JSON.stringify({ type: "press", user: "lea", messageId: "2", value });
    const old = Date.now() - 10 * 60_000;
    expect(await chat.send(press, signedHeaders("another secret", press))).toBe(401);
    expect(await chat.send(press, signedHeaders(SECRET, press, old))).toBe(401);
    expect(await chat.press("2", "Approve", "tom")).toBe(403);
    expect(outbox()).toEqual([]);
    expect(await chat.send(press)).toBe(200);
    expect(await chat.send(press)).toBe(200);

    await expect.poll(() => chat.messages.length, { timeout: WITHIN_MS }).toBe(3);
    expect(chat.messages.map(({ text }) => text).slice(1)).toEqual([
      "Approved by lea.",
      "The mail to ann@example.org is on its way.",
    ]);
    expect(outbox()).toHaveLength(1);
  },
  4 * WITHIN_MS,
);

async function aChat(): Promise<TinyChat & { readonly url: string }> {
  const chat = new TinyChat({ file: join(folder, "chat.json"), token: "token", secret: SECRET });
  const url = await chat.open();
  onTestFinished(() => chat.close());
  return Object.assign(chat, { url });
}

/** For a mailroom and a bot that keep their place when they are restarted. */
async function settings(chat: TinyChat & { readonly url: string }) {
  const port = await keptPort();
  chat.webhookUrl = `http://127.0.0.1:${port}/chat`;
  return {
    CHAT_URL: chat.url,
    CHAT_TOKEN: "token",
    CHAT_SECRET: SECRET,
    BOT_PORT: String(port),
    DATA: join(folder, "data"),
    OUTBOX: join(folder, "outbox"),
  };
}

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
