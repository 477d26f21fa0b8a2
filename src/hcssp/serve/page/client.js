// The server's side of the page: one session, its edits one after another, and what it reports while it searches.

export async function request(method, path, body, as = "json", signal = null) {
  const answer = await fetch(`/api${path}`, { method, signal, headers: body === undefined ? {} : { "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) });
  if (answer.ok) return answer[as]();
  const text = await answer.text();
  let words = text;
  try { words = JSON.parse(text).error ?? text; } catch { /* An answer without JSON is shown as it is. */ }
  throw Object.assign(new Error(words || answer.statusText), { status: answer.status });
}

// A search has one plan, which is announced again whenever it is improved.
const isAfter = (one, other) => !other || one.plan > other.plan || (one.plan === other.plan && one.seq > other.seq);

export class Session {
  // on: state(state), search(search), plan(head, page), run(change), words(text), busy(isBusy), offline(isOffline)
  constructor(on) {
    Object.assign(this, { on, id: null, state: null, waiting: [], sending: false, questions: new AbortController(), wanted: null, fetching: false, newest: null });
  }

  post(path, body = {}) {
    return request("POST", `/sessions/${this.id}${path}`, body);
  }

  // A question; the server gives it up for an edit.
  async ask(path, body = {}, as = "json") {
    const { signal } = this.questions;
    try {
      return await request("POST", `/sessions/${this.id}${path}`, body, as, signal);
    } catch (error) {
      throw signal.aborted ? new Error("The question was given up for an edit; ask again.") : error;
    }
  }

  async create(body) {
    this.adopt(await request("POST", "/sessions", body));
  }

  async resume(id) {
    this.adopt(await request("GET", `/sessions/${id}`));
  }

  adopt(state) {
    this.events?.close();
    Object.assign(this, { id: state.session, waiting: [], wanted: null, newest: null });
    this.take(state);
    this.listen();
  }

  take(state) {
    this.state = state;
    this.on.state(state);
    const head = state.plans.at(-1);
    if (head) this.want(head);
  }

  listen() {
    const events = new EventSource(`/api/sessions/${this.id}/events`), json = (act) => (event) => act(JSON.parse(event.data));
    this.events = events;
    events.onopen = () => this.on.offline(false);
    events.onerror = () => this.on.offline(true);
    events.addEventListener("state", json((small) => {
      this.on.search(small.search);
      if (small.revision !== this.state.revision) this.refresh();
      else if (small.plans.length) this.want(small.plans.at(-1));
    }));
    events.addEventListener("search", json((search) => this.on.search(search)));
    events.addEventListener("plan", json((head) => this.want(head)));
    events.addEventListener("run", json(({ change }) => this.on.run(change)));
    events.addEventListener("worker", json(({ words }) => this.on.words(words)));
    events.addEventListener("saved", json(({ file }) => this.on.words(`Saved as ${file}.`)));
    events.addEventListener("closed", () => { events.close(); this.on.words("The server saved and closed this session. Reload the page to continue."); });
  }

  // What another window did; an edit of this one is answered anyway.
  async refresh() {
    if (this.sending || this.waiting.length) return;
    const state = await request("GET", `/sessions/${this.id}`);
    if (!this.sending && !this.waiting.length) this.take(state);
  }

  // The newest plan is fetched, one at a time; those that were overtaken are left out.
  async want(head) {
    this.state.plans = [...this.state.plans.filter((each) => each.plan !== head.plan), head].sort((a, b) => a.plan - b.plan);
    if (!isAfter(head, this.newest)) return;
    this.wanted = head;
    if (this.fetching) return;
    this.fetching = true;
    try {
      while (this.wanted) {
        const { id } = this;
        this.wanted = null;
        const { head: found, page } = await request("GET", `/sessions/${id}/plans/newest`);
        if (id !== this.id) continue;
        this.newest = found;
        this.on.plan(found, page);
      }
    } catch (error) {
      if (error.status !== 404) this.on.words(error.message);
    } finally {
      this.fetching = false;
    }
  }

  // An edit waits for those before it. One of the same `key` that still waits is replaced: dragging sends only the last.
  // An edit that `continues` the last one is undone with it.
  edit(body, key = null, continues = false) {
    const last = this.waiting.at(-1);
    if (key !== null && last?.key === key) last.body = { ...body, continues: last.body.continues };
    else this.waiting.push({ body: { ...body, continues }, key, path: "/edit" });
    return this.send();
  }

  // Whether a text is on its way to the server: what it means is not known yet.
  get readsText() {
    return this.inFlight?.text !== undefined || this.waiting.some(({ body }) => body.text !== undefined);
  }

  command(path) {
    this.waiting.push({ body: {}, key: null, path });
    return this.send();
  }

  async send() {
    this.questions.abort();
    this.questions = new AbortController();
    if (this.sending) return;
    this.sending = true;
    this.on.busy(true);
    try {
      while (this.waiting.length) {
        const { body, path } = this.waiting.shift(), { id } = this;
        // An edit that was answered in the meantime leaves nothing to redo.
        if (path !== "/edit" && !this.state[path.slice(1)]) continue;
        this.inFlight = body;
        try {
          const state = await request("POST", `/sessions/${id}${path}`, path === "/edit" ? { ...body, revision: this.state.revision } : body);
          if (id !== this.id) continue;
          // Until the last answer is there, the page's own copy is ahead of the server's.
          if (this.waiting.length) this.state = state;
          else this.take(state);
        } catch (error) {
          this.waiting = [];
          this.on.words(error.message);
          if (error.status !== undefined) this.take(await request("GET", `/sessions/${id}`));
        }
      }
    } finally {
      this.sending = false;
      this.inFlight = null;
      this.on.busy(false);
    }
  }
}

// A link that holds a small problem: its text, deflated, in base64 for addresses.
const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
export async function packedText(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
// A link may hold a bomb: what unpacks to more than a small problem is refused while it is read.
const MOST_TEXT = 1 << 20;
export async function unpackedText(packed) {
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader(), parts = [];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MOST_TEXT) throw new Error("The problem in the link is too large.");
    parts.push(part.value);
  }
  return new TextDecoder().decode(await new Blob(parts).arrayBuffer());
}
