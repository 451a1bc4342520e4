import { once } from "node:events";
import { type AddressInfo, type Server, connect, createServer } from "node:net";
import type { Program } from "../../test/harness/running-program.ts";
import type { Contender } from "./contenders.ts";

const REPLICAS = 3;

interface Replica {
  readonly program: Program;
  readonly url: string;
}

/** Replicas of one contender, and a balancer before them. */
export class Cluster {
  readonly #balancer = new Balancer();
  #replicas: readonly Replica[] = [];
  #url = "";

  async start(contender: Contender, url: string): Promise<void> {
    this.#url = await this.#balancer.listen();
    const programs = Array.from({ length: REPLICAS }, () => contender.startReplica(url, this.#url));
    const starting = programs.map(async (program) => {
      const address = await program.until((stdout) => /^ready (\S+)/m.exec(stdout)?.[1]);
      return { program, url: address };
    });
    this.#replicas = await Promise.all(starting);
  }

  replica(place: number): Replica {
    return this.#replicas[place]!;
  }

  /** New connections go to this replica. Returns the address for clients. */
  route({ url }: Replica): string {
    this.#balancer.target = Number(new URL(url).port);
    return this.#url;
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map(({ program }) => program.kill()));
    this.#balancer.close();
  }
}

/** A load balancer whose target for new connections can be set. */
class Balancer {
  /** The port of the replica. */
  target = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((client) => {
      const replica = connect(this.target, "127.0.0.1");
      client.pipe(replica).pipe(client);
      client.on("error", () => replica.destroy()).on("close", () => replica.destroy());
      replica.on("error", () => client.destroy()).on("close", () => client.destroy());
    });
  }

  /** Resolves with its address. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }
}
