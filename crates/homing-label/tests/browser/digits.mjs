// Labels digits in a real browser: `node digits.mjs HOMING CHROMIUM FOLDER`. Pictures of the page are left in FOLDER.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [homing, chromium, folder] = process.argv.slice(2);
const run = join(folder, "run");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Starts the server, and returns it with its address, which must be the only line. */
async function serve() {
  const server = spawn(homing, ["demo", "--label", "--run", run, "--port", "0", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  await new Promise((resolve, reject) => {
    server.stdout.on("data", (text) => {
      out += text;
      if (out.includes("\n")) resolve();
    });
    server.on("exit", (code) => reject(new Error(`homing ended with ${code}`)));
  });
  assert.match(out, /^http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]{48}\n$/);
  return { server, address: out.trim() };
}

let { server, address } = await serve();
const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader", "--use-gl=angle", "--use-angle=swiftshader"],
});
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1360, height: 900 });
  const problems = [];
  const foreign = [];
  let isDown = false;
  page.on("console", (message) => message.type() === "error" && !isDown && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => !request.url().startsWith(new URL(address).origin) && !/^(blob|data):/.test(request.url()) && foreign.push(request.url()));
  await page.goto(address);

  const until = (test, ...values) => page.waitForFunction(test, { timeout: 20000 }, ...values);
  const labelled = async () => page.$$eval(".class .count", (all) => all.reduce((sum, one) => sum + Number(one.textContent), 0));
  const shown = () => page.$eval("#example .rank", (one) => one.closest("article").querySelector(".name").textContent + one.textContent);
  const counts = (n) => until((n) => [...document.querySelectorAll(".class .count")].reduce((sum, one) => sum + Number(one.textContent), 0) === n, n);
  const isReady = () => until(() => document.querySelector("#example img.tiny")?.complete && !document.querySelector(".class")?.disabled);

  await isReady();
  assert.equal(await page.$eval("#hints", (one) => one.hidden), false, "a first visit shows hints");
  await page.click("#hints button");
  for (let n = 1; n <= 20; n++) {
    const before = await shown();
    await page.keyboard.press(["1", "2", "3"][n % 3]);
    await until((before) => { const one = document.querySelector("#example .rank"); return one && one.closest("article").querySelector(".name").textContent + one.textContent !== before; }, before);
    await counts(n);
  }
  const after = await shown();
  await page.keyboard.press("Backspace");
  await counts(19);
  await until((after) => document.querySelector("#example .name")?.textContent + document.querySelector("#example .rank")?.textContent !== after, after);
  await page.keyboard.press("y");
  await counts(20);
  await until((after) => document.querySelector("#example .name")?.textContent + document.querySelector("#example .rank")?.textContent === after, after);
  await page.keyboard.press("Space");
  await until((after) => document.querySelector("#example .name")?.textContent + document.querySelector("#example .rank")?.textContent !== after, after);
  await until(() => document.querySelectorAll("#history li button").length === 21);

  const next = await shown();
  await page.reload();
  await isReady();
  await counts(20);
  assert.equal(await shown(), next, "a reload shows the same example");
  assert.equal(await page.$eval("#hints", (one) => one.hidden), true, "hints are shown once");

  isDown = true;
  server.kill("SIGKILL");
  await until(() => !document.querySelector("#connection").hidden);
  const second = await serve();
  server = second.server;
  assert.equal(second.address, address, "a restart keeps the address");
  await until(() => document.querySelector("#connection").hidden);
  isDown = false;
  await counts(20);
  await page.keyboard.press("x");
  await until(() => document.querySelectorAll("#history li button").length === 22);

  await page.click("#history li button");
  await until(() => document.querySelector("#relabel").open);
  // An earlier answer is changed by key as well; the newest one was "not my task".
  await page.keyboard.press("3");
  await counts(21);
  await until(() => !document.querySelector("#relabel").open);

  const csv = await page.evaluate(async () => {
    const token = new URLSearchParams(location.search).get("token");
    return (await fetch("/api/export?format=csv", { headers: { Authorization: `Bearer ${token}` } })).text();
  });
  const lines = csv.trim().split("\n").slice(1);
  assert.equal(lines.filter((line) => line.split(",")[4] === "label").length, 21);
  assert.equal(lines.filter((line) => line.split(",")[4] === "skip").length, 1);

  // All digits in view are answered together after zooming in by keyboard, and taken back together.
  await page.focus("#canvas");
  for (let step = 0; step < 14; step++) await page.keyboard.press("+");
  await page.click("#in-view");
  await until(() => /^\d+ examples? are$/.test(document.querySelector("#bulk strong")?.textContent ?? ""));
  const together = Number(await page.$eval("#bulk strong", (one) => one.textContent.split(" ")[0]));
  assert.ok(together > 0 && together < 300, `${together} digits are in view`);
  await page.click("#bulk button");
  await until(() => document.querySelector("#bulk").hidden);
  await until((n) => [...document.querySelectorAll(".class .count")].reduce((sum, one) => sum + Number(one.textContent), 0) >= n, together);
  await page.keyboard.press("Backspace");
  await counts(21);
  await page.click("#home");
  const folders = await page.evaluate(async () => {
    const token = new URLSearchParams(location.search).get("token");
    const archive = await fetch("/api/export?format=folders", { headers: { Authorization: `Bearer ${token}` } });
    return new TextDecoder("latin1").decode(await archive.arrayBuffer());
  });
  assert.match(folders, /3\/digit \d+\.png/);

  await until(() => document.querySelector("#accuracy svg"));
  for (const [name, width, height, scheme] of [["light", 1360, 900, "light"], ["dark", 1360, 900, "dark"], ["phone", 390, 844, "light"], ["phone-dark", 390, 844, "dark"]]) {
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await new Promise((resolve) => setTimeout(resolve, 400));
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wider <= 0, `${name}: the page is ${wider} pixels too wide`);
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
    // The policy of the page allows no other scripts, so this one is run by the browser's own tools.
    const found = await page.evaluate(`${axe}; axe.run().then((found) => found.violations.map((one) => one.impact + ": " + one.help + " " + one.nodes.map((node) => node.target).join(" ")))`);
    assert.deepEqual(found.filter((one) => /^(serious|critical)/.test(one)), [], name);
    if (found.length) console.log(name, found);
  }
  assert.deepEqual(problems, []);
  assert.deepEqual(foreign, [], "nothing is requested from elsewhere");
  console.log("the page works: 20 labels by key, undo, redo, skip, reload, restart, change, export");
} finally {
  await browser.close();
  server.kill("SIGINT");
}
