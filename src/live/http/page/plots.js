
// All plots, and the samples that they show.

const KEPT_SAMPLES = 600;

class Plots {
  constructor(place) {
    this.samples = [];
    this.cursor = null;
    this.view = null;
    const perSecond = (value, isTick) => short(value, isTick ? "" : "/s", isTick);
    const one = (name) => [{ name, of: (sample) => sample[name] }];
    const plot = (options) => new Plot({ ...options, onPoint: (seconds) => this.pointAt(seconds) });
    this.states = plot({ title: "Transitions, by state", format: perSecond, series: [] });
    this.flows = plot({
      title: "Live flows",
      format: (value, isTick) => (isTick ? short(value, "", true) : grouped(value)),
      series: one("live_flows"),
      planned: () => (this.view && this.view.store.backend !== "exact" ? this.view.store.flows : null),
    });
    this.drops = plot({ title: "Packets lost", format: perSecond, series: one("drops_per_second") });
    this.fill = plot({ title: "Fill of the store", format: share, series: one("fill_ratio") });
    this.error = plot({ title: "Error that theory expects", format: share, series: one("predicted_error") });
    this.all = [
      plot({
        title: "Packets",
        format: perSecond,
        series: [
          { name: "all", of: (sample) => sample.packets_per_second },
          { name: "TCP", of: (sample) => sample.tcp_packets_per_second },
        ],
      }),
      plot({
        title: "Traffic",
        format: (value, isTick) => short(value * 8, isTick ? "" : "bit/s", isTick),
        series: one("bytes_per_second"),
      }),
      this.drops,
      this.states,
      this.flows,
      plot({ title: "Alerts", format: perSecond, series: one("alerts_per_second") }),
      this.fill,
      this.error,
      plot({ title: "Answers “don’t know”", format: perSecond, series: one("dont_know_per_second") }),
    ];
    place.replaceChildren(...this.all.map(({ figure }) => figure));
    addEventListener("resize", () => this.draw());
  }

  /** Replaces all samples by the last ten minutes. */
  load({ states, samples }) {
    this.states.setSeries(states.map((name, at) => ({ name, of: (sample) => sample.entered_per_second[at] ?? 0 })));
    this.samples = samples;
  }

  fresh(samples) {
    const last = this.latest()?.uptime_seconds ?? -1;
    return samples.filter(({ uptime_seconds }) => uptime_seconds > last);
  }

  /** Whether samples are missing between the ones we have and these. */
  misses(samples) {
    return this.samples.length > 0 && samples.length > 1 && this.fresh(samples).length === samples.length;
  }

  /** Adds the new ones. */
  add(samples) {
    this.samples = [...this.samples, ...this.fresh(samples)].slice(-KEPT_SAMPLES);
  }

  latest() {
    return this.samples.at(-1) ?? null;
  }

  pointAt(seconds) {
    this.cursor = seconds;
    this.draw();
  }

  /** Draws all plots, with notes from the figures of `view`. */
  show(view) {
    this.view = view;
    const { store, drops, lookups } = view;
    const estimated = store.live_estimated ? "estimated: this store cannot count them" : "counted";
    const made = store.backend === "exact" ? "" : `; made for ${grouped(store.flows)}`;
    say(this.flows.note, `${estimated}${made}`);
    say(this.drops.note, `${grouped(sum(drops))} since the start: ${Object.entries(drops).map(([who, count]) => `${who} ${grouped(count)}`).join(", ")}`);
    say(this.fill.note, `${store.backend}, ${size(store.bits / 8)}`);
    say(this.error.note, "wrong answers per lookup, at this load");
    say(this.all.at(-1).note, `${share(lookups.dont_know / Math.max(sum(lookups), 1))} of all lookups since the start`);
    say(this.all[1].note, `${size(view.bytes)} since the start`);
    say(this.all[5].note, `${grouped(sum(view.alerts))} since the start`);
    this.draw();
  }

  draw() {
    for (const plot of this.all) plot.draw(plot.series.length ? this.samples : [], this.cursor);
  }
}
