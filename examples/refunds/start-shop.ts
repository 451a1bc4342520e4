import { TinyShop } from "./tiny-shop.ts";

// The shop that the agent calls, in its own process: it must outlive the agent.
const shop = new TinyShop();
shop.onRequest = (line) => console.log(line);
const url = await shop.open(Number(process.env["SHOP_PORT"] ?? 4100));
console.log(`The shop is open at ${url}. It has the order A-7.`);
