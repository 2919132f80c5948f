
// Numbers and times for people; elements built from text, never from markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings become text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** Sets text only if it changes, so that screen readers announce changes only. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function byId(id) {
  return document.getElementById(id);
}

const grouped = (number) => Math.round(number).toLocaleString("en-US");

/** 1234567 → 1.23 M: three significant digits; on an axis (`isTick`) without trailing zeros. */
function short(number, unit = "", isTick = false) {
  const steps = ["", "k", "M", "G", "T", "P"];
  let step = 0;
  while (Math.abs(number) >= 999.5 && step < steps.length - 1) {
    number /= 1000;
    step += 1;
  }
  const digits = Math.abs(number) >= 99.5 || number === 0 ? 0 : Math.abs(number) >= 9.95 ? 1 : 2;
  const isWhole = step === 0 && Number.isInteger(number);
  const text = isWhole || isTick ? String(Number(number.toPrecision(3))) : number.toFixed(digits);
  const suffix = steps[step] + unit;
  return suffix ? `${text} ${suffix}` : text;
}

/** A size as in the rest of acsm: 2.3 MiB. */
function size(bytes) {
  const steps = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let step = 0;
  while (bytes >= 1024 && step < steps.length - 1) {
    bytes /= 1024;
    step += 1;
  }
  return `${step === 0 ? Math.ceil(bytes) : bytes.toFixed(1)} ${steps[step]}`;
}

/** A fraction: 12.3 %, or 1.2e-5 if that is clearer. */
function share(ratio, isTick = false) {
  if (ratio === 0) return "0 %";
  if (ratio < 0.00001) return ratio.toExponential(1);
  const percent = ratio * 100;
  if (isTick) return `${Number(percent.toPrecision(3))} %`;
  return `${percent >= 99.95 ? percent.toFixed(0) : percent.toPrecision(percent < 1 ? 2 : 3)} %`;
}

function duration(seconds) {
  const [s, m, h, d] = [seconds % 60, (seconds / 60) % 60, (seconds / 3600) % 24, seconds / 86400].map(Math.floor);
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${m} min`;
  return m > 0 ? `${m} min ${s} s` : `${s} s`;
}

/** A time before the end of a plot. */
function before(seconds) {
  const rounded = Math.round(seconds);
  if (rounded < 1) return "now";
  const [m, s] = [Math.floor(rounded / 60), rounded % 60];
  if (m === 0) return `−${s} s`;
  return s === 0 ? `−${m} min` : `−${m}:${String(s).padStart(2, "0")} min`;
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);
