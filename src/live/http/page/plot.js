
// One plot: lines over the last minutes, with values under the pointer.

// The left margin is wide enough for "0.0002 %".
const MARGIN = { left: 56, right: 6, top: 8, bottom: 18 };
const LONGEST_SECONDS = 600;
const SHORTEST_SECONDS = 60;
const GAP_SECONDS = 4;
const STEPS_SECONDS = [30, 60, 120, 300];
const DASHES = ["", "5 3"];

/** A round number at or above `most`, and the steps up to it. */
function ticksUpTo(most) {
  if (!(most > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2, 5].map((part) => part * power).find((step) => step * 4 >= most) ?? 2.5 * power;
  const ticks = [0];
  while (ticks.at(-1) < most * 0.999) ticks.push((ticks.length) * step);
  return ticks;
}

class Plot {
  /**
   * `series`: [{ name, of(sample) }]; `format` for values; `planned()` gives a value for a dashed line,
   * or null. `onPoint(seconds | null)` is called with the position of the pointer.
   */
  constructor({ title, format, series, planned = () => null, onPoint }) {
    Object.assign(this, { title, format, planned, onPoint, series: [] });
    this.value = make("output");
    this.caption = make("figcaption", {}, make("span", {}, title), this.value);
    this.note = make("p", { class: "note" });
    this.legend = make("ul", { class: "legend" });
    this.svg = draw("svg", { class: "plot", role: "img", tabindex: "0" });
    this.figure = make("figure", {}, this.caption, this.note, this.legend, this.svg);
    this.setSeries(series);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => onPoint(null));
    this.svg.addEventListener("blur", () => onPoint(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  setSeries(series) {
    this.series = series;
    this.legend.hidden = series.length < 2;
    this.note.hidden = series.length >= 2;
    this.legendValues = series.map(() => make("b"));
    this.legend.replaceChildren(...series.map(({ name }, at) => {
      const swatch = draw("svg", { viewBox: "0 0 18 8", "aria-hidden": "true" });
      swatch.append(draw("path", { d: "M0 4H18", class: `k${at % 8}`, "stroke-width": 2.5, "stroke-dasharray": DASHES[Math.floor(at / 8) % 2] }));
      return make("li", {}, swatch, `${name} `, this.legendValues[at]);
    }));
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    if (this.end === undefined || box.width === 0) return;
    const part = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
    this.onPoint(this.start + Math.min(Math.max(part, 0), 1) * (this.end - this.start));
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && this.end !== undefined) {
      const from = this.cursor ?? this.end;
      const to = from + step * (event.shiftKey ? 30 : 1);
      this.onPoint(to >= this.end ? null : Math.max(to, this.start));
      event.preventDefault();
    } else if (event.key === "Escape") {
      this.onPoint(null);
    }
  }

  /** Draws `samples`, with the values of the one at `cursor` seconds, or of the last. */
  draw(samples, cursor) {
    this.cursor = cursor;
    if (samples.length === 0) return this.drawEmpty();
    this.end = samples.at(-1).uptime_seconds;
    const span = this.end - samples[0].uptime_seconds;
    // 600 samples span 599 seconds.
    this.start = this.end - (span > LONGEST_SECONDS - 5 ? LONGEST_SECONDS : Math.max(span, SHORTEST_SECONDS));
    const seen = samples.filter((sample) => sample.uptime_seconds >= this.start);
    const most = Math.max(0, ...seen.map((sample) => Math.max(...this.series.map(({ of }) => of(sample)))));
    const planned = this.planned();
    const showsPlanned = planned !== null && most > planned / 4;
    const [width, height] = this.size();
    const ticks = ticksUpTo(showsPlanned ? Math.max(most, planned * 1.05) : most);
    const right = width - MARGIN.right;
    const bottom = height - MARGIN.bottom;
    const x = (seconds) => MARGIN.left + ((seconds - this.start) / (this.end - this.start)) * (right - MARGIN.left);
    const y = (value) => bottom - (value / ticks.at(-1)) * (bottom - MARGIN.top);

    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const parts = [...this.axes(ticks, { x, y, right, bottom })];
    if (showsPlanned) {
      parts.push(draw("path", { class: "planned", d: `M${MARGIN.left} ${y(planned).toFixed(1)}H${right}` }));
    }
    this.series.forEach(({ of }, at) => parts.push(...this.line(seen, of, at, { x, y, bottom })));
    const shown = this.sampleAt(seen, cursor);
    if (cursor !== null) parts.push(...this.marks(shown, { x, y, bottom }));
    this.svg.replaceChildren(...parts);
    this.tell(shown, most, cursor);
  }

  drawEmpty() {
    const [width, height] = this.size();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const text = draw("text", { x: width / 2, y: height / 2, "text-anchor": "middle" });
    text.textContent = "the first figures come in a second or two";
    this.svg.replaceChildren(text);
    say(this.value, "");
    this.svg.setAttribute("aria-label", `${this.title}: no figures yet`);
  }

  /** Uses pixels as units, so that text keeps its size. */
  size() {
    return [this.svg.clientWidth || 360, this.svg.clientHeight || 132];
  }

  *axes(ticks, { x, y, right, bottom }) {
    for (const tick of ticks) {
      const at = Math.round(y(tick)) + 0.5;
      yield draw("path", { class: tick === 0 ? "base" : "grid", d: `M${MARGIN.left} ${at}H${right}` });
      const label = draw("text", { x: MARGIN.left - 6, y: at + 3.5, "text-anchor": "end" });
      label.textContent = this.format(tick, true);
      yield label;
    }
    const span = this.end - this.start;
    const step = STEPS_SECONDS.find((step) => span / step < 4) ?? span;
    for (let ago = 0; ago <= span; ago += step) {
      const place = x(this.end - ago);
      const anchor = ago === 0 ? "end" : place < MARGIN.left + 20 ? "start" : "middle";
      const label = draw("text", { x: place, y: bottom + 14, "text-anchor": anchor });
      label.textContent = before(ago);
      yield label;
    }
  }

  /** A line with gaps where samples are missing; a single one is filled below. */
  *line(samples, of, at, { x, y, bottom }) {
    const runs = [];
    samples.forEach((sample, index) => {
      const follows = index > 0 && sample.uptime_seconds - samples[index - 1].uptime_seconds < GAP_SECONDS;
      if (!follows) runs.push([]);
      runs.at(-1).push(`${x(sample.uptime_seconds).toFixed(1)} ${y(of(sample)).toFixed(1)}`);
    });
    if (this.series.length === 1) {
      const area = runs.map((run) => {
        const [first, last] = [run[0], run.at(-1)].map((place) => place.split(" ")[0]);
        return `M${first} ${bottom}L${run.join("L")}L${last} ${bottom}Z`;
      });
      yield draw("path", { class: `area k${at % 8}`, d: area.join("") });
    }
    const d = runs.map((run) => `M${run.join("L")}${run.length === 1 ? "h1" : ""}`).join("");
    yield draw("path", { class: `line k${at % 8}`, d, "stroke-dasharray": DASHES[Math.floor(at / 8) % 2] });
  }

  sampleAt(samples, cursor) {
    if (cursor === null) return samples.at(-1);
    const distance = (sample) => Math.abs(sample.uptime_seconds - cursor);
    return samples.reduce((best, sample) => (distance(sample) < distance(best) ? sample : best));
  }

  *marks(sample, { x, y, bottom }) {
    const at = x(sample.uptime_seconds).toFixed(1);
    yield draw("path", { class: "cursor", d: `M${at} ${MARGIN.top}V${bottom}` });
    for (const [index, { of }] of this.series.entries()) {
      yield draw("circle", { class: `k${index % 8}`, cx: at, cy: y(of(sample)).toFixed(1), r: 3 });
    }
  }

  tell(sample, most, cursor) {
    const values = this.series.map(({ of }) => this.format(of(sample)));
    values.forEach((value, at) => say(this.legendValues[at], value));
    const when = cursor === null ? "" : before(this.end - sample.uptime_seconds);
    say(this.value, this.series.length === 1 ? [when, values[0]].filter(Boolean).join("  ") : when);
    const told = this.series.map(({ name }, at) => (this.series.length === 1 ? values[at] : `${name} ${values[at]}`));
    const label = `${this.title}: ${told.join(", ")} ${when || "now"}; at most ${this.format(most)} in ${duration(this.end - this.start)}`;
    this.svg.setAttribute("aria-label", label);
  }
}
