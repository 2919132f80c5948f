
// The table of alerts: search, filters, sort order.

const KEPT_ALERTS = 1000;
const SHOWN_ROWS = 200;
const SEVERITIES = ["", "1 high", "2 medium", "3 low", "4 info"];

const ends = ({ src_ip, src_port, dest_ip, dest_port }) => [[src_ip, src_port], [dest_ip, dest_port]];
const end = ([ip, port]) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`);

/** Name, sort key, CSS class of the cell. */
const COLUMNS = [
  ["Time (UTC)", (alert) => alert.number, "time"],
  ["Severity", (alert) => alert.severity, "severity"],
  ["Rule", (alert) => alert.rule, "what"],
  ["Source", (alert) => end(ends(alert)[0]), "from address"],
  ["Destination", (alert) => end(ends(alert)[1]), "to address"],
  ["Flags", (alert) => alert.tcp_flags, "flags"],
];

class Alerts {
  constructor() {
    this.kept = [];
    this.total = 0;
    this.sort = { column: 0, falling: true };
    this.rules = byId("rule");
    this.body = byId("alert-table").tBodies[0];
    this.headers = COLUMNS.map(([name], column) => {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", () => this.sortBy(column));
      return make("th", { scope: "col" }, button);
    });
    byId("alert-table").tHead.rows[0].replaceChildren(...this.headers);
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    for (const control of [byId("search"), byId("severity"), this.rules]) {
      control.addEventListener("input", () => this.draw());
    }
  }

  lastNumber() {
    return this.kept.at(-1)?.number ?? 0;
  }

  clear() {
    this.kept = [];
  }

  fresh(alerts) {
    const last = this.lastNumber();
    return alerts.filter(({ number }) => number > last);
  }

  /** Whether alerts are missing between the ones we have and these. */
  misses(alerts) {
    return this.fresh(alerts)[0]?.number > this.lastNumber() + 1;
  }

  /** Adds the new ones. */
  add(alerts) {
    const fresh = this.fresh(alerts);
    for (const alert of fresh) {
      const text = [alert.rule, alert.message, alert.tcp_flags, SEVERITIES[alert.severity], ...ends(alert).map(end)];
      alert.text = text.join(" ").toLowerCase();
    }
    this.kept = [...this.kept, ...fresh].slice(-KEPT_ALERTS);
  }

  /** The rules to select from, with the number of alerts of each. */
  show(view) {
    this.total = sum(view.alerts);
    const options = view.rules.filter(({ is_shown }) => is_shown).map(({ name }) => [name, view.alerts[name] ?? 0]);
    const texts = [["", "all"], ...options.map(([name, count]) => [name, count ? `${name} (${grouped(count)})` : name])];
    const known = [...this.rules.options].map(({ value }) => value).join();
    if (known !== texts.map(([name]) => name).join()) {
      const chosen = this.rules.value;
      this.rules.replaceChildren(...texts.map(([value]) => make("option", { value })));
      this.rules.value = texts.some(([name]) => name === chosen) ? chosen : "";
    }
    texts.forEach(([, text], at) => say(this.rules.options[at], text));
    this.draw();
  }

  sortBy(column) {
    const falling = this.sort.column === column ? !this.sort.falling : column === 0;
    this.sort = { column, falling };
    this.draw();
  }

  matching() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const severity = Number(byId("severity").value);
    const rule = this.rules.value;
    return this.kept.filter((alert) =>
      alert.severity <= severity && (!rule || alert.rule === rule) && words.every((word) => alert.text.includes(word)));
  }

  draw() {
    const { column, falling } = this.sort;
    const key = COLUMNS[column][1];
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (falling ? -1 : 1) || b.number - a.number;
    const matching = this.matching().sort(order);
    const shown = matching.slice(0, SHOWN_ROWS);
    this.headers.forEach((header, at) => {
      header.setAttribute("aria-sort", at !== column ? "none" : falling ? "descending" : "ascending");
    });
    const state = JSON.stringify([column, falling, shown.map(({ number }) => number)]);
    if (state !== this.drawn) {
      this.drawn = state;
      this.body.replaceChildren(...(shown.length ? shown.map((alert) => this.row(alert)) : [this.emptyRow()]));
    } else if (!shown.length) {
      this.body.replaceChildren(this.emptyRow());
    }
    this.count(matching.length, shown.length);
  }

  count(matching, shown) {
    const kept = this.kept.length;
    const parts = [matching === kept ? `the latest ${grouped(kept)}` : `${grouped(matching)} of the latest ${grouped(kept)} match`];
    if (shown < matching) parts.push(`${SHOWN_ROWS} shown`);
    parts.push(`${grouped(this.total)} since the start`);
    say(byId("alert-count"), kept === 0 ? "" : parts.join(" · "));
  }

  row(alert) {
    const [source, destination] = ends(alert);
    const count = alert.count === null ? "" : ` (${grouped(alert.count)})`;
    const cells = [
      [make("time", { datetime: alert.time, title: alert.time }, alert.time.slice(11, 23))],
      [make("span", { class: `badge s${alert.severity}` }, SEVERITIES[alert.severity] ?? String(alert.severity))],
      [make("span", { class: "rule" }, alert.rule), make("span", { class: "message" }, alert.message + count)],
      [end(source)],
      [end(destination)],
      [alert.tcp_flags],
    ];
    return make("tr", {}, ...cells.map((cell, at) => make("td", { class: COLUMNS[at][2] }, ...cell)));
  }

  emptyRow() {
    const text = this.kept.length ? "None of the latest alerts matches." : "No alerts yet. They appear here within a second or two.";
    return make("tr", {}, make("td", { class: "empty what", colspan: COLUMNS.length }, text));
  }
}
