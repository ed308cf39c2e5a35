// Uses the pages of rsv-proxy as a person does, in a real browser, and prints a line of JSON for each thing that was done:
// its name, and what went wrong if anything did. Arguments: the browser, the address of the proxy, that of one with a
// token, the token. With a fifth argument, the name of a file, only a picture of a page is drawn.
import { check, checkAccess, doEach, same, sit } from "./person.mjs";

const [program, base, guarded, token, picture] = process.argv.slice(2);
// The icons of a field for a day are the browser's own, of no origin.
const { browser, page, elsewhere, complaints, texts, text, until } = await sit(program, [base, guarded, "null"], 1000);
const go = (path, host = base) => page.goto(host + path);
const follow = async (selector) => {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
};
const of = (name, more = "") => `/memory/${name}?p=garden${more}`;
const active = () => page.evaluate(() => document.activeElement.textContent.trim());

// All pages, for what holds on each.
const PAGES = [
  "/", of("conversations"), of("conversation", "&i=markdown"), of("conversation", "&i=garden"), of("conversation", "&i=hostile"),
  of("search", "&q=tomatoes"), of("search", "&q=nowhere"), of("memories"), of("documents"),
  of("documents", "&uri=viking://resources/notes/peas.md"), of("calendar"), of("graph"), of("conversation", "&i=nowhere"), "/memory/search",
];

const THINGS = {
  "sees the partitions": async () => {
    await go("/");
    same(await texts(".row strong"), ["garden", "other"]);
  },
  "sees the conversations by day, newest first": async () => {
    await follow(".row");
    const [first, second] = await texts(".row strong");
    same([first, second], ["garden", "# Beds and code"]);
    check((await texts("h2"))[0].includes("2026"), "no day");
  },
  "turns to earlier conversations": async () => {
    const before = await texts(".row strong");
    await follow("a[rel=next]");
    const after = await texts(".row strong");
    check(after.length > 0 && !before.includes(after[0]), `${after}`);
  },
  "reads Markdown": async () => {
    await go(of("conversation", "&i=markdown"));
    same(await texts("article.assistant td"), ["north", "beans"]);
    same(await page.$eval("article.assistant pre code", (code) => code.textContent), "fn main() {\n\n    grow();\n}\n");
    same(await page.$$eval("article.assistant .text a", (all) => all.map((one) => [one.textContent, one.getAttribute("href"), one.rel])), [
      ["the wall", "https://wall.example/", "noopener noreferrer"],
      ["image: a bean", "https://wall.example/bean.png", "noopener noreferrer"],
    ]);
    check((await text("article.assistant .text")).includes("<b>bold</b>"), "raw HTML is no text");
  },
  "copies code": async () => {
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } }));
    await page.click(".code .copy");
    await until(() => window.copied);
    same(await page.evaluate(() => window.copied), "fn main() {\n\n    grow();\n}\n");
  },
  "unfolds a long message": async () => {
    await go(of("conversation", "&i=long"));
    check(!(await page.$eval("details.long", (one) => one.open)), "it is open");
    await page.click("details.long summary");
    check((await text("details.long .text")).includes("the end of it"), "it is cut");
  },
  "turns the pages of a huge conversation": async () => {
    await go(of("conversation", "&i=huge"));
    same([(await texts("article")).length, (await text("article:last-of-type .text"))], [60, "entry 199"]);
    await follow("a[rel=prev]");
    same(await text("article:last-of-type .text"), "entry 139");
    await follow("a[rel=next]");
    same(await text("article:last-of-type .text"), "entry 199");
    await page.goBack();
    await Promise.all([page.waitForNavigation(), page.evaluate(() => [...document.querySelectorAll(".more a")].find((one) => one.textContent === "Beginning").click())]);
    same((await texts("article .text"))[0], "entry 0");
  },
  "searches while typing": async () => {
    await go(of("conversations"));
    await page.type("#q", "warm");
    await page.keyboard.press("Enter");
    await until(() => document.querySelector("mark"));
    same(new Set(await texts("mark")), new Set(["warm"]));
    await page.type("#q", " wall");
    await until(() => [...document.querySelectorAll("mark")].some((one) => one.textContent === "wall") && location.search.includes("wall"));
    await page.$eval("#q", (one) => (one.value = ""));
    await page.type("#q", "xyzzy");
    await until(() => document.querySelector("#count").textContent.startsWith("0 hits"));
  },
  "filters by kind": async () => {
    await go(of("search", "&q=peas"));
    const all = await texts(".hit .meta");
    check(["user", "document", "memory"].every((kind) => all.some((one) => one.startsWith(kind))), `${all}`);
    await page.select("select[name=kind]", "memory");
    await until(() => document.querySelectorAll(".hit").length === 1);
    check((await text(".hit .meta")).startsWith("memory"), "another kind");
  },
  "filters by the program": async () => {
    await go(of("search", "&q=hoses"));
    same((await texts(".hit")).length, 2);
    await page.type("[name=source]", "codex");
    await page.keyboard.press("Tab");
    await until(() => document.querySelectorAll(".hit").length === 1);
    check((await text(".excerpt")).includes("by codex"), "another program");
  },
  "filters by the day": async () => {
    await go(of("search", "&q=hoses&from=2026-02-02"));
    same(await texts(".excerpt"), ["hoses by codex"]);
    await go(of("search", "&q=hoses&to=2026-02-01"));
    same(await texts(".excerpt"), ["hoses by hand"]);
    await go(of("search", "&q=hoses&to=tomorrow"));
    check((await text("[role=alert]")).includes("expected a day"), "no error");
  },
  "opens a hit at its place": async () => {
    await go(of("search", "&q=%22entry 73%22"));
    await follow(".hit");
    same(await text("article:target .text"), "entry 73");
    check(await page.$eval("article:target", (one) => { const { top, bottom } = one.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }), "it is not seen");
    same((await texts("article")).length, 61);
  },
  "moves by keys": async () => {
    await go(of("conversations", "#%"));
    await page.keyboard.press("/");
    same(await page.evaluate(() => document.activeElement.id), "q");
    await page.keyboard.type("hoses");
    await page.keyboard.press("Enter");
    await until(() => document.querySelectorAll(".hit").length === 2);
    await page.keyboard.press("ArrowDown");
    const first = await active();
    await page.keyboard.press("j");
    const second = await active();
    await page.keyboard.press("k");
    check(first !== second && first === (await active()) && first.includes("hoses"), `${first} ${second}`);
    await page.keyboard.press("Escape");
    same(await page.evaluate(() => document.activeElement.tagName), "BODY");
    await page.keyboard.press("j");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    check((await text("article:target")).includes("hoses"), "nothing opened");
  },
  "skips to the content": async () => {
    await go(of("conversations"));
    await page.keyboard.press("Tab");
    same(await active(), "Skip to the content");
    await page.keyboard.press("Enter");
    same(await page.evaluate(() => document.activeElement.id), "main");
  },
  "reads memories and their confidence": async () => {
    await go(of("memories"));
    const standing = await text("article.memory .standing");
    check(standing.includes("alpha") && standing.includes("explicit 1 for, 0 against") && standing.includes("0.82"), standing);
    await follow("article.memory h2 a");
    check((await text("main")).includes("Soak the peas"), "no memory");
  },
  "walks the tree of documents": async () => {
    await go(of("documents"));
    await Promise.all([page.waitForNavigation(), page.evaluate(() => [...document.querySelectorAll(".tree a")].find((one) => one.textContent === "peas.md").click())]);
    check((await text("main")).includes("Sow them in March"), "no content");
    await follow("nav[aria-label=Address] a:nth-of-type(3)");
    check((await texts(".tree a")).includes("peas.md"), "no way back");
  },
  "looks at the graph": async () => {
    await go(of("graph"));
    check((await page.$$("circle")).length > 10 && (await page.$("#search")), "no graph");
    await page.type("#search", "tomatoes");
    await until(() => document.querySelector("#found").textContent.includes("found"));
  },
  "looks at the calendar": async () => {
    await go(of("calendar"));
    check(await page.$eval("main img", (image) => image.complete && image.naturalWidth > 100), "no picture");
  },
  "sees what was recalled, and why": async () => {
    await go(of("conversation", "&i=garden"));
    await page.click(".account summary");
    const account = await text(".account li:not(.left-out)");
    check(account.includes("related, score"), account);
    await follow(".account li:not(.left-out) a");
    check((await text("article:target")).includes("warm wall"), await text("article:target"));
  },
  "undoes forgetting in time": async () => {
    await go(of("conversation", "&i=gone"));
    await page.click("article:nth-of-type(1) .tools summary");
    await page.click("article:nth-of-type(1) form[data-what=message] button");
    await until(() => document.querySelector("#notices").textContent.includes("will be forgotten"));
    // Another one waits, and what can be undone still can.
    await page.click("article:nth-of-type(3) .tools summary");
    await page.click("article:nth-of-type(3) form[data-what=message] button");
    await until(() => document.querySelector("#notices").textContent.includes("Wait a moment"));
    await page.click("#notices button");
    same(await text("#notices"), "Nothing was forgotten.");
    same((await texts("article.leaving")).length, 0);
    await page.reload();
    same((await texts("article")).length, 6);
  },
  "forgets a message and a turn": async () => {
    for (const [what, left] of [["turn", 4], ["message", 3]]) {
      await page.click("article:nth-of-type(1) .tools summary");
      await page.click(`article:nth-of-type(1) form[data-what=${what}] button`);
      await until((what) => document.querySelector("#notices").textContent === `The ${what} is forgotten.`, what);
      await page.reload();
      same((await texts("article")).length, left);
    }
  },
  "forgets a conversation without a script": async () => {
    await page.setJavaScriptEnabled(false);
    await page.reload();
    await page.click("main > .tools summary");
    await follow("main > .tools button");
    check(page.url().includes("/memory/conversations"), page.url());
    await page.setJavaScriptEnabled(true);
    await go(of("conversation", "&i=gone"));
    check((await text("h1")) === "Not found", "it is still there");
  },
  "searches without a script": async () => {
    await page.setJavaScriptEnabled(false);
    await go(of("conversations"));
    await page.type("#q", "hoses");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    same((await texts(".hit")).length, 2);
    await follow(".hit");
    check((await text("article:target")).includes("hoses"), "nothing opened");
    await page.setJavaScriptEnabled(true);
  },
  "logs in and out": async () => {
    await go("/", guarded);
    same(await text("h1"), "Log in");
    await page.type("#token", "wrong");
    await follow("button");
    check((await text("[role=alert]")).includes("no token"), "no refusal");
    await page.type("#token", token);
    await follow("button");
    same(await texts(".row strong"), ["garden", "other"]);
    same(await page.evaluate(() => document.cookie), "");
    await go(of("search", "&q=warm"), guarded);
    check((await texts(".hit")).length > 0, "no hits");
    await page.click("header button");
    await until(() => document.querySelector("h1").textContent === "Log in");
    await go(of("conversations"), guarded);
    same(await text("h1"), "Log in");
    await page.type("#token", token);
    await follow("button");
    check(page.url().endsWith("/memory/conversations?p=garden"), page.url());
  },
  "sees no text of another partition in a named one": async () => {
    for (const path of PAGES.filter((path) => path !== "/")) {
      await go(`/partition/garden${path}`);
      check(!(await page.content()).includes("elsewhere-canary"), path);
    }
    await go("/partition/garden/");
    same(await text("h1"), "garden");
    await go("/partition/garden/memory/conversations?p=other");
    same(await text("h1"), "Not found");
  },
  "runs no script of a message": async () => {
    await go(of("conversation", "&i=hostile"));
    check((await texts("article")).length >= 7, "not all are there");
    for (const path of PAGES.concat(of("search", "&q=hacked"))) {
      await go(path);
      const seen = await page.evaluate(() => [document.title, document.scripts.length, document.querySelectorAll("main script, main iframe, main style, main base, main [onload], main [onerror]").length]);
      check(seen[0] !== "hacked" && seen[1] === 1 && seen[2] === 0, `${path}: ${seen}`);
    }
  },
  "reads on a narrow screen": async () => {
    await page.setViewport({ width: 320, height: 600 });
    for (const path of PAGES) {
      await go(path);
      const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      check(wide <= shown, `${path} is ${wide} wide on ${shown}`);
    }
    await page.setViewport({ width: 1000, height: 800 });
  },
  "meets the rules of accessibility in light and dark": async () => {
    const stranger = await (await browser.createBrowserContext()).newPage();
    for (const value of ["light", "dark"]) {
      for (const [one, address] of [...PAGES.map((path) => [page, base + path]), [stranger, `${guarded}/memory`]]) {
        await one.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
        await one.goto(address);
        await checkAccess(one, `${value} ${address}`);
      }
    }
    same(await stranger.title(), "Log in · rsv");
    await page.emulateMediaFeatures([]);
  },
  "loads nothing from elsewhere, and no page complains": async () => {
    same([...elsewhere], []);
    same(complaints.filter((one) => !/the server responded with a status of (401|404)/.test(one)), []);
  },
};

if (picture) {
  await page.setViewport({ width: 1200, height: 760 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await go("/partition/home/memory/search?q=water");
  await page.screenshot({ path: picture });
} else {
  await doEach(THINGS, () => page.setJavaScriptEnabled(true));
}
await browser.close();
