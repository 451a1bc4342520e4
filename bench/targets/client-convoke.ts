import { connect } from "@convoke/client";
import { type MeasuredClient, reportClient } from "./client-job.ts";
import { orderText } from "./order.ts";

/**
 * The full client: egress policy, retries, validation, resumption, and the task built from the
 * events.
 */
reportClient(async (url, version): Promise<MeasuredClient> => {
  const remote = await connect(url, { version, bindings: ["jsonrpc"] });
  return {
    send: async (order) => (await remote.send(orderText(order))).text,
    async stream(order) {
      let text = "";
      for await (const event of remote.stream(orderText(order))) {
        const part = event.kind === "artifact-update" ? event.artifact.parts[0] : undefined;
        if (part?.kind === "text") text += part.text;
      }
      return text;
    },
  };
});
