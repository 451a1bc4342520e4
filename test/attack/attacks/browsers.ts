import { type AttackFamily, fellIf } from "../attack.ts";
import type { Target } from "../target.ts";
import { annOf, mainInterface } from "../wire/a2a.ts";
import { exchange, rawRequest, statusesIn } from "../wire/raw.ts";

const EVIL = "evil.example";

function call({ version }: { readonly version: string }): string {
  const method = version === "1.0" ? "GetTask" : "tasks/get";
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { id: "x" } });
}

/** A call with valid credentials, as a page of another site could send it through a browser of a user. */
async function fromPage(
  target: Target,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const at = mainInterface(target);
  const all = {
    ...annOf(target),
    "content-type": "application/json",
    "a2a-version": at.version,
    connection: "close",
    ...headers,
  };
  const line = `POST ${new URL(at.url).pathname}`;
  return exchange(at.url, rawRequest(line, at.url, { headers: all, body: call(at) }));
}

/** The value of a response header. */
function headerIn(received: string, name: string): string | undefined {
  return new RegExp(`^${name}: *(.*?)\r?$`, "im").exec(received)?.[1];
}

export const BROWSERS: AttackFamily = {
  title: "Browsers",
  attacks: [
    {
      id: "browser-rebinding",
      sentence:
        "Reach a local server from a page whose name resolves to this machine (DNS rebinding).",
      run: async (target) => {
        const { port } = new URL(target.url);
        for (const host of [
          EVIL,
          `${EVIL}:${port}`,
          `localhost.${EVIL}`,
          `127.0.0.1.${EVIL}`,
          "",
        ]) {
          const received = await fromPage(target, { host });
          const [status = 400] = statusesIn(received);
          fellIf(status < 400, `host ${JSON.stringify(host)} was answered with ${status}`);
        }
      },
    },
    {
      id: "browser-origin",
      sentence: "Call from a page of another site.",
      run: async (target) => {
        for (const origin of [`https://${EVIL}`, "null", `http://localhost.${EVIL}`, "file://"]) {
          const [status = 400] = statusesIn(await fromPage(target, { origin }));
          fellIf(status < 400, `a page of ${origin} was answered with ${status}`);
        }
      },
    },
    {
      id: "browser-no-origin",
      sentence: "Call from a page of another site without an Origin header.",
      run: async (target) => {
        const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
        const [status = 400] = statusesIn(await fromPage(target, headers));
        fellIf(status < 400, `it was answered with ${status}`);
      },
    },
    {
      id: "browser-cors",
      sentence: "Let a page of another site read answers (CORS).",
      run: async (target) => {
        for (const origin of [`https://${EVIL}`, "null"]) {
          const received = await fromPage(target, { origin });
          const allowed = headerIn(received, "access-control-allow-origin");
          fellIf(allowed === origin || allowed === "*", `it allows ${allowed}`);
          const credentials = headerIn(received, "access-control-allow-credentials");
          fellIf(credentials === "true", "it allows credentials");
        }
      },
    },
    {
      id: "browser-preflight",
      sentence: "Get permission for a page of another site with a preflight request.",
      run: async (target) => {
        const { url } = mainInterface(target);
        const headers = {
          origin: `https://${EVIL}`,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization, content-type",
          connection: "close",
        };
        const received = await exchange(
          url,
          rawRequest(`OPTIONS ${new URL(url).pathname}`, url, { headers }),
        );
        const allowed = headerIn(received, "access-control-allow-origin");
        fellIf(allowed !== undefined, `it allows ${allowed}`);
      },
    },
    {
      id: "browser-card-host",
      sentence: "Change the addresses on the card with headers, for other readers of a cache.",
      run: async (target) => {
        const headers = {
          "x-forwarded-host": EVIL,
          "x-forwarded-proto": "gopher",
          forwarded: `host=${EVIL};proto=https`,
          "x-host": EVIL,
          connection: "close",
        };
        const line = "GET /.well-known/agent-card.json";
        const received = await exchange(target.url, rawRequest(line, target.url, { headers }));
        fellIf(received.includes(EVIL), "the card has the address of the attacker");
      },
    },
    {
      id: "browser-sniffing",
      sentence: "Make a browser take an answer for a page or a script.",
      run: async (target) => {
        const received = await fromPage(target, {});
        const isMarked = headerIn(received, "x-content-type-options")?.toLowerCase() === "nosniff";
        fellIf(!isMarked, "there is no X-Content-Type-Options header");
      },
    },
  ],
};
