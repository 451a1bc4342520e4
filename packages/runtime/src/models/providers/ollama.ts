import { ModelError } from "../../model/model-error.ts";
import { openCompatible } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";

const DEFAULT_HOST = "127.0.0.1:11434";

/** Models on one's own machine, by Ollama's OpenAI-compatible API. Needs no key. */
export const ollama: Provider = {
  baseUrlVariable: "OLLAMA_HOST",
  addressOf: ollamaUrl,
  open: (name, { baseUrl, ...settings }) =>
    openCompatible(name, { ...settings, baseUrl: ollamaUrl(baseUrl), label: "ollama" }),
};

/** `OLLAMA_HOST` as Ollama itself reads it: a host, with a port and a scheme if need be. */
export function ollamaUrl(host: string = DEFAULT_HOST): string {
  const text = /^https?:\/\//i.test(host) ? host : `http://${host}`;
  if (!URL.canParse(text)) {
    throw new ModelError(
      "refused",
      `OLLAMA_HOST: "${host}" is no address; set it to something like ${DEFAULT_HOST}`,
    );
  }
  const url = new URL(text);
  if (url.port === "" && !/^https?:\/\//i.test(host)) url.port = "11434";
  // Where a server listens on all addresses, this is the one to call.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (!/\/v1\/?$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, "")}/v1`;
  return url.href.replace(/\/$/, "");
}
