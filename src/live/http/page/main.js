
// Requests the latest figures once per second, shows them, and reports when none arrive.

const EVERY_MILLIS = 1000;
const PATIENCE_MILLIS = 5000;
const STALE_MILLIS = 5000;
const FULL_SHOWN_MILLIS = 60000;

/** The value of `?token=` without decoding: a plus sign is a plus sign. */
const TOKEN = location.search.slice(1).split("&").find((pair) => pair.startsWith("token="))?.slice("token=".length);

async function get(path) {
  const headers = TOKEN ? { Authorization: `Bearer ${decodeURIComponent(TOKEN)}` } : {};
  const response = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MILLIS) });
  if (!response.ok) {
    const error = new Error((await response.text()).trim());
    error.status = response.status;
    throw error;
  }
  return response.json();
}

class Dashboard {
  constructor() {
    this.plots = new Plots(byId("plots"));
    this.alerts = new Alerts();
    this.view = null;
    this.paused = false;
    this.newWhilePaused = 0;
    this.trouble = null;
    this.heard = null;
    this.lastNews = performance.now();
    this.full = { count: null, since: -Infinity };
    byId("pause").addEventListener("click", () => this.pause());
    addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("visibilitychange", () => document.hidden || this.poll());
    for (const link of document.querySelectorAll("footer a")) {
      if (TOKEN) link.search = `token=${TOKEN}`;
    }
    this.poll();
  }

  key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "p") this.pause();
    if (event.key === "/") {
      byId("search").focus();
      event.preventDefault();
    }
  }

  pause() {
    this.paused = !this.paused;
    this.newWhilePaused = 0;
    byId("pause").setAttribute("aria-pressed", this.paused);
    say(byId("pause"), this.paused ? "Go on" : "Pause");
    this.show();
    if (!this.paused) this.poll();
  }

  async poll() {
    if (this.isPolling) return;
    this.isPolling = true;
    clearTimeout(this.timer);
    try {
      await (this.view === null ? this.loadAll() : this.loadRecent());
      this.trouble = null;
    } catch (error) {
      this.trouble = { status: error.status, words: error.message, since: this.trouble?.since ?? new Date() };
    }
    this.isPolling = false;
    this.show();
    this.timer = setTimeout(() => this.poll(), EVERY_MILLIS);
  }

  async loadAll() {
    const [history, view] = await Promise.all([get("/api/history"), get("/api/snapshot")]);
    this.hear(view);
    if (this.standsStill()) return;
    this.plots.load(history);
    this.alerts.clear();
    this.alerts.add(view.latest_alerts);
    this.take(view);
  }

  async loadRecent() {
    const { view, samples } = await get("/api/recent");
    this.hear(view);
    if (this.standsStill()) {
      const latest = view.latest_alerts.at(-1)?.number ?? 0;
      this.newWhilePaused = Math.max(0, latest - this.alerts.lastNumber());
      return;
    }
    // Another run, or we missed some of this one: request everything again.
    if (view.uptime_seconds < this.view.uptime_seconds || this.plots.misses(samples)) return this.loadAll();
    const all = this.alerts.misses(view.latest_alerts) ? await get("/api/snapshot") : view;
    if (this.standsStill()) return;
    this.plots.add(samples);
    this.alerts.add(all.latest_alerts);
    this.take(view);
  }

  /** While paused, new figures are not even stored: pointing at a plot or searching draws again. */
  standsStill() {
    return this.paused && this.view !== null;
  }

  /** Whether acsm still produces new figures, shown or not. */
  hear(view) {
    if (view.uptime_seconds !== this.heard) this.lastNews = performance.now();
    this.heard = view.uptime_seconds;
  }

  take(view) {
    if (this.full.count !== null && view.store.full > this.full.count) this.full.since = performance.now();
    this.full.count = view.store.full;
    this.view = view;
  }

  show() {
    const isStale = this.view !== null && performance.now() - this.lastNews > STALE_MILLIS;
    this.showStatus(isStale);
    if (this.paused || document.hidden) return;
    this.showNotices(isStale);
    document.body.classList.toggle("old", this.view !== null && (this.trouble !== null || isStale));
    const view = this.view;
    if (view === null) {
      this.plots.draw();
      return;
    }
    const names = view.interfaces.map((counts) => counts.interface).join(", ");
    document.title = `acsm: ${names}`;
    say(byId("about"), `${names} · up ${duration(view.uptime_seconds)} · ${view.store.backend} store`);
    showTiles(view, this.plots.latest());
    this.plots.show(view);
    this.alerts.show(view);
    showTalkers("sources", view.top_sources);
    showTalkers("destinations", view.top_destinations);
    showCapture(view);
  }

  showStatus(isStale) {
    const waits = this.newWhilePaused ? `, ${grouped(this.newWhilePaused)} new alerts` : "";
    const [kind, words] = this.trouble && this.view === null && this.trouble.status === 503 ? ["", "starting"]
      : this.trouble ? ["bad", this.trouble.status === 401 ? "no token" : "connection lost"]
      : isStale ? ["bad", "stands still"]
      : this.paused ? ["warn", `paused${waits}`]
      : ["good", "live"];
    byId("status").className = `pill ${kind}`;
    say(byId("status"), words);
  }

  /** [kind, text] of each current notice. */
  *notices(isStale) {
    const view = this.view;
    if (this.trouble?.status === 401) yield ["bad", `acsm refuses: ${this.trouble.words}`];
    else if (this.trouble?.status === 503) yield ["", this.trouble.words];
    else if (this.trouble) {
      yield ["bad", `The connection to acsm is lost since ${this.trouble.since.toLocaleTimeString()}. ${view ? "What is shown is old. " : ""}Trying again every second.`];
    } else if (isStale) {
      yield ["bad", `acsm answers, but its figures stand still for ${duration((performance.now() - this.lastNews) / 1000)}.`];
    }
    if (view === null) return;
    const { store } = view;
    for (const counts of view.interfaces.filter(({ is_open }) => !is_open)) {
      yield ["bad", `${counts.interface} is gone; acsm waits for it to come back.`];
    }
    if (view.overload.since !== null) {
      yield ["bad", `Overload since ${view.overload.since.slice(11, 19)} UTC: new flows are too many for the pending table or the store.`];
    }
    if (overload(view)) {
      yield ["bad", `About ${grouped(store.live_flows)} flows are alive, and the store was made for ${grouped(store.flows)} (--flows): by theory ${share(store.predicted_error)} of answers are wrong now.`];
    }
    if (performance.now() - this.full.since < FULL_SHOWN_MILLIS) {
      yield ["bad", `The store is full: ${grouped(store.full)} flows found no room since the start.`];
    }
    const lost = this.plots.latest()?.drops_per_second ?? 0;
    if (lost > 0) yield ["warn", `Packets are being lost: ${short(lost)} per second.`];
    if (view.one_way) yield ["warn", "Nearly all flows show one direction only: is the other one captured elsewhere?"];
    if (view.no_session_muted) yield ["", "Rules about packets without a session are mute for now: acsm has just started, packets were lost, or new flows are too many."];
  }

  showNotices(isStale) {
    const notices = [...this.notices(isStale)];
    const place = byId("notices");
    // Only what changes, so that screen readers do not repeat the rest.
    notices.forEach(([kind, words], at) => {
      const line = place.children[at] ?? place.appendChild(make("p"));
      line.className = `notice ${kind}`;
      say(line, words);
    });
    while (place.children.length > notices.length) place.lastElementChild.remove();
  }
}

new Dashboard();
