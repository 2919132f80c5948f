
// Tiles and small tables: the latest figures.

/** Fills a table; columns: [name, is a number]. `rows` holds arrays of strings or elements. */
function fill(id, columns, rows, empty) {
  const table = byId(id);
  const kind = (at) => (columns[at][1] ? { class: "number" } : {});
  if (!table.tHead.rows.length) {
    table.tHead.append(make("tr", {}, ...columns.map(([name], at) => make("th", { scope: "col", ...kind(at) }, name))));
  }
  const cells = (row) => row.map((cell, at) => make("td", kind(at), cell));
  const body = rows.length
    ? rows.map((row) => make("tr", {}, ...cells(row)))
    : [make("tr", {}, make("td", { class: "empty", colspan: columns.length }, empty))];
  table.tBodies[0].replaceChildren(...body);
}

/** Text with a bar below it, `part` of the width. */
function withBar(text, part, kind = "") {
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${Math.max(part * 100, 1).toFixed(1)}%`;
  const words = make("span", { class: kind }, text);
  const cell = document.createDocumentFragment();
  cell.append(words, bar);
  return cell;
}

function showTalkers(id, talkers) {
  const most = Math.max(1, ...talkers.map(({ packets }) => packets));
  const rows = talkers.map(({ address, packets, bytes, at_most_over }) => {
    const over = at_most_over ? `at most ${grouped(at_most_over)} too many` : "exact so far";
    return [withBar(address, packets / most, "address"), make("span", { title: over }, grouped(packets)), size(bytes)];
  });
  fill(id, [["Address"], ["Packets", true], ["Bytes", true]], rows, "No packets yet.");
}

function showCapture(view) {
  const rows = view.interfaces.map((counts) => [
    counts.interface,
    make("span", { class: counts.is_open ? "up" : "down" }, counts.is_open ? "captured" : "gone"),
    grouped(counts.packets), size(counts.bytes),
    grouped(counts.kernel_drops), grouped(counts.interface_drops), grouped(counts.losses_of_link),
  ]);
  const columns = [["Interface"], ["State"], ["Packets", true], ["Bytes", true], ["Lost by the kernel", true], ["Lost by the interface", true], ["Went away", true]];
  fill("interfaces", columns, rows, "No interfaces.");

  const alerts = Object.entries(view.alerts).filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...alerts.map(([, count]) => count));
  fill("by-rule", [["Rule"], ["Alerts", true]], alerts.map(([rule, count]) => [withBar(rule, count / most), grouped(count)]), "No alerts yet.");

  const counted = (counts, what) => Object.entries(counts).filter(([, count]) => count > 0).map(([why, count]) => [what, why, grouped(count)]);
  const left = [...counted(view.skipped, "packets"), ...counted(view.left_out, "alerts"), ...counted(view.only_counted, "alerts only counted")];
  fill("left-out", [["What"], ["Why"], ["Count", true]], left, "Nothing was left out.");
}

/** [label, value, more, kind] of each tile. */
function tiles(view, sample) {
  const { store, lookups } = view;
  const lost = sum(view.drops);
  const rate = (name, unit) => (sample ? short(sample[name], unit) : "–");
  return [
    ["packets per second", rate("packets_per_second", ""), `${grouped(view.packets)} in all`],
    ["bits per second", sample ? short(sample.bytes_per_second * 8, "") : "–", `${size(view.bytes)} in all`],
    ["packets lost", grouped(lost), `${share(lost / Math.max(view.packets + lost, 1))} of all`, lost ? "warn" : ""],
    [store.live_estimated ? "live flows, estimated" : "live flows", grouped(store.live_flows), store.backend === "exact" ? "" : `made for ${grouped(store.flows)}`, overload(view) ? "bad" : ""],
    ["fill of the store", share(store.fill_ratio), `${store.backend}, ${size(store.bits / 8)}`],
    errorTile(view, `“don’t know”: ${share(lookups.dont_know / Math.max(sum(lookups), 1))}`),
    ["alerts", grouped(sum(view.alerts)), sample && sample.alerts_per_second > 0 ? `${short(sample.alerts_per_second)} per second` : "none just now"],
  ];
}

/** The measured error; the expected one, where fewer than 100 flows are sampled. */
function errorTile({ error: { measured }, store }, more) {
  if (measured === null || measured.flows < 100) return ["expected error", share(store.predicted_error), more];
  const words = `at most ${share(measured.high)}, worst minute ${share(measured.worst)}; ${more}`;
  return ["measured error", share(measured.wrong / Math.max(measured.asked, 1)), words];
}

function showTiles(view, sample) {
  const all = tiles(view, sample).map(([label, value, more, kind = ""]) =>
    make("div", { class: kind }, make("dt", {}, label), make("dd", {}, value), make("dd", { class: "more" }, more)));
  byId("tiles").replaceChildren(...all);
}

/** Whether the store is overloaded; the tolerance is that of the program's warning. */
function overload({ store }) {
  return store.backend !== "exact" && store.live_flows > 1.05 * store.flows;
}
