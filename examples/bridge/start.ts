import { join } from "node:path";
import { openBridge } from "./bridge.ts";
import { askWithNewClient, startNewAgent } from "./new-world.ts";
import { askWithOldClient, startOldAgent } from "./old-world.ts";

const [archive, forecast] = await Promise.all([startOldAgent(), startNewAgent()]);
const bridge = await openBridge([archive, forecast], {
  port: 0,
  data: process.env["DATA"] ?? join(".convoke", "bridge"),
});
const at = (id: string): string => new URL(`/agents/${id}/`, bridge.url).href;
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

console.log("Directly:");
console.log(
  `  0.3 client, 1.0 agent: ${await askWithOldClient(forecast.url, "Winter?").catch(reason)}`,
);
console.log(
  `  1.0 client, 0.3 agent: ${String(await askWithNewClient(archive.url, "Winter?").catch(reason))}`,
);

console.log("Over the bridge:");
console.log(`  0.3 client, 1.0 agent: ${await askWithOldClient(at("forecast"), "Winter?")}`);
const said = await askWithNewClient(at("archive"), "How was the winter?", "That of 1963.");
console.log(`  1.0 client, 0.3 agent: ${said.join(" – 1963 – ")}`);

await bridge.close();
archive.close();
forecast.close();
