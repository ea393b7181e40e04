const all = (query, root = document) => [...root.querySelectorAll(query)];
const numbers = text => text.split(" ").map(Number);
const root = document.documentElement;
const tip = document.getElementById("tip");

document.getElementById("theme").onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};

const make = (tag, ...children) => {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
};
const showTip = (event, ...children) => {
  tip.replaceChildren(...children);
  tip.hidden = false;
  tip.style.left = Math.max(8, Math.min(event.clientX + 16, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
};
const hideTip = () => { tip.hidden = true; };

// When the pointer is over a chart, all charts of its group show their values there, and the map dims the later picks.
const charts = all(".chart").map(figure => ({
  group: figure.dataset.group,
  left: +figure.dataset.left, right: +figure.dataset.right, max: +figure.dataset.max,
  svg: figure.querySelector("svg"), guide: figure.querySelector(".guide"),
  lines: all(".line", figure).reverse().map(({ dataset, lastElementChild: dot }) => ({
    dot, name: dataset.name, x: numbers(dataset.x), y: dataset.y.split(" "), h: numbers(dataset.h),
  })),
}));
const marks = all(".marks a");
const read = (group, count) => {
  const values = new Map();
  for (const { left, right, max, lines, guide } of charts.filter(chart => chart.group === group)) {
    const place = x => left + (right - left) * x / max;
    guide.toggleAttribute("hidden", count === Infinity);
    if (count < Infinity) guide.setAttribute("transform", `translate(${place(count)})`);
    for (const { dot, name, x, y, h } of lines) {
      const at = x.findLastIndex(x => x <= count);
      dot.setAttribute("cx", place(x[at]));
      dot.setAttribute("cy", h[at]);
      values.set(name, [...values.get(name) ?? [], y[at]]);
    }
  }
  for (const mark of marks) mark.classList.toggle("later", +mark.id.slice(1) > count);
  return values;
};
for (const { group, svg, left, right, max } of charts) {
  svg.onpointermove = event => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const count = Math.round(Math.min(1, Math.max(0, (x - left) / (right - left))) * max);
    const rows = [...read(group, count)].map(([name, values]) => make("tr", make("th", name), ...values.map(value => make("td", value))));
    showTip(event, make("table", make("caption", `after ${count} picks`), ...rows));
  };
  svg.onpointerleave = () => { read(group, Infinity); hideTip(); };
}

// Each pick has a mark on the map and a row in the table; selecting one of them selects both and draws links to its targets.
const links = document.querySelector(".links");
const centre = (mark, tag) => {
  const box = (tag ? mark.querySelector(tag) : mark).getBBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
};
const select = rank => {
  all(".on").forEach(element => element.classList.remove("on"));
  links?.replaceChildren();
  const row = document.getElementById("p" + rank), mark = document.getElementById("m" + rank);
  row?.classList.add("on");
  if (!mark) return;
  mark.classList.add("on");
  for (const number of row?.dataset.serves.split(" ").filter(Boolean) ?? []) {
    const target = document.getElementById("t" + number);
    if (!target) continue;
    target.classList.add("on");
    const link = document.createElementNS(links.namespaceURI, "path");
    link.setAttribute("d", `M${centre(mark, "circle")}L${centre(target)}`);
    links.append(link);
  }
};
const name = (element, picture, text) => {
  element.onpointermove = event => showTip(event, ...all(picture).slice(0, 1).map(image => image.cloneNode()), text);
  element.onpointerleave = hideTip;
};
for (const target of all(".targets path")) name(target, `i.${target.id}`, `target ${target.id.slice(1)}`);
for (const mark of marks) {
  const rank = mark.id.slice(1);
  name(mark, `#p${rank} .row img`, `${rank} · ${mark.dataset.title}`);
  mark.onclick = () => select(rank);
}
for (const row of all("table.picks tbody tr")) row.onclick = () => select(row.id.slice(1));
const follow = () => /^#[mp]\d+$/.test(location.hash) && select(location.hash.slice(2));
addEventListener("hashchange", follow);
follow();
