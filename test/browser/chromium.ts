import { type Browser, chromium } from "playwright-core";

/** Time for a browser on a slow machine to load some hundred modules. */
export const WITHIN_MS = 60_000;
export const WAIT = { timeout: 20_000 };

const FLAGS = [
  "--no-sandbox",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-gpu",
];

/** Chromium with the settings for tests: also for root, and quiet. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: FLAGS });
}
