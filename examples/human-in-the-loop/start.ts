import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { serve } from "convoke";
import { mailroom } from "./agent.ts";
import { createBot } from "./bot.ts";
import { mailStandIn } from "./stand-in.ts";
import { TinyChat } from "./tiny-chat.ts";

const data = process.env["DATA"] ?? join(".convoke", "mailroom");
const port = Number(process.env["PORT"] ?? 3000);
const botPort = Number(process.env["BOT_PORT"] ?? 4301);
const botUrl = `http://127.0.0.1:${botPort}`;
/** Secrets come from the environment; these are for trying it on one machine. */
const secret = (name: string): string => process.env[name] ?? `${name}-for-trying`;

process.env["OUTBOX"] ??= join(data, "outbox");
const agentToken = secret("AGENT_TOKEN");
const pushSecret = secret("PUSH_SECRET");
const server = await serve(mailroom(process.env["MODEL"] ?? mailStandIn), {
  port,
  data,
  token: agentToken,
  // The agent posts to no private address except that of the bot.
  push: { allow: [`127.0.0.1:${botPort}`], secret: pushSecret },
});

const chat = { token: secret("CHAT_TOKEN"), secret: secret("CHAT_SECRET") };
const chatUrl = process.env["CHAT_URL"] ?? (await openChat());
const bot = await createBot({
  botUrl,
  agent: { url: server.url, token: agentToken, pushSecret },
  chat: { url: chatUrl, ...chat },
  approvers: ["lea"],
});
await new Promise<void>((resolve) => bot.listen(botPort, "127.0.0.1", resolve));
console.log(`The mailroom is at ${server.url} and its chat at ${chatUrl}`);

/** The chat is another company's service. It is here so that the example needs one command. */
async function openChat(): Promise<string> {
  mkdirSync(data, { recursive: true });
  const service = new TinyChat({ file: join(data, "chat.json"), ...chat });
  service.webhookUrl = `${botUrl}/chat`;
  service.onMessage = ({ id, text, buttons }) =>
    console.log([`[${id}] ${text}`, ...buttons.map(({ label }) => `(${label})`)].join("\n"));
  return service.open(Number(process.env["CHAT_PORT"] ?? 4300));
}
