// Uses the page of the chat backend as a person does, in a real browser, and prints a line of JSON for each thing that was
// done: its name, and what went wrong if anything did. Arguments: the browser, the address of the proxy, that of one
// without the pages of the memory, the address at which to answer as the provider, and a directory for files.
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { check, checkAccess, doEach, same, sit } from "./person.mjs";

const [program, base, bare, provider, files] = process.argv.slice(2);

const MARKDOWN =
  "**Bold**, <b>raw</b> <script>document.title = 'hacked'</script>\n\n```js\nfirst();\n\n  second();\n```\n\n" +
  "[wall](https://wall.example/) [no](javascript:document.title='hacked') ![bean](https://wall.example/bean.png)\n\n" +
  "<img src=/hacked onerror=\"document.title = 'hacked'\"><svg onload=\"document.title = 'hacked'\">";
const HOSTILE = "<img src=/hacked onerror=\"document.title = 'hacked'\"> & <b>bold</b>";
const LONG = Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n\n");

// The provider: it says a half of its answer, and the rest when it is released. A question names what it says.
const answers = new Map([["Markdown", MARKDOWN], ["long", LONG]]);
let release = null;
let left = 0;
const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  // The recalled text stands before the question.
  const question = JSON.parse(body).messages.at(-1).content.split("\n").at(-1);
  if (question.includes("refuse")) {
    response.writeHead(400, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ error: { message: `nobody may ask ${HOSTILE}`, type: "refusal", code: null } }));
    return;
  }
  const words = [...answers].find(([name]) => question.includes(name))?.[1] ?? "By the warm wall.";
  const chunk = (choice) => response.write(`data: ${JSON.stringify({ object: "chat.completion.chunk", model: "llama3.1", choices: [{ index: 0, ...choice }] })}\n\n`);
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  let isOpen = true;
  response.on("close", () => {
    if (isOpen) left += 1;
  });
  chunk({ delta: { content: words.slice(0, words.length / 2) } });
  if (question.includes("hold")) await new Promise((resolve) => (release = resolve));
  chunk({ delta: { content: words.slice(words.length / 2) } });
  chunk({ delta: {}, finish_reason: "stop" });
  response.write("data: [DONE]\n\n");
  isOpen = false;
  response.end();
});
await new Promise((resolve) => server.listen(new URL(provider).port, "127.0.0.1", resolve));

const { browser, page, elsewhere, complaints, texts, text, until } = await sit(program, [base, bare], 1200);
const rows = () => texts("#sessions .row strong");
const open = async (host = base) => {
  await page.goto("about:blank");
  await page.goto(`${host}/chat`);
  await until(() => document.querySelector("#sessions .row"));
};
const say = async (words) => {
  await page.click("#message");
  await page.keyboard.type(words);
  await page.keyboard.press("Enter");
};
const begun = () => until(() => document.querySelector("[aria-busy] .text")?.textContent);
const ended = () => until(() => !document.querySelector("[aria-busy]") && document.getElementById("stop").hidden);
const released = async () => {
  release();
  await ended();
};
const ask = async (words) => {
  await page.click("#new");
  await say(words);
  await ended();
};
// A source opens beside the chat.
const opened = async (selector) => {
  const target = browser.waitForTarget((one) => one.opener() === page.target());
  await page.click(selector);
  const other = await (await target).page();
  await other.waitForSelector("main");
  const seen = [new URL(other.url()).pathname, await other.$eval("main", (main) => main.textContent)];
  await other.close();
  return seen;
};

const THINGS = {
  "lists more than 20 chats": async () => {
    await open();
    same((await rows()).length, 20);
    for (const count of [40, 46]) {
      await page.click("#more");
      await until((count) => document.querySelectorAll("#sessions .row").length === count, count);
    }
    same([new Set(await rows()).size, await page.$eval("#more", (more) => more.hidden)], [46, true]);
    same(await page.evaluate(() => document.activeElement.className), "row");
  },
  "uploads a document": async () => {
    const name = `${files}/garden <b onclick=x>.md`;
    writeFileSync(name, "# Garden\n\nThe tomatoes stand by the warm wall, and the beans go up the north fence.\n");
    await (await page.$("#file")).uploadFile(name);
    await until(() => document.getElementById("uploads").textContent.endsWith(": ready"));
    await until(() => document.getElementById("document").options.length === 2);
    same(await page.$eval("#document", (one) => one.options[1].text), "garden <b onclick=x>.md");
    writeFileSync(`${files}/bad.png`, Buffer.from("\x89PNG\r\n\x1a\n0000", "latin1"));
    await (await page.$("#file")).uploadFile(`${files}/bad.png`);
    await until(() => document.querySelector("#uploads [role=alert]")?.textContent.startsWith("bad.png: "));
  },
  "begins a chat, which is listed at once": async () => {
    await page.click("#message");
    await page.keyboard.type("Where do my tomatoes stand?");
    await page.keyboard.down("Shift");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Shift");
    await page.keyboard.type("hold <i>");
    await page.keyboard.press("Enter");
    await begun();
    same((await rows())[0], "Where do my tomatoes stand? hold <i>");
    same([await text("article.user .text"), await text("article.assistant .text")], ["Where do my tomatoes stand?\nhold <i>", "By the w"]);
    await page.keyboard.type("not yet");
    await page.keyboard.press("Enter");
    same((await texts("article")).length, 2);
    await released();
    await page.$eval("#message", (one) => (one.value = ""));
    same([await text("article.assistant .text"), await text("#said")], ["By the warm wall.", "By the warm wall."]);
    await until(() => document.querySelector("#sessions .row .meta").textContent.startsWith("2 messages"));
    same((await rows())[0], await text("#title"));
    same((await rows()).length, 47);
  },
  "sees what was recalled, and opens it": async () => {
    same(await text(".account summary"), "Recalled: 1 memory, 1 document, 1 message");
    await page.click(".account summary");
    const sources = await texts(".account li");
    check(sources[0].startsWith("Tomatoes and warmth memory"), sources[0]);
    check(sources[1].includes("viking://resources/users/default/documents/"), sources[1]);
    check(sources[2].includes("user in “The tomatoes stand by the warm wall, says <b>Ann"), sources[2]);
    for (const [at, path, words] of [
      [1, "/memory/record", "Tomatoes like to be warm"],
      [2, "/memory/documents", "the beans go up the north fence"],
      [3, "/memory/conversation", "says <b>Ann</b>"],
    ]) {
      const [seen, shown] = await opened(`.account li:nth-child(${at}) a`);
      check(seen === path && shown.includes(words), `${seen}: ${shown}`);
    }
    check((await text("#context")).includes("north fence"), "no context");
    check((await texts("#steps li")).length > 1, "no steps");
  },
  "reads Markdown when the answer is complete": async () => {
    await page.click("#new");
    await say("Markdown, hold");
    await begun();
    check((await text("article.assistant .text.raw")).startsWith("**Bold**, <b>raw</b>"), "it is drawn early");
    await released();
    const answer = "article.assistant .text";
    same(await texts(`${answer} strong`), ["Bold"]);
    same(await page.$eval(`${answer} pre code`, (code) => code.textContent), "first();\n\n  second();\n");
    same(await page.$$eval(`${answer} a`, (all) => all.map((one) => [one.textContent, one.getAttribute("href"), one.rel, one.target])), [
      ["wall", "https://wall.example/", "noopener noreferrer", "_blank"],
      ["image: bean", "https://wall.example/bean.png", "noopener noreferrer", "_blank"],
    ]);
    same(await page.$$eval(`${answer} :is(b, img, svg, script)`, (all) => all.length), 0);
    check((await text(answer)).includes("<script>document.title = 'hacked'</script>"), "raw HTML is no text");
  },
  "scrolls with the answer only at its end": async () => {
    const place = () => page.$eval("#turns", (one) => [Math.round(one.scrollTop), one.scrollHeight - one.clientHeight - Math.round(one.scrollTop)]);
    await page.click("#new");
    await say("A long one, hold");
    await begun();
    check((await place())[0] > 0 && (await place())[1] < 40, `it did not follow: ${await place()}`);
    await page.$eval("#turns", (one) => (one.scrollTop = 10));
    await released();
    same((await place())[0], 10);
    await page.$eval("#turns", (one) => (one.scrollTop = one.scrollHeight));
    await say("And another");
    await ended();
    check((await place())[1] < 40, `it did not follow: ${await place()}`);
  },
  "stops an answer": async () => {
    await page.click("#new");
    await say("Please hold");
    await begun();
    const before = left;
    await page.click("#stop");
    await ended();
    same([await text("article.assistant p.meta"), await text("article.assistant .text")], ["Stopped.", "By the w"]);
    for (let tries = 0; left === before; tries += 1) {
      check(tries < 600, "the provider was not told");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    same(await page.evaluate(() => document.activeElement.id), "message");
    await say("Go on");
    await ended();
    same((await texts("article.assistant .text")).at(-1), "By the warm wall.");
  },
  "sees why an answer failed, at its place": async () => {
    await page.click("#new");
    const listed = (await rows()).length;
    await say("refuse <b>this</b>");
    await ended();
    check((await text("article.assistant [role=alert]")).includes("nobody may ask <img"), await text("#turns"));
    same(await page.$eval("#message", (one) => one.value), "refuse <b>this</b>");
    await page.$eval("#message", (one) => (one.value = ""));
    same((await rows()).length, listed);
  },
  "opens another chat while an answer comes": async () => {
    await page.click("#new");
    await say("Another one, hold");
    await begun();
    await page.click("#sessions li:nth-child(2) .row");
    await until(() => document.querySelectorAll("article").length > 1 && document.getElementById("stop").hidden);
    const title = await text("#title");
    release();
    await until(() => document.querySelector("#sessions .row .meta").textContent.startsWith("2 messages"));
    check(title !== "Another one, hold" && title === (await text("#title")), "it is shown");
    await page.click("#sessions li:nth-child(1) .row");
    await until(() => document.querySelector("article.assistant .text")?.textContent.trim() === "By the warm wall.");
  },
  "reopens a chat with its Markdown and what was recalled": async () => {
    for (const reopen of [
      () => page.evaluate(() => [...document.querySelectorAll(".row")].find((one) => one.textContent.startsWith("Where do my")).click()),
      () => page.reload(),
    ]) {
      await reopen();
      await until(() => document.querySelector(".account summary"));
      same(await text(".account summary"), "Recalled: 1 memory, 1 document, 1 message");
      await until(() => document.querySelector("[aria-current=page].row"));
      same(await text("#title"), "Where do my tomatoes stand? hold <i>");
    }
    await page.click(".account summary");
    const [path, shown] = await opened(".account li:nth-child(3) a");
    check(path === "/memory/conversation" && shown.includes("warm wall"), `${path}: ${shown}`);
    await page.evaluate(() => [...document.querySelectorAll(".row")].find((one) => one.textContent.startsWith("Markdown")).click());
    await until(() => document.querySelector("article.assistant .text strong"));
  },
  "shows a source beside the chat where there are no pages": async () => {
    await open(bare);
    check(!(await page.$("#home[href]")), "there is a link");
    await page.evaluate(() => [...document.querySelectorAll(".row")].find((one) => one.textContent.startsWith("Where do my")).click());
    await until(() => document.querySelector(".account summary"));
    await page.click(".account summary");
    for (const [at, words] of [[1, "Tomatoes like to be warm"], [2, "north fence"], [3, "says <b>Ann</b>"]]) {
      await page.click(`.account li:nth-child(${at}) button`);
      check((await text("#source")).includes(words), await text("#source"));
      same(await page.evaluate(() => document.activeElement.parentElement.id), "source");
    }
    await page.click("#source a");
    await until(() => document.getElementById("title").textContent.startsWith("The tomatoes stand by"));
    await open();
  },
  "commits a chat": async () => {
    await ask("Remember that I water the beans in the evening.");
    await page.click("#commit");
    await until(() => document.getElementById("committed").textContent.startsWith("committed: "));
  },
  "undoes forgetting in time": async () => {
    const listed = (await rows()).length;
    await page.click("#delete");
    await until(() => document.getElementById("notices").textContent.includes("9 s"));
    check(await page.$(".row.leaving"), "it is not marked");
    await page.keyboard.press("Enter");
    same(await text("#notices"), "Nothing was forgotten.");
    same([(await rows()).length, (await page.$$(".row.leaving")).length], [listed, 0]);
  },
  "forgets a chat": async () => {
    const [title] = await rows();
    await page.click("#delete");
    await until(() => document.getElementById("notices").textContent === "The chat is forgotten.");
    same([await text("#title"), (await texts("article")).length], ["New chat", 0]);
    await page.reload();
    await until(() => document.querySelector("#sessions .row"));
    check(!(await rows()).includes(title), "it is still there");
  },
  "sees why a chat cannot be opened": async () => {
    await page.goto(`${base}/chat#nowhere`);
    await until(() => document.querySelector("#turns [role=alert]")?.textContent.includes("there is no session nowhere"));
  },
  "sees another user's chats alone": async () => {
    await page.type("#user", "ann");
    await page.keyboard.press("Tab");
    await until(() => document.querySelectorAll("#sessions .row").length === 0 && document.querySelector("#sessions").textContent.includes("No chats yet"));
    await say("Where do my tomatoes stand?");
    await ended();
    same([(await rows()).length, (await page.$$(".account")).length], [1, 0]);
  },
  "runs no script of a chat": async () => {
    await open();
    for (const start of ["<img src=/hacked", "Markdown"]) {
      await page.evaluate((start) => [...document.querySelectorAll(".row")].find((one) => one.textContent.startsWith(start)).click(), start);
      await until(() => document.querySelector("article"));
      same(await page.evaluate(() => [document.title, document.scripts.length, document.images.length, document.querySelectorAll("[onerror], [onload], [onclick]").length]), ["Chat · rsv", 1, 0, 0]);
    }
  },
  "uses it by keys": async () => {
    await open();
    await page.keyboard.press("Tab");
    same(await page.evaluate(() => document.activeElement.textContent), "Skip to the message");
    await page.keyboard.press("Enter");
    same(await page.evaluate(() => document.activeElement.id), "message");
    await page.focus("#sessions .row");
    await page.keyboard.press("Enter");
    await until(() => document.querySelector("article"));
    same(await page.evaluate(() => document.activeElement.className), "row");
  },
  "reads on a narrow screen": async () => {
    await page.setViewport({ width: 320, height: 600 });
    await open();
    for (const start of ["Markdown", "Where do my", "<img src=/hacked"]) {
      await page.$$eval("details", (all) => all.forEach((one) => (one.open = true)));
      await page.evaluate((start) => [...document.querySelectorAll(".row")].find((one) => one.textContent.startsWith(start)).click(), start);
      await until((start) => document.querySelector("article") && document.getElementById("title").textContent.startsWith(start), start);
      const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      check(wide <= shown, `it is ${wide} wide on ${shown}`);
    }
    check(!(await page.$eval("#chats details", (one) => one.open)), "the list is not folded");
    check(await page.$eval("#turns", (one) => one.clientHeight >= 96), "there is no room for messages");
    await page.setViewport({ width: 1200, height: 800 });
  },
  "meets the rules of accessibility in light and dark": async () => {
    for (const value of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
      for (const width of [1200, 320]) {
        await page.setViewport({ width, height: 800 });
        await open();
        await page.evaluate(() => [...document.querySelectorAll(".row")].find((one) => one.textContent.startsWith("Where do my")).click());
        await until(() => document.querySelector(".account"));
        await say("Markdown");
        await ended();
        await say("refuse it");
        await ended();
        await page.click("#delete");
        await checkAccess(page, `${value} ${width}`);
        await page.click("#notices button");
      }
    }
    await page.emulateMediaFeatures([]);
  },
  "loads nothing from elsewhere, and does not complain": async () => {
    same([...elsewhere], []);
    same(complaints.filter((one) => !/the server responded with a status of (400|404|502)/.test(one)), []);
  },
};

await doEach(THINGS);
await browser.close();
server.close();
server.closeAllConnections();
