"use strict";
// The pages work without this. It searches while one types, waits before something is forgotten, copies code, and moves
// by keys.
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const notices = one("#notices");

// The notice that offers to undo something, as long as that is possible.
let undoing = null;
// A notice with what belongs to it; the one before it goes, unless it offers to undo something.
const notify = (...parts) => {
  const notice = document.createElement("p");
  notice.append(...parts);
  notices.replaceChildren(...(undoing ? [undoing, notice] : [notice]));
  return notice;
};
const button = (text, onclick) => {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: text, onclick });
  return made;
};

// Searches while one types. The answer to earlier words is not waited for.
const search = one("#search");
const results = one("#results");
let typing, asking;
const address = () => {
  const filled = [...new FormData(search)].filter(([, value]) => value);
  return new URLSearchParams(filled);
};
const find = async () => {
  asking?.abort();
  asking = new AbortController();
  const query = address();
  history.replaceState(null, "", `${search.action}?${query}`);
  query.set("part", "1");
  try {
    const answer = await fetch(`${search.action}?${query}`, { signal: asking.signal });
    if (answer.ok) {
      const found = document.createElement("template");
      found.innerHTML = await answer.text();
      const [count, ...rest] = found.content.children;
      // It stays in its place, so that a screen reader notices that it changes.
      one("#count").textContent = count.textContent;
      results.replaceChildren(...rest);
    } else if (answer.status === 401) location.reload();
    else notify("The search failed.");
  } catch (error) {
    if (error.name !== "AbortError") notify("The server does not answer.");
  }
};
if (search) {
  // The beginning of a program's name names no program.
  search.addEventListener("input", ({ target }) => {
    clearTimeout(typing);
    if (target.name !== "source") typing = setTimeout(find, 150);
  });
  search.addEventListener("change", ({ target }) => target.name === "source" && find());
  const input = one("#q");
  input.setSelectionRange(input.value.length, input.value.length);
}

// Forgets after ten seconds in which it can be undone. Leaving the page before forgets nothing.
const WAIT = 10;
const waiting = new Set();
const forget = (form) => {
  const what = form.dataset.what;
  const article = form.closest("article");
  const leaving = what === "message" ? [article] : what === "turn" ? turn(form) : all("article.message");
  leaving.forEach((gone) => gone.classList.add("leaving"));
  form.closest("details").open = false;
  let left = WAIT;
  // Nobody wants to hear each second.
  const count = document.createElement("span");
  count.setAttribute("aria-hidden", "true");
  count.textContent = `${left} s`;
  const end = () => {
    clearInterval(timer);
    undoing = null;
  };
  const undo = button("Undo", () => {
    end();
    waiting.delete(form);
    leaving.forEach((gone) => gone.classList.remove("leaving"));
    notify("Nothing was forgotten.");
    one("summary", form.closest("details")).focus();
  });
  undoing = notify(`This ${what} will be forgotten in ${WAIT} seconds, if this page stays open.`, count, undo);
  undo.focus();
  waiting.add(form);
  const timer = setInterval(async () => {
    left -= 1;
    if (left > 0) {
      count.textContent = `${left} s`;
      return;
    }
    end();
    notify(`The ${what} is being forgotten.`);
    const answer = await fetch(form.action, { method: "POST" }).catch(() => null);
    waiting.delete(form);
    if (!answer?.ok) {
      leaving.forEach((gone) => gone.classList.remove("leaving"));
      notify("It was not forgotten: the server refused or did not answer.");
    } else if (what === "conversation" || all("article.message").length === leaving.length) {
      location.assign(answer.url);
    } else {
      leaving.forEach((gone) => gone.remove());
      notify(`The ${what} is forgotten.`);
    }
  }, 1000);
};
const turn = ({ action }) => all("form.forget").filter((form) => form.action === action).map((form) => form.closest("article"));
document.addEventListener("submit", (event) => {
  if (event.target.matches("form.forget")) {
    event.preventDefault();
    if (waiting.size === 0) forget(event.target);
    else notify("Something else is about to be forgotten. Wait a moment.");
  } else if (event.target === search) {
    event.preventDefault();
    find();
  }
});

// Copies code.
for (const code of all(".code")) {
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(one("code", code).textContent);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Not allowed";
    }
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  copy.className = "copy";
  code.append(copy);
}

// A long text is unfolded where a link leads to it.
const unfold = () => {
  const long = one(":target details.long");
  if (long) long.open = true;
};
addEventListener("hashchange", unfold);
unfold();

// Keys: / searches, j and k or the arrows move through what is listed, Enter opens, Escape leaves.
const rows = () => all(".row, .hit, article.message, article.memory");
const focusRow = (step) => {
  const list = rows();
  const at = list.findIndex((row) => row.contains(document.activeElement));
  const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step];
  if (!next) return at === 0 && step < 0 && one("#q");
  if (!next.matches("a")) next.tabIndex = -1;
  return next;
};
addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = target.matches("input, select, textarea");
  const isSearch = target.matches("input[type=search]");
  if (key === "Escape") {
    if (target !== document.body) target.blur();
  } else if (key === "/" && !isTyping) {
    one("#q")?.focus();
    event.preventDefault();
  } else if (!isTyping && (key === "j" || key === "k") || (!isTyping || isSearch) && (key === "ArrowDown" || key === "ArrowUp")) {
    // Within a conversation the arrows scroll.
    if (!isSearch && key.startsWith("Arrow") && !one(".hit, .row")) return;
    const row = focusRow(key === "j" || key === "ArrowDown" ? 1 : -1);
    if (!row) return;
    row.focus();
    row.scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }
});
