"use strict";
// Opens reports in a browser and tests them as a reader sees them: curves, toggles, hover, dark
// mode, many runs, hostile names. No page may print an error or request another file or URL.
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [program, browserPath, work] = process.argv.slice(2);
const kMostSeconds = 2; // time limit for a report of 200 runs with 1,000 evaluations each
const check_times = process.env.WEB_TEST_TIMES === "1";

// Writes a run directory with `points` evaluations, one every 10 updates. With `validated`, the run
// has errors on held-out data; with `played`, it has returns.
function writeRun(directory, { algo = "td3_bc", seed = 0, rate = 0.001, points = 20, level = 0, validated = false, played = true }) {
  fs.mkdirSync(path.join(directory, "checkpoints", "best"), { recursive: true });
  fs.writeFileSync(path.join(directory, "config.yaml"),
    `algo: ${JSON.stringify(algo)}\nenv_id: Pendulum-v1\nseed: ${seed}\ntotal_timesteps: ${10 * (points - 1)}\n` +
    `algo_kwargs:\n  learning_rate: ${rate}\n  dataset_id: pendulum/medium\n`);
  fs.writeFileSync(path.join(directory, "metadata.json"), JSON.stringify({
    dataset: { rows: 100, episodes: 2, return_mean: -617, fingerprint: "f00d", warnings: ["actions beyond their bounds"] },
    sessions: [{ started: "2025-01-01T00:00:00Z", commit: "abc1234" }] }));
  const rows = [];
  for (let i = 0; i < points; ++i) {
    const row = { global_step: 10 * i, update_count: 10 * i, critic_loss: 1 / (i + 1) };
    if (played) row.eval_return_mean = level - 1000 * Math.exp(-i / 5) + 5 * seed;
    if (validated) Object.assign(row, { validation_td_error: 4 / (i + 1) + seed, validation_advantage: i - 3 });
    rows.push(JSON.stringify(row));
  }
  fs.writeFileSync(path.join(directory, "metrics.jsonl"), rows.join("\n") + "\n");
}

function fresh(name) {
  const directory = path.join(work, name);
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(directory, { recursive: true });
  return directory;
}

function report(directory, ...options) {
  const file = path.join(work, path.basename(directory) + ".html");
  execFileSync(program, ["report", directory, "--output", file, ...options], { stdio: ["ignore", "ignore", "pipe"] });
  return file;
}

// Opens a page and records every console message, error, dialog and request; done() fails the test
// if there are any.
async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (message) => {
    // The browser warns about the pixel reads of `inked`, a function of this test.
    const ours = message.text().includes("willReadFrequently");
    if (message.type() !== "log" && !ours) page.problems.push(message.text());
  });
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("dialog", (dialog) => { page.problems.push("dialog " + dialog.message()); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith("data:") && request.url() !== "file://" + file) page.problems.push("request " + request.url());
  });
  await page.goto("file://" + file);
  return page;
}

// Counts the coloured pixels of a chart, which are lines and bands; the grid is grey. The page
// draws a chart only when it is near the visible area, so the function scrolls to the chart first.
async function inked(page, chart = ".curves canvas") {
  await page.locator(chart.split(" ")[0]).first().scrollIntoViewIfNeeded();
  await page.waitForSelector(chart);
  return page.$eval(chart, countInk);
}
const countInk = (canvas) => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let count = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    const red = pixels[i], green = pixels[i + 1], blue = pixels[i + 2];
    if (pixels[i + 3] > 20 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40) ++count;
  }
  return count;
};

async function done(page) {
  assert.deepStrictEqual(page.problems, []);
  await page.context().close();
}

const tests = {
  async "curves are drawn, groups toggle, the table sorts"(browser) {
    const directory = fresh("groups");
    [0.001, 0.0003].forEach((rate, group) => [0, 1, 2].forEach((seed) =>
      writeRun(path.join(directory, `run${group}${seed}`), { seed, rate, level: -100 * group })));
    const page = await open(browser, report(directory));
    const all = await inked(page);
    assert.ok(all > 2000, `only ${all} pixels`);
    assert.ok(await inked(page, ".profile canvas") > 500);
    const legend = page.locator(".legend button");
    assert.deepStrictEqual(await legend.allTextContents(), ["td3_bc learning_rate=0.001", "td3_bc learning_rate=0.0003"]);
    await legend.first().click();
    assert.strictEqual(await legend.first().getAttribute("aria-pressed"), "false");
    await page.locator(".all").click(); // one group is hidden, so the button shows all groups
    assert.strictEqual(await legend.first().getAttribute("aria-pressed"), "true");
    await page.locator(".all").click();
    assert.strictEqual(await inked(page), 0, "nothing but the grid is left");
    await page.locator(".all").click();
    assert.strictEqual(await inked(page), all);

    const rates = () => page.$$eval("table.scores tbody tr", (rows) => rows.map((row) => row.cells[4].textContent));
    assert.deepStrictEqual(await rates(), ["0.001", "0.0003"]); // best group first
    await page.locator("table.scores th", { hasText: "IQM" }).click();
    await page.locator("table.scores th", { hasText: "IQM" }).click();
    assert.deepStrictEqual(await rates(), ["0.0003", "0.001"]);
    assert.match(await page.textContent(".notes"), /actions beyond their bounds/);
    await done(page);
  },

  async "hovering tells values, dragging zooms, single runs appear"(browser) {
    const directory = fresh("hover");
    [0, 1].forEach((seed) => writeRun(path.join(directory, "run" + seed), { seed }));
    const page = await open(browser, report(directory));
    await page.waitForSelector(".curves canvas");
    const box = await page.locator(".curves .chart").boundingBox();
    const readout = page.locator(".curves .readout");
    assert.match(await readout.textContent(), /Drag to zoom/);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const text = await readout.textContent();
    // The returns of seeds 0 and 1 differ by 5, so the interval of their mean is 5 wide.
    const found = text.match(/^updates (\d+)\s+td3_bc (-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\] n=2/);
    assert.ok(found, text);
    const step = Number(found[1]);
    const expected = -1000 * Math.exp(-step / 50) + 2.5;
    assert.ok(Math.abs(Number(found[2]) - expected) < 0.06, text);
    assert.ok(Math.abs(Number(found[4]) - Number(found[3]) - 5) < 0.2, text);

    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    const zoomed = await inked(page);
    await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
    await page.locator(".seeds").check();
    assert.notStrictEqual(await inked(page), zoomed);
    await page.mouse.move(box.x + box.width / 2 + 3, box.y + box.height / 2);
    assert.match(await readout.textContent(), /seed 0 .*seed 1 /);
    await page.locator("details.metrics summary").click();
    await page.waitForSelector(".metric canvas");
    assert.ok(await inked(page, ".metric canvas") > 300);
    await done(page);
  },

  async "validation has curves, also of runs that never played"(browser) {
    const directory = fresh("validation");
    [0, 1].forEach((seed) => writeRun(path.join(directory, "run" + seed), { seed, validated: true, played: false }));
    const page = await open(browser, report(directory));
    assert.strictEqual(await page.locator(".curves").count(), 0);
    assert.strictEqual(await page.locator(".validation .chart").count(), 2);
    const all = await inked(page, ".validation .chart:has(canvas) canvas");
    assert.ok(all > 300, `only ${all} pixels`);
    const box = await page.locator(".validation .chart").nth(1).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const text = await page.locator(".validation .readout").nth(1).textContent();
    // The errors of seeds 0 and 1 differ by 1, so the interval of their mean is 1 wide.
    const found = text.match(/^updates (\d+)\s+td3_bc ([\d.]+) \[([\d.]+), ([\d.]+)\]/);
    assert.ok(found, text);
    assert.ok(Math.abs(Number(found[2]) - 4 / (Number(found[1]) / 10 + 1) - 0.5) < 0.01, text);
    assert.ok(Math.abs(Number(found[4]) - Number(found[3]) - 1) < 0.02, text);
    await page.locator(".legend button").click();
    assert.strictEqual(await inked(page, ".validation .chart:has(canvas) canvas"), 0);
    await done(page);
  },

  async "dark and light, by the system and by the button"(browser) {
    const directory = fresh("theme");
    writeRun(path.join(directory, "run"), {});
    const file = report(directory);
    const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await open(browser, file, { colorScheme: "light" });
    const dark = await open(browser, file, { colorScheme: "dark" });
    assert.notStrictEqual(await back(light), await back(dark));
    await light.locator("#theme").click();
    assert.strictEqual(await back(light), await back(dark));
    assert.strictEqual(await light.textContent("#theme"), "Light");
    await light.reload();
    assert.strictEqual(await back(light), await back(dark)); // the choice is kept after a reload
    await done(light);
    await done(dark);
  },

  async "a phone scrolls tables, not the page"(browser) {
    const directory = fresh("phone");
    [0, 1, 2].forEach((seed) => writeRun(path.join(directory, "run" + seed), { seed, rate: 0.001 * (seed + 1) }));
    const page = await open(browser, report(directory), { viewport: { width: 360, height: 740 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} wide`);
    const interval = await page.locator("table.scores th", { hasText: "95 % interval" }).boundingBox();
    assert.ok(interval.x + interval.width <= 360, "the score is visible without scrolling");
    await done(page);
  },

  async "hostile names stay text"(browser) {
    const directory = fresh("hostile");
    writeRun(path.join(directory, "<script>alert(1)<\u001bscript>\"'"), {
      algo: "</script><img src=x onerror=alert(2)>", rate: 0.1 });
    const page = await open(browser, report(directory));
    assert.strictEqual(await page.locator("img[src=x]").count(), 0);
    assert.match(await page.textContent("table.scores"), /<\/script><img src=x onerror=alert\(2\)>/);
    await page.locator("details.runs > summary").click();
    assert.match(await page.textContent("details.runs"), /<script>alert\(1\)<\\u001bscript>/);
    await done(page);
  },

  async "200 runs of 1,000 evaluations"(browser) {
    const directory = fresh("many");
    for (let i = 0; i < 200; ++i) {
      writeRun(path.join(directory, "run" + i), { seed: i % 5, rate: (1 + Math.floor(i / 5)) / 1e4, points: 1000, level: -i });
    }
    const file = report(directory);
    console.log(`     ${(fs.statSync(file).size / 1e6).toFixed(1)} MB`);
    const started = Date.now();
    const page = await open(browser, file);
    const opened = (Date.now() - started) / 1000;
    await page.locator(".curves").scrollIntoViewIfNeeded(); // the chart is below a table of 40 rows
    await page.waitForSelector(".curves canvas");
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    const seconds = (Date.now() - started) / 1000;
    assert.ok(await inked(page) > 5000);
    console.log(`     open after ${opened.toFixed(2)} s, curves scrolled to and drawn after ${seconds.toFixed(2)} s`);
    if (check_times) assert.ok(seconds < kMostSeconds, `${seconds} s`);
    assert.strictEqual(await page.locator(".legend button").count(), 40);
    await done(page);
  },
};

(async () => {
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  let failures = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(browser);
      console.log("ok   " + name);
    } catch (error) {
      ++failures;
      console.log("FAIL " + name + "\n" + error.stack);
    }
  }
  await browser.close();
  process.exit(failures === 0 ? 0 : 1);
})();
