import { ClientError, timeoutSignal } from "@convoke/protocol";
import type { AgentHttp } from "../auth/agent-http.ts";
import { readText } from "@convoke/egress/http";
import type { FetchDocument } from "./document.ts";

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

/** Cards are ready to be read; who takes longer is not there. */
const TIMEOUT_MS = 30_000;

/** Gets documents as the agent's caller. */
export function documentsBy(http: AgentHttp, timeoutMs: number = TIMEOUT_MS): FetchDocument {
  return async (url, headers, signal) => {
    const timeout = timeoutSignal(timeoutMs);
    const both = AbortSignal.any([signal, timeout]);
    try {
      const answer = await http.request({
        url,
        headers: { Accept: "application/json", ...headers },
        signal: both,
      });
      const text = await readText(answer, both, MAX_BYTES);
      const { status, statusText } = answer;
      return { status, statusText, headers: answer.headers, text, url: answer.url };
    } catch (error) {
      if (!timeout.aborted || signal.aborted) throw error;
      throw new ClientError("unreachable", `${url} did not answer within ${timeoutMs} ms`);
    }
  };
}
