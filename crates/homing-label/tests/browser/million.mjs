// Measures the map of a large pool in a real browser: `node million.mjs HOMING CHROMIUM [ROWS] [DIMENSIONS]`.
//
// Prints the time from opening the page to the first picture of the map and to all its points, with a server that has just started and
// with one that has been running, and the number of frames per second while the map is dragged. It needs puppeteer-core.

import { spawn } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeSync, closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import puppeteer from "puppeteer-core";

const [program, chromium, rows = "1000000", dim = "64"] = process.argv.slice(2);
const homing = resolve(program);
const folder = mkdtempSync(join(tmpdir(), "homing-"));

/**
 * Writes rows of numbers in clusters to a .npy file.
 * @param {string} name
 * @param {number} count
 */
function write(name, count) {
  const width = Number(dim);
  const head = `{'descr': '<f4', 'fortran_order': False, 'shape': (${count}, ${width}), }`.padEnd(117) + "\n";
  const file = openSync(join(folder, name), "w");
  writeSync(file, Buffer.concat([Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1"), Buffer.from(head)]));
  const centres = Array.from({ length: 20 * width }, () => Math.random() - 0.5);
  for (let from = 0; from < count; from += 10000) {
    const block = new Float32Array(Math.min(10000, count - from) * width);
    for (let at = 0; at < block.length; at++) {
      const cluster = Math.floor(at / width + from) % 20;
      block[at] = 3 * centres[cluster * width + (at % width)] + Math.random() + Math.random() - 1;
    }
    writeSync(file, Buffer.from(block.buffer));
  }
  closeSync(file);
}

write("pool.npy", Number(rows));
write("targets.npy", 20);
const server = spawn(homing, ["label", "pool.npy", "--targets", "targets.npy", "--classes", "a,b", "--run", "run", "--port", "0", "--no-open"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
const address = await new Promise((ok) => server.stdout.once("data", (text) => ok(String(text).trim())));
const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader", "--use-gl=angle", "--use-angle=swiftshader"],
});
try {
  for (const when of ["server just started", "server running"]) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1360, height: 900 });
    await page.goto(address);
    await page.waitForFunction(() => performance.getEntriesByName("map-complete").length, { timeout: 120000 });
    const [first, all] = await page.evaluate(() => ["map-first", "map-complete"].map((name) => performance.getEntriesByName(name)[0].startTime));
    console.log(`${when}: first picture after ${(first / 1000).toFixed(2)} s, all points after ${(all / 1000).toFixed(2)} s`);
    if (when === "server running") {
      await new Promise((ok) => setTimeout(ok, 4000));
      const box = await (await page.$("#canvas")).boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.down();
      await page.evaluate(() => {
        globalThis.frames = [];
        const see = (now) => { globalThis.frames.push(now); requestAnimationFrame(see); };
        requestAnimationFrame(see);
      });
      const until = Date.now() + 4000;
      for (let step = 0; Date.now() < until; step++) await page.mouse.move(box.x + box.width / 2 + 80 * Math.sin(step / 9), box.y + box.height / 2 + 60 * Math.cos(step / 7));
      await page.mouse.up();
      const frames = await page.evaluate(() => globalThis.frames);
      const gaps = frames.slice(1).map((now, at) => now - frames[at]).sort((a, b) => a - b);
      const rate = (1000 * (frames.length - 1)) / (frames.at(-1) - frames[0]);
      console.log(`dragging: ${rate.toFixed(0)} frames per second, 95 % of the gaps up to ${gaps[Math.floor(0.95 * gaps.length)].toFixed(0)} ms`);
    }
    await page.close();
  }
} finally {
  await browser.close();
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true });
}
