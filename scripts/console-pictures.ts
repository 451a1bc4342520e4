import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { userMessage } from "@convoke/protocol";
import { connect, serve } from "convoke";
import type { Browser, Page } from "playwright-core";
import analyst from "../examples/analyst/agent.ts";
import mailroom from "../examples/human-in-the-loop/agent.ts";
import { launchChromium } from "../test/browser/chromium.ts";
import { findProgram } from "../test/system-programs.ts";

/** Takes the pictures of the console in the documentation: `npm run docs:pictures`. */
const FOLDER = fileURLToPath(new URL("../docs/public/console/", import.meta.url));

const QUESTION = 'look_at_sales and then add_up_sales(by="region")';
const MAIL =
  'send_mail(to="ann@other.example", subject="Invoice 41", text="Hi Ann,\n\nhere it is.")';

interface Look {
  readonly name: string;
  readonly path: string;
  readonly scheme?: "light" | "dark";
  readonly isPhone?: boolean;
  /** What to do before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
}

const program = findProgram("chromium");
if (program === undefined) throw new Error("The pictures need Chromium; see CONTRIBUTING.md.");
await mkdir(FOLDER, { recursive: true });
await using server = await serve([mailroom, analyst], { port: 0, data: "memory" });
const browser = await launchChromium(program);
try {
  for (const look of await prepare()) await take(browser, look);
} finally {
  await browser.close();
}

/** Lets the agents work, and returns what to look at. */
async function prepare(): Promise<readonly Look[]> {
  const mail = await connect(`${server.url}agents/mailroom`);
  const numbers = await connect(`${server.url}agents/analyst`);
  const { task: totals } = await numbers.send(QUESTION);
  const { task: sent } = await mail.send(MAIL);
  await mail.send({
    ...userMessage(crypto.randomUUID(), "approve"),
    taskId: sent!.id,
    contextId: sent!.contextId,
  });
  const { task: waiting } = await mail.send(MAIL.replace("41", "42"));
  const chat = (id: string, contextId: string): string => `/chat/${id}/${contextId}`;
  return [
    { name: "home", path: "/" },
    { name: "chat", path: chat("analyst", totals!.contextId), act: openArtifact },
    { name: "chat-dark", path: chat("mailroom", waiting!.contextId), scheme: "dark" },
    { name: "story", path: `/tasks/${sent!.id}` },
    { name: "timeline", path: `/tasks/${sent!.id}/timeline`, scheme: "dark" },
    { name: "wire", path: `/tasks/${sent!.id}/wire` },
    { name: "approvals-phone", path: "/approvals", isPhone: true },
    { name: "story-phone", path: `/tasks/${sent!.id}`, isPhone: true, scheme: "dark" },
  ];
}

async function openArtifact(page: Page): Promise<void> {
  const artifact = page.getByRole("button", { name: /sales-by-region/ }).first();
  if ((await artifact.count()) > 0) await artifact.click();
}

async function take(browser: Browser, { name, path, scheme, isPhone, act }: Look): Promise<void> {
  const page = await browser.newPage({
    viewport: isPhone === true ? { width: 390, height: 780 } : { width: 1280, height: 800 },
    colorScheme: scheme ?? "light",
    reducedMotion: "reduce",
  });
  await page.goto(`${server.url}console${path}`);
  await page.locator('[data-connection="open"] [data-status="ready"]').first().waitFor();
  await act?.(page);
  // What is loaded after the page, such as the colours of code.
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
  await page.close();
  console.log(`${name}.png`);
}
