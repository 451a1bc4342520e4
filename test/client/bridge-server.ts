import { connect } from "@convoke/client";
import { serve } from "convoke";
import { reportReady } from "../harness/report-ready.ts";

// A process that serves an agent of another process, under its own name and with its own store.

const { CONVOKE_INNER = "", CONVOKE_VERSION, CONVOKE_DATA = "", CONVOKE_PUBLIC = "" } = process.env;

const remote = await connect(CONVOKE_INNER, { version: CONVOKE_VERSION === "0.3" ? "0.3" : "1.0" });
const server = await serve(remote, { port: 0, data: CONVOKE_DATA, publicUrl: CONVOKE_PUBLIC });
reportReady(`http://127.0.0.1:${server.port}/`);
