import { serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";
import { talker } from "./talker.ts";

// The talker in its own process, with its tasks on disk.

const { CONVOKE_DATA = "", CONVOKE_PUBLIC = "" } = process.env;
const server = await serve(talker, { port: 0, data: CONVOKE_DATA, publicUrl: CONVOKE_PUBLIC });
process.on("SIGTERM", () => void server.close().then(() => process.exit()));
reportReady(`http://127.0.0.1:${server.port}/`);
