import { readFileSync } from "node:fs";
import { defineAgent, serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";

/** Reads the file that it gets, if there is one, and returns the peak memory of its process in bytes. */
const keeper = defineAgent({
  name: "Keeper",
  description: "Keeps files.",
  inputModes: ["*/*"],
  async *run({ message, files }) {
    const part = message.parts.find(({ kind }) => kind === "file");
    if (part?.kind === "file") for await (const _ of files!.stream(part));
    yield String(peakMemory());
  },
});

/** On Linux `resourceUsage` has the peak of the parent process too, if that is higher. */
function peakMemory(): number {
  const { maxRSS } = process.resourceUsage();
  if (process.platform !== "linux") return maxRSS * 1024;
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))!;
  return Number(kilobytes) * 1024;
}

const { CONVOKE_DATA: data = "" } = process.env;
const limits = { bodyBytes: 100_000_000 };
const { url } = await serve(keeper, { port: 0, data, limits, files: { inlineBytes: 100_000_000 } });
reportReady(url);
