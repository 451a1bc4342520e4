import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import { selfSigned } from "../../test/bindings/self-signed.ts";
import { keptPort } from "../../test/harness/kept-port.ts";
import { Program } from "../../test/harness/running-program.ts";

const AGENT = fileURLToPath(new URL("agent.ts", import.meta.url));
const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));
const COMPOSE = readFileSync(new URL("compose.yaml", import.meta.url), "utf8");
/** More than all tests of the file may take together. */
const LIFE_MS = 600_000;
const NGINX_CONF = readFileSync(new URL("nginx.conf", import.meta.url), "utf8");

/**
 * What compose.yaml starts, as plain processes: as many replicas, with the same environment, and
 * nginx with the same configuration. Only addresses and folders differ, and nginx has a certificate,
 * because before 1.25 it speaks HTTP/1.1 and HTTP/2 on one port only with TLS.
 */
export class LocalCluster {
  readonly token = "a-token-of-the-cluster";
  readonly url: string;
  /** The certificate of the proxy, which this process trusts until the cluster is closed. */
  readonly tls = selfSigned();
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "convoke-cluster-")));
  readonly #replicas = new Map<string, { readonly port: number; readonly program: Program }>();
  readonly #trusted = getCACertificates("default");
  #nginx: Program | undefined;

  private constructor(port: number) {
    this.url = `https://localhost:${port}`;
  }

  static async start(nginx: string, database: string): Promise<LocalCluster> {
    const cluster = new LocalCluster(await keptPort());
    const count = Number(/replicas: (\d+)/.exec(COMPOSE)?.[1]);
    const names = Array.from({ length: count }, (_, place) => `replica-${place + 1}`);
    await Promise.all(names.map((name) => cluster.#startReplica(name, database)));
    await cluster.#startNginx(nginx);
    return cluster;
  }

  /** The replicas that have not been killed. */
  get names(): readonly string[] {
    return [...this.#replicas.keys()];
  }

  /** The address of a replica itself, without the proxy. */
  addressOf(name: string): string {
    return `http://127.0.0.1:${this.#replicas.get(name)!.port}`;
  }

  async kill(name: string): Promise<void> {
    await this.#replicas.get(name)!.program.kill("SIGKILL");
    this.#replicas.delete(name);
  }

  /** For each request that has ended, the addresses of the replicas that it was passed to, in order. */
  requests(): readonly (readonly string[])[] {
    const lines = readFileSync(join(this.#folder, "access.log"), "utf8").trim().split("\n");
    return lines.map((line) => line.split(", "));
  }

  async close(): Promise<void> {
    const programs = [...this.#replicas.values()].map(({ program }) => program.kill());
    await Promise.all([...programs, this.#nginx?.kill()]);
    setDefaultCACertificates(this.#trusted);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startReplica(name: string, database: string): Promise<void> {
    const port = await keptPort();
    const env = {
      ...composeEnvironment({ PUBLIC_URL: this.url, CONVOKE_TOKEN: this.token }),
      DATABASE_URL: database,
      BIND_HOST: "127.0.0.1",
      PORT: String(port),
      CONVOKE_HOST_ID: name,
    };
    const program = new Program(process.execPath, [CONVOKE, "serve", AGENT], {
      cwd: this.#folder,
      env,
      timeoutMs: LIFE_MS,
    });
    this.#replicas.set(name, { port, program });
    await program.until((stdout) => stdout.includes("Type ") || undefined);
  }

  async #startNginx(path: string): Promise<void> {
    const { cert, key } = this.tls;
    writeFileSync(join(this.#folder, "cert.pem"), cert);
    writeFileSync(join(this.#folder, "key.pem"), key, { mode: 0o600 });
    writeFileSync(join(this.#folder, "nginx.conf"), this.#nginxConf());
    setDefaultCACertificates([...this.#trusted, cert]);
    // One process: if it had a child, that would survive a SIGKILL.
    const globals = `daemon off; master_process off; pid ${this.#folder}/pid;`;
    const args = ["-p", this.#folder, "-c", "nginx.conf", "-e", "stderr", "-g", globals];
    this.#nginx = new Program(path, args, { timeoutMs: LIFE_MS });
    while (!(await fetch(`${this.url}/health`).catch(() => undefined))) {
      if (this.#nginx.end !== undefined) throw new Error(this.#nginx.stderr);
      await sleep(20);
    }
  }

  #nginxConf(): string {
    const servers = this.names.map((name) => `server ${this.addressOf(name).slice(7)};`).join("\n");
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((kind) => `${kind}_temp_path ${this.#folder}/${kind};`)
      .join("\n");
    const log = `log_format replicas "$upstream_addr"; access_log ${this.#folder}/access.log replicas;`;
    const listen = `listen 127.0.0.1:${new URL(this.url).port} ssl http2;
      ssl_certificate cert.pem; ssl_certificate_key key.pem;`;
    return NGINX_CONF.replaceAll("server agent:3000 resolve;", servers)
      .replace("http {", `http {\n${paths}\n${log}`)
      .replace(/listen 80;\s+http2 on;/, listen);
  }
}

/** The environment of a replica in compose.yaml, with these values for what `.env` has. */
function composeEnvironment(values: Readonly<Record<string, string>>): Record<string, string> {
  const [, service = ""] = /^ {2}agent:\n((?: {4}.*\n|\n)*)/m.exec(COMPOSE) ?? [];
  const [, block = ""] = /^ {4}environment:\n((?: {6}.*\n)*)/m.exec(service) ?? [];
  const entries = [...block.matchAll(/^ {6}(\w+): "?(.*?)"?$/gm)].map(
    ([, name = "", value = ""]) => [
      name,
      value.replace(/^\$\{(\w+).*\}$/, (_, variable: string) => values[variable] ?? ""),
    ],
  );
  return Object.fromEntries(entries) as Record<string, string>;
}
