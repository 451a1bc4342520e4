import { defineAgent } from "@convoke/runtime";
import { serveAgent } from "../harness/serve-agent.ts";
import { worker } from "./jobs.ts";

const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";

await serveAgent(defineAgent(worker(receiverUrl, process.env["CONVOKE_RESTART"] === "yes")));
