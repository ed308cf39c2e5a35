"use strict";
const at = (id) => document.getElementById(id);
const meta = (name) => document.querySelector(`meta[name=${name}]`).content;
const base = meta("rsv-proxy") || location.pathname.replace(/\/+/g, "/").replace(/\/chat\/?$/, "");
// The pages are those of a partition, if of any.
const pages = base.replace(/\/instance\/[^/]+$/, "");
// The sessions that are listed at once, and the seconds before one is forgotten.
const PAGE = 20;
const WAIT = 10;

// The chat that is shown: its session, none before its first answer, and the request that it waits for.
let chat = { id: null, running: null };
// The sessions that are listed, newest first, and the number of all.
let sessions = [];
let total = 0;
// The session that is about to be forgotten.
let leaving = null;

// An element with a text, which is never read as HTML.
const element = (name, text = "", kind = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = kind;
  return made;
};
const button = (text, onclick, kind = "") => Object.assign(element("button", text, kind), { type: "button", onclick });
const link = (text, href) => Object.assign(element("a", text), { href, dir: "auto" });
// It opens beside the chat.
const beside = (made) => Object.assign(made, { target: "_blank", rel: "noopener noreferrer" });
const counted = (count, noun, many = `${noun}s`) => `${count} ${count === 1 ? noun : many}`;
const when = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const beginning = (text, length = 80) => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
};

// Asks rsv-proxy; an answer that is an error becomes one here.
const ask = async (path, options = {}, query = {}) => {
  const user = at("user").value.trim();
  // A header could not have every character of a name.
  const parameters = String(new URLSearchParams(user ? { ...query, user_id: user } : query));
  const answer = await fetch(base + path + (parameters && `?${parameters}`), options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The server does not answer.");
  });
  if (!answer.ok) {
    const body = await answer.json().catch(() => ({}));
    throw new Error(body.error?.message ?? `${answer.status} ${answer.statusText}`);
  }
  return answer;
};
const json = async (...words) => (await ask(...words)).json();
const of = (id) => `/api/sessions/${encodeURIComponent(id)}`;

// Does something; why it failed stands in an element until it is done again.
const attempt = async (place, what) => {
  place.replaceChildren();
  try {
    await what();
  } catch (error) {
    place.replaceChildren(alarm(error));
  }
};
const alarm = (error) => Object.assign(element("p", error.message, "trouble"), { role: "alert" });

// The events of a stream, as they come.
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\ndata: ");
      yield { name: name.replace("event: ", ""), data: JSON.parse(data) };
    }
  }
}

// The messages continue with the answer only if one is at their end.
const turns = at("turns");
const following = (change) => {
  const isAtEnd = turns.scrollHeight - turns.scrollTop - turns.clientHeight < 40;
  change();
  if (isAtEnd) turns.scrollTop = turns.scrollHeight;
};

const article = (role, text, time) => {
  const made = element("article", "", role);
  const head = element("header");
  head.append(element("h2", role));
  if (time) head.append(Object.assign(element("time", when(time)), { dateTime: time }));
  made.append(head, Object.assign(element("div", text, "text raw"), { dir: "auto" }));
  turns.append(made);
  return made;
};

// The markup is of the server's renderer, which makes text of all HTML in an answer.
const draw = (made, html) => {
  const text = made.querySelector(".text");
  text.className = "text";
  text.innerHTML = html;
  text.querySelectorAll("a").forEach(beside);
};

// The records that were recalled for an answer.
const KINDS = { memory: ["memory", "memories"], document: ["document"], message: ["message"] };
const addRecalled = (made, recalled = []) => {
  made.querySelector(".account")?.remove();
  if (recalled.length === 0) return;
  const counts = Object.entries(KINDS)
    .map(([kind, words]) => [recalled.filter((one) => one.kind === kind).length, ...words])
    .filter(([count]) => count > 0);
  const list = element("ul");
  list.append(...recalled.map(sourceItem));
  const details = element("details", "", "account");
  details.append(element("summary", `Recalled: ${counts.map((words) => counted(...words)).join(", ")}`), list);
  made.append(details);
};
const where = ({ kind, session_id: session, title, role, uri, score, created_at: time }) =>
  [
    kind === "message" ? `${role} in ${session === chat.id ? "this chat" : `“${beginning(title || session, 50)}”`}` : kind,
    uri,
    time && when(time),
    score !== undefined && `score ${score.toFixed(2)}`,
  ]
    .filter(Boolean)
    .join(", ");
const sourceItem = (one) => {
  const item = element("li");
  const isMissing = one.text === undefined && !one.page;
  const name = one.kind === "message" ? beginning(one.text ?? "") : one.title || one.uri || beginning(one.text ?? "");
  const label = name || one.uri || one.id;
  const place = isMissing ? `${one.kind}, not found` : one.text === undefined ? one.kind : where(one);
  const open = one.page ? beside(link(label, pages + one.page)) : button(label, () => showSource(one, label), "plain");
  item.append(isMissing ? element("code", label) : open, " ", Object.assign(element("span", place, "meta"), { dir: "auto" }));
  return item;
};
const showSource = (one, label) => {
  const heading = Object.assign(element("h2", label), { tabIndex: -1, dir: "auto" });
  const text = Object.assign(element("div", one.text, "text raw"), { tabIndex: 0, dir: "auto" });
  const more = one.session_id ? [link("Open its chat", `#${encodeURIComponent(one.session_id)}`)] : [];
  at("source").replaceChildren(heading, element("p", where(one), "meta"), text, ...more);
  at("source").hidden = false;
  at("source").closest("details").open = true;
  heading.focus();
};

const showContext = ({ context = [], openviking_error: trouble, search_trace: trace }) => {
  at("context").replaceChildren(
    ...context.map((piece) => {
      const item = element("li", piece.text);
      item.prepend(element("div", `${piece.source} ${piece.score.toFixed(2)} ${piece.uri}`, "meta"));
      return item;
    }),
  );
  if (trouble) at("context").append(element("li", trouble, "trouble"));
  const steps = (trace?.query_results ?? []).flatMap((result) => result.steps);
  at("steps").replaceChildren(...steps.map(({ kind, event, ...more }) => element("li", `${event} ${JSON.stringify(more)}`)));
};

// Shows which chat this is, and whether it waits.
const update = () => {
  const focused = document.activeElement;
  const known = sessions.find(({ id }) => id === chat.id);
  at("title").textContent = known?.title || chat.id || "New chat";
  at("commit").disabled = at("delete").disabled = !chat.id || chat.running !== null;
  at("send").hidden = chat.running !== null;
  at("stop").hidden = chat.running === null;
  if (focused === at(chat.running ? "send" : "stop")) at(chat.running ? "stop" : "message").focus();
  const hash = chat.id ? `#${encodeURIComponent(chat.id)}` : "";
  if (location.hash !== hash) history.replaceState(null, "", location.pathname + location.search + hash);
  const rows = sessions.map((one) => {
    const title = one.title || one.id;
    const row = Object.assign(link("", `#${encodeURIComponent(one.id)}`), { className: "row", title });
    if (one.id === leaving?.id) row.classList.add("leaving");
    if (one.id === chat.id) row.setAttribute("aria-current", "page");
    const count = `${counted(one.message_count, "message")} · ${when(one.last_message_at)}`;
    row.append(element("strong", title), element("span", count, "meta"));
    const item = element("li");
    item.append(row);
    return item;
  });
  const isListed = at("sessions").contains(focused);
  at("sessions").replaceChildren(...(rows.length ? rows : [element("li", "No chats yet.", "meta")]));
  if (isListed) rows.find(({ firstChild }) => firstChild.href === focused.href)?.firstChild.focus();
  at("more").hidden = sessions.length >= total;
  at("more").textContent = `More chats (${total - sessions.length})`;
};

// The list as the server has it. A chat that has just begun may not be stored yet.
const listSessions = async () => {
  const begun = sessions.filter((one) => one.isNew);
  const listed = await json("/api/sessions", {}, { limit: Math.max(PAGE, sessions.length) });
  const own = begun.filter((one) => !listed.sessions.some(({ id }) => id === one.id));
  sessions = [...own, ...listed.sessions];
  total = listed.total + own.length;
  update();
};
const listMore = async () => {
  const own = sessions.filter((one) => one.isNew).length;
  const listed = await json("/api/sessions", {}, { limit: PAGE, offset: sessions.length - own });
  const added = listed.sessions.filter(({ id }) => !sessions.some((one) => one.id === id));
  sessions = [...sessions, ...added];
  total = added.length ? listed.total + own : sessions.length;
  update();
  at("sessions").children[sessions.length - added.length]?.querySelector("a").focus();
};
const refresh = () => attempt(at("list-trouble"), listSessions);

const clear = () => {
  at("committed").textContent = "";
  turns.replaceChildren();
  showContext({});
  at("source").hidden = true;
};
const begin = () => {
  chat = { id: null, running: null };
  clear();
  update();
};
// The text of a message, whose other parts are not shown.
const textOf = (content) =>
  typeof content === "string" ? content : [content].flat().map((part) => part?.text ?? "").join("\n");
const open = async (id) => {
  const own = (chat = { id, running: null });
  clear();
  update();
  try {
    const { messages } = await json(of(id), {}, { recalled: true, html: true });
    if (chat !== own) return;
    for (const { role, content, created_at: time, html, recalled } of messages) {
      const made = article(role, textOf(content), time);
      if (html !== undefined) draw(made, html);
      addRecalled(made, recalled);
    }
    turns.scrollTop = turns.scrollHeight;
  } catch (error) {
    if (chat === own) turns.append(alarm(error));
  }
};

const send = async (message) => {
  const own = chat;
  const isNew = !own.id;
  const user = at("user").value;
  if (own.id && leaving?.id === own.id) leaving.undo();
  own.running = new AbortController();
  if (isNew) turns.replaceChildren();
  const asked = article("user", message, new Date().toISOString());
  const made = article("assistant", "");
  made.setAttribute("aria-busy", "true");
  const text = made.querySelector(".text");
  const trouble = made.appendChild(element("div"));
  turns.scrollTop = turns.scrollHeight;
  update();
  const body = { message, debug_search_trace: true, recalled: true, html: true };
  if (own.id) body.session_id = own.id;
  if (at("model").value) body.model = at("model").value;
  if (at("document").value) body.doc_id = at("document").value;
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  try {
    let ended = false;
    for await (const { name, data } of events(await ask("/api/ai/chat/stream", { ...options, signal: own.running.signal }))) {
      if (name === "context") {
        own.id = data.session_id;
        if (isNew && user === at("user").value) {
          const title = beginning(message);
          sessions = [{ id: own.id, title, message_count: 1, last_message_at: new Date().toISOString(), isNew }, ...sessions];
          total += 1;
        }
        following(() => addRecalled(made, data.recalled));
        made.append(trouble);
        if (chat === own) showContext(data);
        update();
      }
      if (name === "token") following(() => text.append(data.token));
      if (name === "mood" && data.mood !== "neutral") made.title = data.mood;
      if (name === "done") {
        ended = true;
        following(() => draw(made, data.html));
        if (chat === own) at("said").textContent = text.textContent;
      }
      if (name === "error") throw new Error(data.message);
    }
    if (!ended) throw new Error("The answer broke off.");
  } catch (error) {
    const isStopped = error.name === "AbortError";
    following(() => trouble.append(isStopped ? element("p", "Stopped.", "meta") : alarm(error)));
    if (isStopped && chat === own) at("said").textContent = "Stopped.";
    // A question that could not be asked can be sent again.
    if (!isStopped && chat === own && !at("message").value) at("message").value = message;
    if (!isStopped) sessions = sessions.filter((one) => !one.isNew || one.id !== own.id);
  }
  made.removeAttribute("aria-busy");
  own.running = null;
  if (chat === own) update();
  // The server answers when the turn is stored, which the list does not wait for.
  if (own.id) await ask(of(own.id), { method: "HEAD" }).catch(() => {});
  await refresh();
  if (chat !== own && chat.id === own.id && !asked.isConnected) await open(own.id);
};

// A notice with a button; the one before it goes.
const notify = (text, ...more) => {
  const notice = element("p");
  notice.append(element("span", text), ...more);
  at("notices").replaceChildren(notice);
};
// Forgets a session after ten seconds in which it can be undone.
const forget = (id) => {
  leaving?.undo();
  let left = WAIT;
  // It is not read out each second.
  const count = Object.assign(element("span", `${left} s`), { ariaHidden: "true" });
  const end = () => {
    clearInterval(timer);
    leaving = null;
    update();
  };
  const undo = () => {
    end();
    notify("Nothing was forgotten.");
  };
  const undoing = button("Undo", () => {
    undo();
    at("message").focus();
  });
  notify("This chat is forgotten in ten seconds, if this page stays open.", count, undoing);
  leaving = { id, undo };
  const timer = setInterval(async () => {
    left -= 1;
    count.textContent = `${left} s`;
    if (left > 0) return;
    end();
    await attempt(at("notices"), async () => {
      await ask(of(id), { method: "DELETE" });
      sessions = sessions.filter((one) => one.id !== id);
      total -= 1;
      if (chat.id === id) begin();
      notify("The chat is forgotten.");
      await listSessions();
    });
  }, 1000);
  update();
  undoing.focus();
};

const commit = async () => {
  const done = await json(`${of(chat.id)}/commit`, { method: "POST" });
  const { status, memories_created: created, memories_merged: merged, memories_skipped: skipped } = done;
  at("committed").textContent = `${status}: ${created} created, ${merged} merged, ${skipped} skipped`;
};

const listDocuments = async () => {
  const { documents } = await json("/api/documents");
  const chosen = at("document").value;
  const option = ({ doc_id: id, name, state }) => new Option(state === "ready" ? name : `${name} (${state})`, id);
  at("document").replaceChildren(new Option("all", ""), ...documents.map(option));
  at("document").value = documents.some(({ doc_id: id }) => id === chosen) ? chosen : "";
};
const upload = async (file) => {
  const form = new FormData();
  form.append("file", file);
  const { doc_id: id } = await json("/api/documents/upload", { method: "POST", body: form });
  for (;;) {
    const { state, error } = await json(`/api/documents/${id}`);
    if (state === "failed") throw new Error(`${file.name}: ${error}`);
    at("uploads").textContent = `${file.name}: ${state}`;
    if (state === "ready") break;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  await listDocuments();
};

at("ask").onsubmit = (event) => {
  event.preventDefault();
  const message = at("message").value.trim();
  if (!message || chat.running) return;
  at("message").value = "";
  send(message);
};
at("message").onkeydown = (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("ask").requestSubmit();
};
at("stop").onclick = () => {
  chat.running?.abort();
  at("message").focus();
};
at("new").onclick = () => {
  begin();
  at("message").focus();
};
at("more").onclick = () => attempt(at("list-trouble"), listMore);
at("commit").onclick = () => attempt(at("committed"), commit);
at("delete").onclick = () => forget(chat.id);
at("file").onchange = () => {
  const [file] = at("file").files;
  // The same file can be chosen again.
  at("file").value = "";
  if (file) attempt(at("uploads"), () => upload(file));
};
at("skip").onclick = (event) => {
  event.preventDefault();
  at("message").focus();
};

// The address names the chat, so that it can be linked to, and is there again after a reload.
const named = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};
const narrow = matchMedia("(max-width: 60rem)");
addEventListener("hashchange", () => {
  const id = named();
  if (id === (chat.id ?? "")) return;
  if (id) open(id);
  else begin();
  if (narrow.matches) at("sessions").closest("details").open = false;
});
const start = () => {
  sessions = [];
  refresh();
  attempt(at("uploads"), listDocuments);
};
at("user").onchange = () => {
  leaving?.undo();
  begin();
  start();
};
if (meta("rsv-memory")) at("home").href = pages + meta("rsv-memory");
const fold = () => document.querySelectorAll("body > header > details, #chats > details, aside > details").forEach((one) => (one.open = !narrow.matches));
narrow.onchange = fold;
fold();
if (named()) open(named());
else update();
start();
