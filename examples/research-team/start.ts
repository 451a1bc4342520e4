// First, so that the servers below are traced.
import { drawTrace, startQuestion } from "./tracing.ts";
import { join } from "node:path";
import { connect, serve, textOf } from "convoke";
import { planner } from "./agent.ts";
import { market, papers, press } from "./researchers.ts";
import { plannerStandIn } from "./stand-in.ts";

const [question = "Are heat pumps worth it?"] = process.argv.slice(2);
const data = process.env["DATA"] ?? join(".convoke", "research");

// Papers and market are servers of their own, as if they belonged to other companies.
const [papersServer, marketServer] = await Promise.all([
  serve(papers, { port: 0, data: join(data, "papers") }),
  serve(market, { port: 0, data: join(data, "market") }),
]);
const team = { papers: papersServer.url, market: marketServer.url, press };
const server = await serve(planner(process.env["MODEL"] ?? plannerStandIn, team), {
  port: 0,
  data: join(data, "planner"),
});

const remote = await connect(server.url);
const span = startQuestion();
const run = remote.stream(question, { trace: span.spanContext() });
for await (const event of run) {
  if (event.kind === "status-update" && event.status.message) {
    console.log(textOf(event.status.message));
  }
}
const { task } = await run.result;
span.end();
const [report] = task?.artifacts?.find(({ name }) => name === "report.md")?.parts ?? [];
console.log(report?.kind === "text" ? `\n${report.text}` : "There is no report.");

await server.close();
await Promise.all([papersServer.close(), marketServer.close()]);
console.log(drawTrace(span));
process.exit(report === undefined ? 1 : 0);
