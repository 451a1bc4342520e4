import { expect, test } from "vitest";
import { ollamaUrl } from "./providers.ts";

test.each([
  [undefined, "http://127.0.0.1:11434/v1"],
  ["0.0.0.0", "http://127.0.0.1:11434/v1"],
  ["gpu.local", "http://gpu.local:11434/v1"],
  ["gpu.local:8080", "http://gpu.local:8080/v1"],
  ["https://ollama.example.com", "https://ollama.example.com/v1"],
  ["http://gpu.local:8080/v1/", "http://gpu.local:8080/v1"],
])("OLLAMA_HOST=%s is %s", (host, url) => {
  expect(ollamaUrl(host)).toBe(url);
});

test("an invalid address says what to set", () => {
  expect(() => ollamaUrl("a b")).toThrow('OLLAMA_HOST: "a b" is no address; set it to');
});
