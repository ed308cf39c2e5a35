// A person before a real browser, for page.mjs and chat.mjs.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const check = (holds, why) => {
  if (!holds) throw new Error(why);
};
export const same = (found, wanted) => {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value));
  check(one === other, `${one} instead of ${other}`);
};

// Starts a browser, the name of a program, and opens a page of a width. `elsewhere` gathers the addresses of other origins
// than `own` that the page asks for, `complaints` the errors that it reports.
export const sit = async (program, own, width) => {
  const browser = await puppeteer.launch({
    executablePath: execFileSync("sh", ["-c", 'command -v "$0"', program], { encoding: "utf8" }).trim(),
    headless: "shell",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const page = await browser.newPage();
  const elsewhere = new Set();
  const complaints = [];
  page.on("request", (request) => {
    const { origin } = new URL(request.url());
    if (!own.includes(origin)) elsewhere.add(request.url());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.setViewport({ width, height: 800 });
  const texts = (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent.trim()));
  const text = async (selector) => (await texts(selector)).join(" | ");
  const until = (holds, ...values) => page.waitForFunction(holds, { timeout: 60_000 }, ...values);
  return { browser, page, elsewhere, complaints, texts, text, until };
};

// Checks a page, all of it unfolded, by the rules of accessibility; `where` says which page it is.
export const checkAccess = async (page, where) => {
  await page.$$eval("details", (all) => all.forEach((one) => (one.open = true)));
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const told = violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
  check(told.length === 0, `${where}: ${told.join("\n")}`);
};

// Does each thing, and prints its name and what went wrong, if anything did; `recover` runs after a failure.
export const doEach = async (things, recover = async () => {}) => {
  for (const [name, run] of Object.entries(things)) {
    let why = null;
    try {
      await run();
    } catch (error) {
      const [first, ...places] = String(error.stack ?? error).split("\n");
      why = [first, ...places.filter((place) => !place.includes("node_modules"))].join("\n");
      await recover();
    }
    console.log(JSON.stringify([name, why]));
  }
};
