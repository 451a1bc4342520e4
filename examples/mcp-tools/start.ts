import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { serve } from "convoke";
import { releaseClerk } from "./agent.ts";
import { clerkStandIn } from "./stand-in.ts";
import { Tracker } from "./tracker.ts";

// The tracker is another company's service. It is here so that the example needs one command.
const token = (process.env["TRACKER_TOKEN"] ??= randomUUID());
const tracker = new Tracker(token);
const agent = releaseClerk(process.env["MODEL"] ?? clerkStandIn, await tracker.open());

const server = await serve(agent, {
  port: Number(process.env["PORT"] ?? 3000),
  data: process.env["DATA"] ?? join(".convoke", "release-clerk"),
});

console.log(`The release clerk is at ${server.url}`);

/** Closing the server also ends the program that it started. */
async function stop(): Promise<void> {
  await server.close();
  tracker.close();
  process.exit();
}

process.once("SIGINT", () => void stop());
process.once("SIGTERM", () => void stop());
